/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "series/targets.hpp"

namespace nocma::series
{

struct Check {
	std::string name;		  /* stable, "v6.12 git am" */
	std::vector<std::string> defects; /* none: passed */
	std::string skipped;		  /* why it was not made; empty: it was */
};

/* Called as each check ends. */
using CheckSink = std::function<void(const Check &)>;

/*
 * Proves the series of a target against the pristine sources in `tree`, which is only read:
 * sums, mail form, checkpatch, what the kernel is said to have already, and that git am and
 * quilt push --fuzz=0 both apply it and agree on every file.
 */
void verify_target(const std::filesystem::path &patches, const Target &target,
		   const std::filesystem::path &tree, const CheckSink &sink);

} // namespace nocma::series

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.hpp"

namespace nocma
{

/*
 * Results that the kernel's own KUnit suites left in debugfs, and how to print them. Kernels
 * differ: v5.10 prints no plan of its own and cannot skip, v6.1 puts the suite's totals inside,
 * newer ones outside. Whatever kernel it came from, what is printed is KTAP with one nesting level.
 */
struct KunitCase {
	enum class Verdict { pass, fail, skip };

	std::string name;
	Verdict verdict = Verdict::pass;
	std::string reason;		      /* of a skip */
	std::vector<std::string> diagnostics; /* what the case logged, without indentation */
};

struct KunitSuite {
	std::string name;
	std::size_t planned = 0; /* cases that the suite has, run or not */
	std::vector<KunitCase> cases;

	/* Fail when a case failed or gave no result; skip when none passed. */
	[[nodiscard]] KunitCase::Verdict verdict() const;
};

/* The text of one results file. Throws Error when it is none or names no case. */
KunitSuite parse_kunit_results(std::string_view text);

/*
 * The suites below a folder, KUnit's in debugfs, by name. Throws SkipError when the folder is not
 * there, and Error when no suite is in it: nothing run is no pass.
 */
std::vector<KunitSuite> read_kunit_suites(const std::filesystem::path &folder);

/* Prints KTAP with a subtest for each suite; the exit code is what all of them come to. */
ExitCode print_kunit(std::FILE *out, const std::vector<KunitSuite> &suites);

} // namespace nocma

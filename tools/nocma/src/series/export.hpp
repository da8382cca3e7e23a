/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "series/patch_set.hpp"

namespace nocma::series
{

/*
 * The patches as one mbox that git am and b4 take: numbered anew, threaded below the first.
 * `base` (a commit, may be empty) stands where git format-patch --base puts it.
 */
std::string to_mbox(const PatchSet &set, const std::string &base);

/*
 * The series as a quilt folder with sums and cover letter; returns the names of its files.
 * Throws UsageError when the folder exists and is not empty. With `dry_run` nothing is written.
 */
std::vector<std::string> export_folder(const PatchSet &set, const std::filesystem::path &dir,
				       bool dry_run);

/*
 * The full id of a commit: `revision` itself when it is one, else what the git tree says.
 * Throws UsageError when that cannot be found out.
 */
std::string resolve_base(const std::string &revision, const std::filesystem::path &tree);

} // namespace nocma::series

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "series/patch.hpp"
#include "series/targets.hpp"

namespace nocma::series
{

/*
 * What the kernel of a target has already, so that the series carries no patch for it: a line
 * "# upstream: COMMIT FILE TEXT SUBJECT" in `series`. TEXT (no blanks) is to be found in FILE.
 */
struct Upstream {
	std::string commit;
	std::string file;
	std::string text;
	std::string subject;
};

struct SeriesEntry {
	std::string name;
	bool test = false;
};

struct SeriesFile {
	std::string comments; /* above the first patch */
	std::vector<SeriesEntry> entries;
	std::vector<Upstream> upstream;
};

/* quilt's series; "# tests" starts what a distribution may leave out. Throws Error. */
SeriesFile parse_series(std::string_view text, std::string_view name);

/* sha256sum's format: file name -> lower-case hexadecimal sum. Throws Error. */
std::map<std::string, std::string> parse_checksums(std::string_view text, std::string_view name);

/* Compares DIR/SHA256SUMS with the files; throws Error naming the first one that differs. */
void check_checksums(const std::filesystem::path &dir);

/* The series of one target, parsed and found applicable as mails; no tree is involved yet. */
struct PatchSet {
	Target target;
	std::filesystem::path dir;
	std::vector<Patch> patches;
	std::vector<Upstream> upstream;
	std::string comments; /* of `series`, above its first patch */

	/* All files that any of the patches names, sorted. */
	[[nodiscard]] std::set<std::string> files() const;
	[[nodiscard]] std::vector<const Patch *> pointers() const;
};

/*
 * Throws UsageError when the target has no series yet, Error when its files are damaged.
 * Without `tests` the patches under the "# tests" heading are left out.
 */
PatchSet load_patch_set(const std::filesystem::path &patches, const Target &target, bool tests);

/*
 * The files that the tests add to a kernel (mm/, drivers/, include/ beside the patches folder),
 * as one more patch in front of those that build them. Nothing when there are none. `like` is
 * the patch whose author, date and DEP-3 fields it takes over.
 */
std::optional<Patch> test_sources(const std::filesystem::path &patches, const Patch &like);

} // namespace nocma::series

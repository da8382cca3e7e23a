/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "series/patch.hpp"
#include "util/file.hpp"

namespace nocma::series
{

/* Where a patch does not fit. */
struct Conflict {
	std::string file;
	std::size_t hunk = 0; /* from 1; 0: the file as a whole */
	std::size_t line = 0; /* where patch(1) looked for the hunk */
	std::string why;
};

std::string to_string(const Conflict &conflict);

enum class Direction { forward, reverse };

/* What `patch` printed in the C locale: one Conflict per failed hunk or file. */
std::vector<Conflict> parse_patch_output(std::string_view output);

/* Hunks that were found at another line than the patch says. */
std::size_t count_offsets(std::string_view output);

/* Copies FROM/NAME to TO/NAME with its mode, for the names that exist there. */
void copy_files(const std::filesystem::path &from, const std::filesystem::path &to,
		const std::set<std::string> &names);

/*
 * A temporary folder with copies of the files a series touches. Patches are tried here, with
 * zero fuzz, so that the tree itself is read and nothing more.
 */
class Scratch
{
public:
	Scratch(const std::filesystem::path &tree, const std::set<std::string> &files);

	/* Does the whole patch or, when there are conflicts, nothing. */
	std::vector<Conflict> apply(const Patch &patch, Direction direction);
	[[nodiscard]] const std::filesystem::path &path() const noexcept { return dir_.path(); }

private:
	[[nodiscard]] std::vector<Conflict> missing_files(const Patch &patch,
							  Direction direction) const;

	TempDir dir_;
};

} // namespace nocma::series

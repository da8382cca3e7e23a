/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace nocma::series
{

struct Hunk {
	std::size_t line = 0; /* in the old file, from the "@@" line */
};

/* What a patch does to one file. Names are as after -p1. */
struct FileDiff {
	std::string old_name; /* empty: the file is created */
	std::string new_name; /* empty: the file is deleted */
	std::vector<Hunk> hunks;

	[[nodiscard]] const std::string &name() const
	{
		return new_name.empty() ? old_name : new_name;
	}
};

struct Header {
	std::string name; /* lower case */
	std::string value;
};

/* One patch as a mail, the way git format-patch writes it. */
struct Patch {
	std::string name;	/* of the file, without its folder */
	std::string text;	/* the whole file */
	bool test = false;	/* stands under the "# tests" heading of the series */
	bool generated = false; /* has no file in the repository, see patch_set.hpp */
	std::vector<Header> headers;
	std::vector<std::string> message; /* lines between header block and "---" */
	std::vector<FileDiff> files;

	/* Value of a header (name in lower case), empty when absent. */
	[[nodiscard]] std::string header(std::string_view wanted) const;
	/* Subject without "[PATCH ...]": the subject of the commit. */
	[[nodiscard]] std::string subject() const;
};

/*
 * Parses, and refuses (Error: name, what is wrong, the way out) what would apply in a wrong way
 * or not at all: CR at line ends, encoded bodies, other strip levels than 1, names that leave
 * the tree, hunks shorter or longer than they say, binary diffs, no change, no Signed-off-by.
 */
Patch parse_patch(std::string_view name, std::string text);

/* All files that any of the patches names. */
std::set<std::string> files_of(const std::vector<const Patch *> &patches);

/* What the mail form of this project wants on top; one line each, none when all is well. */
std::vector<std::string> mail_form_defects(const Patch &patch);

} // namespace nocma::series

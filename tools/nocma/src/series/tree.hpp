/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace nocma::series
{

/*
 * In words, for nothing here is earlier or later: a name to find the target by, and one that says
 * all that the Makefile does.
 */
struct TreeVersion {
	std::string series; /* "6.12": what a target is chosen by */
	std::string full;   /* "6.12.117", "6.12.0-rc3": what a user reads */
};

/* From the text of a kernel's top Makefile. Throws UsageError with `name`. */
TreeVersion parse_makefile(std::string_view text, std::string_view name);

enum class TreeKind {
	plain, /* a folder, nothing keeps its history */
	quilt, /* a folder that quilt manages (it has .pc) */
	git,   /* the top of a git work tree */
};

std::string_view to_string(TreeKind kind);

struct KernelTree {
	std::filesystem::path path; /* canonical */
	TreeKind kind = TreeKind::plain;
	TreeVersion version;
};

/*
 * Throws UsageError when the folder is no kernel source tree, or one that kbuild would refuse
 * (a blank or a colon in its path).
 */
KernelTree open_tree(const std::filesystem::path &path);

} // namespace nocma::series

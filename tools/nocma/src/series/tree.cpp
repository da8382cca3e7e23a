// SPDX-License-Identifier: GPL-2.0-only
#include "series/tree.hpp"

#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

/* "VERSION = 6": the assignments stand before anything else, comments apart. */
std::map<std::string, std::string> assignments(std::string_view text)
{
	std::map<std::string, std::string> values;

	for (const std::string &line : split_lines(text)) {
		const std::size_t equals = line.find('=');

		if (line.starts_with('#') || trim(line).empty())
			continue;
		if (equals == std::string::npos)
			break;
		values.emplace(trim(std::string_view(line).substr(0, equals)),
			       trim(std::string_view(line).substr(equals + 1)));
	}
	return values;
}

bool is_number(const std::string &text)
{
	return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

TreeKind kind_of(const fs::path &path)
{
	/* A file in work trees that `git worktree` made. */
	if (fs::exists(path / ".git"))
		return TreeKind::git;
	if (fs::is_directory(path / ".pc"))
		return TreeKind::quilt;
	return TreeKind::plain;
}

} // namespace

TreeVersion parse_makefile(std::string_view text, std::string_view name)
{
	std::map<std::string, std::string> values = assignments(text);
	const std::string version = values["VERSION"];
	const std::string patchlevel = values["PATCHLEVEL"];
	const std::string sublevel = values["SUBLEVEL"];

	if (!is_number(version) || !is_number(patchlevel))
		throw UsageError(fmt::format("{}: no VERSION and PATCHLEVEL in it: not the top "
					     "Makefile of a kernel; name its folder with --tree",
					     name));
	return {fmt::format("{}.{}", version, patchlevel),
		fmt::format("{}.{}.{}{}", version, patchlevel, sublevel.empty() ? "0" : sublevel,
			    values["EXTRAVERSION"])};
}

std::string_view to_string(TreeKind kind)
{
	switch (kind) {
	case TreeKind::git:
		return "git";
	case TreeKind::quilt:
		return "quilt";
	case TreeKind::plain:
		break;
	}
	return "plain";
}

KernelTree open_tree(const fs::path &path)
{
	std::error_code error;
	const fs::path full = fs::canonical(path, error);

	if (error)
		throw UsageError(fmt::format("{}: {}; name a kernel source tree with --tree",
					     path.native(), error.message()));
	if (!fs::is_directory(full))
		throw UsageError(fmt::format("{}: not a folder; name a kernel source tree with "
					     "--tree",
					     path.native()));
	/* First of all: everything else could be right and the tree would still not build. */
	if (full.native().find_first_of(" \t\n:") != std::string::npos)
		throw UsageError(fmt::format("'{}': kbuild refuses a path with a blank or a colon; "
					     "move or bind-mount the tree elsewhere",
					     full.native()));
	for (const char *name : {"Makefile", "Kbuild", "Kconfig"})
		if (!fs::is_regular_file(full / name))
			throw UsageError(fmt::format("{}: no kernel source tree, it has no {}; "
						     "name one with --tree",
						     full.native(), name));
	return {full, kind_of(full),
		parse_makefile(read_file(full / "Makefile"), (full / "Makefile").native())};
}

} // namespace nocma::series

// SPDX-License-Identifier: GPL-2.0-only
#include "series/scratch.hpp"

#include <regex>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/process.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

ProcessResult run_patch(const fs::path &dir, const Patch &patch, Direction direction, bool dry)
{
	/* --binary: CR is a difference like any other. -f: ask nothing, guess nothing. */
	std::vector<std::string> command = {
		"patch",	  "-p1", "-F0", "-f", "-E", "--binary", "--no-backup-if-mismatch",
		"--reject-file=-"};

	if (direction == Direction::reverse)
		command.emplace_back("-R");
	if (dry)
		command.emplace_back("--dry-run");
	return run(command, {.directory = dir, .environment = {"LC_ALL=C"}, .input = patch.text});
}

} // namespace

std::string to_string(const Conflict &conflict)
{
	if (conflict.hunk == 0)
		return fmt::format("{}: {}", conflict.file, conflict.why);
	return fmt::format("{}: hunk {} at line {} {}", conflict.file, conflict.hunk, conflict.line,
			   conflict.why);
}

std::vector<Conflict> parse_patch_output(std::string_view output)
{
	static const std::regex file_form("(?:checking|patching) file '?([^' ]+)'?.*");
	static const std::regex hunk_form("Hunk #([0-9]+) FAILED at ([0-9]+).*");
	static const std::regex keep_form("Not deleting file (.*) as content differs from patch");
	std::vector<Conflict> conflicts;
	std::string file;

	for (const std::string &line : split_lines(output)) {
		std::smatch match;

		if (std::regex_match(line, match, file_form))
			file = match.str(1);
		else if (std::regex_match(line, match, hunk_form))
			conflicts.push_back({file, std::stoul(match.str(1)),
					     std::stoul(match.str(2)), "does not match"});
		else if (std::regex_match(line, match, keep_form))
			conflicts.push_back({.file = match.str(1), .why = "has other content"});
	}
	return conflicts;
}

std::size_t count_offsets(std::string_view output)
{
	std::size_t count = 0;

	for (const std::string &line : split_lines(output))
		if (line.starts_with("Hunk #") && line.find("(offset ") != std::string::npos)
			count++;
	return count;
}

void copy_files(const fs::path &from, const fs::path &to, const std::set<std::string> &names)
{
	for (const std::string &name : names) {
		if (!fs::is_regular_file(from / name))
			continue;
		fs::create_directories((to / name).parent_path());
		fs::copy_file(from / name, to / name, fs::copy_options::overwrite_existing);
		/* A read-only source file must not stop patch in our own copy. */
		fs::permissions(to / name, fs::perms::owner_write, fs::perm_options::add);
	}
}

Scratch::Scratch(const fs::path &tree, const std::set<std::string> &files) : dir_("nocma-series")
{
	copy_files(tree, path(), files);
}

std::vector<Conflict> Scratch::missing_files(const Patch &patch, Direction direction) const
{
	std::vector<Conflict> conflicts;

	for (const FileDiff &file : patch.files) {
		const bool creates = direction == Direction::forward ? file.old_name.empty()
								     : file.new_name.empty();
		const bool there = fs::exists(path() / file.name());

		if (creates && there)
			conflicts.push_back({.file = file.name(), .why = "exists already"});
		if (!creates && !there)
			conflicts.push_back({.file = file.name(), .why = "is not there"});
	}
	return conflicts;
}

std::vector<Conflict> Scratch::apply(const Patch &patch, Direction direction)
{
	std::vector<Conflict> conflicts = missing_files(patch, direction);

	/* patch would guess other names for what is not there. */
	if (!conflicts.empty())
		return conflicts;
	const ProcessResult tried = run_patch(path(), patch, direction, true);
	conflicts = parse_patch_output(tried.out);
	if (!tried.ok() && conflicts.empty())
		throw Error(fmt::format("{}: patch failed: {}", patch.name,
					trim(tried.err.empty() ? tried.out : tried.err)));
	if (!conflicts.empty())
		return conflicts;
	const ProcessResult done = run_patch(path(), patch, direction, false);
	if (!done.ok())
		throw Error(fmt::format("{}: patch failed: {}", patch.name,
					trim(done.err.empty() ? done.out : done.err)));
	return {};
}

} // namespace nocma::series

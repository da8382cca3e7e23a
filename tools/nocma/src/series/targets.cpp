// SPDX-License-Identifier: GPL-2.0-only
#include "series/targets.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::series
{

namespace
{

std::string known(const std::vector<Target> &targets)
{
	std::vector<std::string> names;

	for (const Target &target : targets)
		names.push_back(target.name);
	return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> list(const std::string &column)
{
	return column == "-" ? std::vector<std::string>() : split(column, ',');
}

Target parse_line(const std::string &line)
{
	std::istringstream columns(line);
	std::string package;
	std::string versions;
	std::string suites;
	Target target;

	columns >> target.name >> package >> versions >> suites >> target.status;
	std::getline(columns >> std::ws, target.note);
	target.package = package == "-" ? "" : package;
	target.versions = list(versions);
	target.suites = list(suites);
	return target;
}

} // namespace

std::vector<Target> parse_targets(std::string_view text, std::string_view name)
{
	std::vector<Target> targets;
	std::size_t number = 0;

	for (const std::string &line : split_lines(text)) {
		number++;
		if (trim(line).empty() || trim(line).starts_with('#'))
			continue;
		Target target = parse_line(line);
		if (target.status != "ready" && target.status != "planned")
			throw UsageError(fmt::format("{} line {}: five columns are expected, the "
						     "last of them 'ready' or 'planned'",
						     name, number));
		if (std::ranges::any_of(targets, [&](const Target &other) {
			    return other.name == target.name;
		    }))
			throw UsageError(fmt::format("{} line {}: {} is there twice", name, number,
						     target.name));
		targets.push_back(std::move(target));
	}
	return targets;
}

std::vector<Target> load_targets(const std::filesystem::path &patches)
{
	const std::filesystem::path file = patches / "targets.conf";
	const std::optional<std::string> text = try_read_file(file);

	if (!text)
		throw UsageError(fmt::format(
			"{}: not there; name the folder of the patches with --patches DIR or "
			"NOCMA_PATCHES",
			file.native()));
	return parse_targets(*text, file.native());
}

const Target &find_target(const std::vector<Target> &targets, std::string_view name)
{
	const auto found = std::ranges::find(targets, name, &Target::name);

	if (found == targets.end())
		throw UsageError(
			fmt::format("{}: no such target; known are {}", name, known(targets)));
	return *found;
}

const Target &target_for_version(const std::vector<Target> &targets, std::string_view version)
{
	for (const Target &target : targets)
		if (std::ranges::find(target.versions, version) != target.versions.end())
			return target;
	throw UsageError(fmt::format("Linux {} is not served; series exist for {}", version,
				     known(targets)));
}

const Target *served_target(std::string_view release)
{
	static const std::vector<Target> targets = parse_targets(built_in_targets, "targets.conf");
	const std::vector<std::string> parts = split(release, '.');

	if (parts.size() < 2)
		return nullptr;
	const std::string minor = parts[1].substr(0, parts[1].find_first_not_of("0123456789"));
	const std::string version = fmt::format("{}.{}", parts[0], minor);

	for (const Target &target : targets)
		if (target.ready() &&
		    std::ranges::find(target.versions, version) != target.versions.end())
			return &target;
	return nullptr;
}

} // namespace nocma::series

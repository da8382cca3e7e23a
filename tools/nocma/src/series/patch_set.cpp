// SPDX-License-Identifier: GPL-2.0-only
#include "series/patch_set.hpp"

#include <algorithm>
#include <sstream>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

Upstream parse_upstream(std::string_view words, std::string_view name, std::size_t number)
{
	std::istringstream columns{std::string(words)};
	Upstream upstream;

	columns >> upstream.commit >> upstream.file >> upstream.text;
	std::getline(columns >> std::ws, upstream.subject);
	if (upstream.subject.empty())
		throw Error(fmt::format(
			"{} line {}: '# upstream:' wants COMMIT FILE TEXT SUBJECT after it", name,
			number));
	return upstream;
}

SeriesEntry parse_entry(std::string_view line, bool test, std::string_view name, std::size_t number)
{
	std::istringstream columns{std::string(line.substr(0, line.find(" #")))};
	SeriesEntry entry{.test = test};
	std::string option;

	columns >> entry.name >> option;
	if (!option.empty() && option != "-p1")
		throw Error(fmt::format("{} line {}: wrong strip level '{}'; the series is -p1",
					name, number, option));
	if (entry.name.find('/') != std::string::npos)
		throw Error(fmt::format("{} line {}: '{}' is in another folder; patches lie "
					"beside their series",
					name, number, entry.name));
	return entry;
}

} // namespace

SeriesFile parse_series(std::string_view text, std::string_view name)
{
	constexpr std::string_view upstream = "# upstream:";
	SeriesFile series;
	std::size_t number = 0;
	bool test = false;

	if (text.find('\r') != std::string_view::npos)
		throw Error(fmt::format("{}: has CRLF line ends; fetch it as it is in git", name));
	for (const std::string &line : split_lines(text)) {
		const std::string_view words = trim(line);

		number++;
		if (words == "# tests")
			test = true;
		else if (words.starts_with(upstream))
			series.upstream.push_back(
				parse_upstream(words.substr(upstream.size()), name, number));
		else if (!words.empty() && !words.starts_with('#'))
			series.entries.push_back(parse_entry(words, test, name, number));
	}
	if (series.entries.empty())
		throw Error(fmt::format("{}: names no patch", name));
	return series;
}

std::map<std::string, std::string> parse_checksums(std::string_view text, std::string_view name)
{
	constexpr std::size_t length = 64;
	std::map<std::string, std::string> sums;

	for (const std::string &line : split_lines(text)) {
		const std::string sum = line.substr(0, length);

		if (line.size() < length + 3 || line[length] != ' ' ||
		    sum.find_first_not_of("0123456789abcdef") != std::string::npos)
			throw Error(fmt::format("{}: '{}' is no line of sha256sum; write the file "
						"again with sha256sum",
						name, line));
		sums.emplace(line.substr(length + 2), sum);
	}
	return sums;
}

void check_checksums(const fs::path &dir)
{
	const fs::path file = dir / "SHA256SUMS";
	const std::map<std::string, std::string> wanted =
		parse_checksums(read_file(file), file.native());
	std::vector<std::string> command = {"sha256sum", "--"};

	for (const fs::directory_entry &entry : fs::directory_iterator(dir))
		if (entry.path().extension() == ".patch" || entry.path().filename() == "series") {
			command.push_back(entry.path().filename().native());
			if (!wanted.contains(command.back()))
				throw Error(fmt::format("{}: no sum for {}; restore the folder "
							"with git, or add the file's sum",
							file.native(), command.back()));
		}
	for (const auto &[name, sum] : wanted) {
		if (std::ranges::find(command, name) == command.end())
			command.push_back(name);
		if (!fs::exists(dir / name))
			throw Error(fmt::format("{}: lists {}, which is not there; restore the "
						"folder with git",
						file.native(), name));
	}
	for (const auto &[name, sum] :
	     parse_checksums(run_or_throw(command, {.directory = dir}), "output of sha256sum"))
		if (wanted.at(name) != sum)
			throw Error(fmt::format("{}: does not have the sum that SHA256SUMS says; "
						"restore it with git, or write SHA256SUMS again "
						"if the change is meant",
						(dir / name).native()));
}

std::set<std::string> files_of(const std::vector<Patch> &patches)
{
	std::set<std::string> files;

	for (const Patch &patch : patches)
		for (const FileDiff &file : patch.files)
			files.insert(file.name());
	return files;
}

std::set<std::string> PatchSet::files() const
{
	return files_of(patches);
}

PatchSet load_patch_set(const fs::path &patches, const Target &target, bool tests)
{
	const fs::path dir = patches / target.name;
	const fs::path series = dir / "series";

	if (!fs::exists(series))
		throw UsageError(fmt::format("{}: no series for {} yet ({} in targets.conf)",
					     series.native(), target.name, target.status));

	SeriesFile parsed = parse_series(read_file(series), series.native());
	PatchSet set{.target = target,
		     .dir = dir,
		     .upstream = std::move(parsed.upstream),
		     .with_tests = tests};

	for (const SeriesEntry &entry : parsed.entries) {
		if (entry.test && !tests)
			continue;
		set.patches.push_back(parse_patch(entry.name, read_file(dir / entry.name)));
		set.patches.back().test = entry.test;
	}
	/* Last, because what parse_patch() says of a damaged patch helps more. */
	check_checksums(dir);
	return set;
}

} // namespace nocma::series

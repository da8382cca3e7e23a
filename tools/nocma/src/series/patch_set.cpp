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

/* In the order of their names, so that the patch made from them is always the same. */
std::set<std::string> added_files(const fs::path &root)
{
	std::set<std::string> names;

	for (const char *folder : {"mm", "drivers", "include"}) {
		if (!fs::is_directory(root / folder))
			continue;
		for (const auto &entry : fs::recursive_directory_iterator(root / folder))
			if (entry.is_regular_file())
				names.insert(entry.path().lexically_relative(root).native());
	}
	return names;
}

/* A diff that creates the file. An empty file would have no hunk, and is not source. */
std::string creation(const std::string &name, const std::string &text)
{
	const std::vector<std::string> lines = split_lines(text);
	std::string diff;

	if (lines.empty())
		return diff;
	diff = fmt::format("diff --git a/{0} b/{0}\nnew file mode 100644\n--- /dev/null\n"
			   "+++ b/{0}\n@@ -0,0 +1,{1} @@\n",
			   name, lines.size());
	for (const std::string &line : lines)
		diff += fmt::format("+{}\n", line);
	if (text.back() != '\n')
		diff += "\\ No newline at end of file\n";
	return diff;
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
		if (series.entries.empty() && words != "# tests")
			series.comments += line + "\n";
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

std::set<std::string> PatchSet::files() const
{
	return files_of(pointers());
}

std::vector<const Patch *> PatchSet::pointers() const
{
	std::vector<const Patch *> result;

	for (const Patch &patch : patches)
		result.push_back(&patch);
	return result;
}

std::optional<Patch> test_sources(const fs::path &patches, const Patch &like)
{
	std::string diff;

	for (const std::string &name : added_files(patches.parent_path()))
		diff += creation(name, read_file(patches.parent_path() / name));
	if (diff.empty())
		return std::nullopt;
	Patch patch = parse_patch(
		"tests-sources.patch",
		fmt::format("From: {0}\nDate: {1}\nSubject: [PATCH] tests: add the sources of the "
			    "tests\nOrigin: {2}\nForwarded: {3}\nLast-Update: {4}\n\n"
			    "They are the same for all kernels; the patches after this one build "
			    "them.\n\nSigned-off-by: {0}\n---\n\n{5}",
			    like.header("from"), like.header("date"), like.header("origin"),
			    like.header("forwarded"), like.header("last-update"), diff));
	patch.test = true;
	patch.generated = true;
	return patch;
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
		     .comments = std::move(parsed.comments)};

	for (const SeriesEntry &entry : parsed.entries) {
		if (entry.test && !tests)
			break;
		Patch patch = parse_patch(entry.name, read_file(dir / entry.name));

		patch.test = entry.test;
		if (entry.test && (set.patches.empty() || !set.patches.back().test))
			if (std::optional<Patch> sources = test_sources(patches, patch))
				set.patches.push_back(std::move(*sources));
		set.patches.push_back(std::move(patch));
	}
	/* Last, because what parse_patch() says of a damaged patch helps more. */
	check_checksums(dir);
	return set;
}

} // namespace nocma::series

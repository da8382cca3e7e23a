// SPDX-License-Identifier: GPL-2.0-only
#include "series/export.hpp"

#include <map>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

/* What git takes for the start of a mail; the date is a constant of git's. */
constexpr std::string_view mbox_line =
	"From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001\n";

/* The same for the same patches, so that an export can be compared with an older one. */
std::string digest(const PatchSet &set)
{
	constexpr std::size_t enough = 12;
	std::string text;

	for (const Patch &patch : set.patches)
		text += patch.text;
	return run_or_throw({"sha256sum"}, {.input = text}).substr(0, enough);
}

/* The mail without its mbox line, its subject numbered within what is exported. */
std::string renumbered(const Patch &patch, std::size_t number, std::size_t count)
{
	static const std::regex tag("(^|\n)Subject: (\\[[^\\]]*\\] *)*");
	const std::size_t body = patch.text.find("\n\n");
	std::string headers = patch.text.substr(0, body);

	if (headers.starts_with("From "))
		headers.erase(0, headers.find('\n') + 1);
	headers = std::regex_replace(headers, tag,
				     fmt::format("$1Subject: [PATCH {}/{}] ", number, count),
				     std::regex_constants::format_first_only);
	return headers + patch.text.substr(body);
}

std::string series_text(const PatchSet &set)
{
	std::string text = set.comments;
	bool tests = false;

	for (const Patch &patch : set.patches) {
		if (patch.test && !tests)
			text += "# tests\n";
		tests = patch.test;
		text += patch.name + "\n";
	}
	return text;
}

} // namespace

std::string to_mbox(const PatchSet &set, const std::string &base)
{
	const std::string stem = fmt::format("{}-{}", set.target.name, digest(set));
	const std::string first = fmt::format("<{}-1@ttm-nocma>", stem);
	std::string mbox;

	for (std::size_t i = 0; i < set.patches.size(); i++) {
		mbox += mbox_line;
		mbox += fmt::format("Message-Id: <{}-{}@ttm-nocma>\n", stem, i + 1);
		if (i > 0)
			mbox += fmt::format("In-Reply-To: {0}\nReferences: {0}\n", first);
		mbox += renumbered(set.patches[i], i + 1, set.patches.size());
		if (i == 0 && !base.empty())
			mbox += fmt::format("\nbase-commit: {}\n", base);
		mbox += "\n";
	}
	return mbox;
}

std::vector<std::string> export_folder(const PatchSet &set, const fs::path &dir, bool dry_run)
{
	std::map<std::string, std::string> files;
	std::vector<std::string> sha256sum = {"sha256sum", "--"};
	std::vector<std::string> names;

	if (fs::exists(dir) && !fs::is_empty(dir))
		throw UsageError(fmt::format(
			"{}: is not empty; name a folder that is, or a new one", dir.native()));
	for (const Patch &patch : set.patches)
		files[patch.name] = patch.text;
	files["series"] = series_text(set);
	if (const std::optional<std::string> cover = try_read_file(set.dir / "cover-letter.txt"))
		files["cover-letter.txt"] = *cover;
	if (!dry_run)
		fs::create_directories(dir);
	for (const auto &[name, text] : files) {
		names.push_back(name);
		sha256sum.push_back(name);
		if (!dry_run)
			write_atomic(dir / name, text);
	}
	names.emplace_back("SHA256SUMS");
	if (!dry_run)
		write_atomic(dir / "SHA256SUMS", run_or_throw(sha256sum, {.directory = dir}));
	return names;
}

std::string resolve_base(const std::string &revision, const fs::path &tree)
{
	static const std::regex commit("[0-9a-f]{40}|[0-9a-f]{64}");

	if (revision.empty() || std::regex_match(revision, commit))
		return revision;
	const ProcessResult result = run({"git", "-C", tree.empty() ? "." : tree.native(),
					  "rev-parse", "--verify", "-q", revision + "^{commit}"});
	if (!result.ok())
		throw UsageError(fmt::format("{}: no commit of that name; give its full id, or the "
					     "git tree that has it with --tree",
					     revision));
	return std::string(trim(result.out));
}

} // namespace nocma::series

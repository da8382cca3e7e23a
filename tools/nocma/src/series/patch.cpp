// SPDX-License-Identifier: GPL-2.0-only
#include "series/patch.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <optional>
#include <regex>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::series
{

namespace
{

std::string lower(std::string_view text)
{
	std::string result(text);

	std::ranges::transform(result, result.begin(),
			       [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
	return result;
}

[[noreturn]] void refuse(std::string_view name, const std::string &what)
{
	throw Error(fmt::format("{}: {}", name, what));
}

/* A cursor over the lines of the mail; `number` is the current line's, from 1. */
class Parser
{
public:
	Parser(Patch &patch, const std::vector<std::string> &lines) : patch_(patch), lines_(lines)
	{
	}

	void parse_headers()
	{
		static const std::regex form("([A-Za-z][A-Za-z0-9-]*):[ \t]*(.*)");

		if (!done() && line().starts_with("From "))
			at_++;
		for (; !done() && !line().empty(); at_++) {
			std::smatch match;

			if ((line()[0] == ' ' || line()[0] == '\t') && !patch_.headers.empty())
				patch_.headers.back().value += fmt::format(" {}", trim(line()));
			else if (std::regex_match(line(), match, form))
				patch_.headers.push_back({lower(match.str(1)), match.str(2)});
			else
				refuse_line("no mail header; make the patch with git format-patch");
		}
	}

	void parse_body()
	{
		parse_message();
		while (!done())
			parse_diff_line();
		/* Renames, modes, empty files: quilt and older patch do not know them all. */
		if (announced_ > patch_.files.size())
			refuse(patch_.name, "changes a file without changing its lines; make the "
					    "patch with git format-patch --no-renames");
	}

private:
	[[nodiscard]] bool done() const { return at_ == lines_.size(); }
	[[nodiscard]] const std::string &line() const { return lines_[at_]; }

	[[noreturn]] void refuse_line(const std::string &what) const
	{
		refuse(patch_.name, fmt::format("line {}: {}", at_ + 1, what));
	}

	/* A diff may follow without "---"; what it then lacks is said by the checks. */
	void parse_message()
	{
		for (; !done() && line() != "---" && !line().starts_with("diff --git "); at_++)
			patch_.message.push_back(line());
	}

	void parse_diff_line()
	{
		announced_ += line().starts_with("diff --git ") ? 1 : 0;
		if (line().starts_with("GIT binary patch") || line().starts_with("Binary files "))
			refuse_line("binary change: quilt and patch cannot apply it");
		if (line().starts_with("--- ") && at_ + 1 < lines_.size() &&
		    lines_[at_ + 1].starts_with("+++ "))
			parse_file();
		else
			at_++;
	}

	void parse_file()
	{
		FileDiff file;

		file.old_name = stripped("--- ", "a/");
		at_++;
		file.new_name = stripped("+++ ", "b/");
		at_++;
		if (file.name().empty())
			refuse_line("neither an old nor a new file is named");
		if (!file.old_name.empty() && !file.new_name.empty() &&
		    file.old_name != file.new_name)
			refuse_line("renames a file; make the patch with git format-patch "
				    "--no-renames");
		while (!done() && line().starts_with("@@ "))
			parse_hunk(file);
		if (file.hunks.empty())
			refuse_line(fmt::format("no hunk for {}: truncated; fetch the patch again",
						file.name()));
		patch_.files.push_back(std::move(file));
	}

	/* The name after -p1, or nothing for /dev/null. */
	[[nodiscard]] std::string stripped(std::string_view mark, std::string_view prefix) const
	{
		std::string_view name = std::string_view(line()).substr(mark.size());

		name = name.substr(0, name.find('\t'));
		if (name == "/dev/null")
			return {};
		if (!name.starts_with(prefix))
			refuse_line(fmt::format("wrong strip level: '{}' does not begin with {}; "
						"make the patch with git format-patch (-p1)",
						name, prefix));
		name.remove_prefix(prefix.size());
		const std::filesystem::path path(name);
		if (name.empty() || path.is_absolute() ||
		    std::ranges::find(path, "..") != path.end())
			refuse_line(fmt::format("'{}' leaves the tree", name));
		return std::string(name);
	}

	void parse_hunk(FileDiff &file)
	{
		static const std::regex form("@@ -([0-9]{1,9})(?:,([0-9]{1,9}))? "
					     "\\+([0-9]{1,9})(?:,([0-9]{1,9}))? @@.*");
		std::smatch match;

		if (!std::regex_match(line(), match, form))
			refuse_line("damaged hunk header; fetch the patch again");
		const auto number = [&](std::size_t group) {
			return match[group].matched ? std::stoul(match.str(group)) : 1UL;
		};
		unsigned long before = number(2);
		unsigned long after = number(4);

		file.hunks.push_back({number(1)});
		at_++;
		while (before > 0 || after > 0)
			parse_hunk_line(before, after);
		if (!done() && line().starts_with("\\"))
			at_++;
	}

	void parse_hunk_line(unsigned long &before, unsigned long &after)
	{
		if (done())
			refuse(patch_.name,
			       "ends in the middle of a hunk: truncated; fetch the patch again");
		/* Mail programs strip the blank of an empty context line. */
		const char kind = line().empty() ? ' ' : line()[0];
		const bool old_side = kind == ' ' || kind == '-';
		const bool new_side = kind == ' ' || kind == '+';

		if (kind != '\\') {
			if ((!old_side && !new_side) || (old_side && before == 0) ||
			    (new_side && after == 0))
				refuse_line("the hunk does not have the lines it says: damaged; "
					    "fetch the patch again");
			before -= old_side ? 1 : 0;
			after -= new_side ? 1 : 0;
		}
		at_++;
	}

	Patch &patch_;
	const std::vector<std::string> &lines_;
	std::size_t at_ = 0;
	std::size_t announced_ = 0; /* "diff --git" lines */
};

void refuse_encoding(const Patch &patch)
{
	const std::string encoding = lower(trim(patch.header("content-transfer-encoding")));

	if (!encoding.empty() && encoding != "7bit" && encoding != "8bit")
		refuse(patch.name, fmt::format("the mail is {}-encoded, which quilt and patch do "
					       "not read; save it decoded (b4 am, or git am "
					       "and git format-patch)",
					       encoding));
	if (lower(patch.header("content-type")).starts_with("multipart/"))
		refuse(patch.name, "the mail has several parts; save the patch alone, as text");
}

bool has_trailer(const Patch &patch, std::string_view name)
{
	return std::ranges::any_of(patch.message,
				   [&](const std::string &line) { return line.starts_with(name); });
}

} // namespace

std::string Patch::header(std::string_view wanted) const
{
	const auto found = std::ranges::find(headers, wanted, &Header::name);

	return found == headers.end() ? "" : found->value;
}

std::string Patch::subject() const
{
	static const std::regex tag(R"(^(\[[^\]]*\] *)+)");

	return std::regex_replace(header("subject"), tag, "");
}

Patch parse_patch(std::string_view name, std::string text)
{
	Patch patch{.name = std::string(name), .text = std::move(text)};

	/* Before parsing: a CR would make every other complaint misleading. */
	if (patch.text.find('\r') != std::string::npos)
		refuse(name, "has CRLF line ends; fetch it as it is in git, or run dos2unix on it");
	if (patch.text.find('\0') != std::string::npos)
		refuse(name, "has NUL bytes: not a text; fetch the patch again");
	const std::vector<std::string> lines = split_lines(patch.text);
	Parser parser(patch, lines);

	parser.parse_headers();
	refuse_encoding(patch);
	parser.parse_body();
	if (patch.files.empty())
		refuse(name, "changes nothing: no diff in it; fetch the patch again");
	if (patch.text.back() != '\n')
		refuse(name, "its last line has no end: truncated; fetch the patch again");
	if (!has_trailer(patch, "Signed-off-by: "))
		refuse(name, "no Signed-off-by; its author has to add one (git commit --amend -s)");
	return patch;
}

std::set<std::string> files_of(const std::vector<const Patch *> &patches)
{
	std::set<std::string> files;

	for (const Patch *patch : patches)
		for (const FileDiff &file : patch->files)
			files.insert(file.name());
	return files;
}

std::vector<std::string> mail_form_defects(const Patch &patch)
{
	static const std::regex mailbox("[^<>]+ <[^<>@ ]+@[^<>@ ]+>");
	static const std::regex date("[0-9]{4}-[0-9]{2}-[0-9]{2}");
	static const std::regex forwarded("no|not-needed|https?://[^ ]+.*");
	std::vector<std::string> defects;
	const auto want = [&](bool good, const std::string &defect) {
		if (!good)
			defects.push_back(defect);
	};

	want(std::regex_match(patch.header("from"), mailbox), "From: is not 'Name <address>'");
	want(!patch.header("date").empty(), "no Date: every git am would make another commit");
	want(patch.header("subject").starts_with("[PATCH"), "Subject: does not begin with [PATCH");
	want(!patch.subject().empty(), "Subject: is empty");
	want(patch.text.find("\n---\n") != std::string::npos, "no '---' after the message");
	want(std::ranges::any_of(patch.message,
				 [](const std::string &line) {
					 return !line.empty() &&
						!line.starts_with("Signed-off-by: ");
				 }),
	     "the message does not say why");
	want(!patch.header("origin").empty(), "no Origin: (DEP-3)");
	want(std::regex_match(patch.header("forwarded"), forwarded),
	     "Forwarded: (DEP-3) is not 'no', 'not-needed' or an address");
	want(std::regex_match(patch.header("last-update"), date),
	     "Last-Update: (DEP-3) is not YYYY-MM-DD");
	return defects;
}

} // namespace nocma::series

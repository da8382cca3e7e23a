// SPDX-License-Identifier: GPL-2.0-only
#include "series/git_tree.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "series/scratch.hpp"
#include "series/transaction.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;
using nlohmann::json;

/* How far back the log is searched for the series' commits. */
constexpr int log_depth = 5000;

/* What a user's configuration may set and what would change results or ask questions. */
const std::vector<std::string> neutral = {"-c", "core.hooksPath=/dev/null",
					  "-c", "commit.gpgSign=false",
					  "-c", "gc.auto=0",
					  "-c", "maintenance.auto=false",
					  "-c", "am.threeWay=false",
					  "-c", "am.keepcr=false",
					  "-c", "apply.whitespace=nowarn",
					  "-c", "core.autocrlf=false",
					  "-c", "advice.detachedHead=false"};

std::vector<std::string> git_command(const fs::path &tree,
				     const std::vector<std::string> &arguments)
{
	std::vector<std::string> command = {"git", "-C", tree.native()};

	command.insert(command.end(), neutral.begin(), neutral.end());
	command.insert(command.end(), arguments.begin(), arguments.end());
	return command;
}

/* Error messages are parsed by nobody, but should read the same everywhere. */
ProcessOptions quiet(std::string input = {})
{
	return {.environment = {"LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_EDITOR=false"},
		.input = std::move(input)};
}

/* The subject and author of a commit, as in the mail it was made from. */
std::string identity(const std::string &subject, const std::string &author)
{
	return fmt::format("{}\n{}", subject, author);
}

std::string identity(const Patch &patch)
{
	return identity(patch.subject(), patch.header("from"));
}

std::string joined(const std::set<std::string> &names)
{
	std::string text;

	for (const std::string &name : names) {
		text += name;
		text += '\0';
	}
	return text;
}

} // namespace

GitTree::GitTree(fs::path tree) : tree_(std::move(tree))
{
	git_dir_ = std::string(trim(git({"rev-parse", "--absolute-git-dir"})));
}

std::string GitTree::git(const std::vector<std::string> &arguments) const
{
	const ProcessResult result = try_git(arguments);

	if (result.ok())
		return result.out;
	const std::vector<std::string> lines = split_lines(trim(result.err));
	throw Error(fmt::format("{}: git {} failed: {}", tree_.native(), arguments.front(),
				lines.empty() ? fmt::format("exit status {}", result.status)
					      : fmt::format("{}", fmt::join(lines, " / "))));
}

ProcessResult GitTree::try_git(const std::vector<std::string> &arguments) const
{
	return run(git_command(tree_, arguments), quiet());
}

fs::path GitTree::state_dir() const
{
	return git_dir_ / "nocma";
}

fs::path GitTree::journal() const
{
	return state_dir() / "journal";
}

std::string GitTree::resolve(const std::string &revision) const
{
	return std::string(trim(git({"rev-parse", "--verify", revision + "^{commit}"})));
}

std::optional<std::string> GitTree::content(const std::string &commit,
					    const std::string &file) const
{
	ProcessResult result = try_git({"cat-file", "blob", fmt::format("{}:{}", commit, file)});

	return result.ok() ? std::optional(std::move(result.out)) : std::nullopt;
}

void GitTree::refuse_unready() const
{
	static const std::vector<std::pair<const char *, const char *>> operations = {
		{"rebase-apply/applying", "am"},     {"rebase-apply", "rebase"},
		{"rebase-merge", "rebase"},	     {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}};

	for (const auto &[file, name] : operations)
		if (fs::exists(git_dir_ / file))
			throw UsageError(fmt::format("{}: a git {} is in progress; finish it, or "
						     "git {} --abort",
						     tree_.native(), name, name));
	if (fs::exists(git_dir_ / "index.lock"))
		throw UsageError(fmt::format("{}: another git is at work there; wait for its end, "
					     "or remove the file when it has died",
					     (git_dir_ / "index.lock").native()));
	if (!try_git({"rev-parse", "--verify", "-q", "HEAD"}).ok())
		throw UsageError(fmt::format("{}: the git tree has no commit yet; commit the "
					     "kernel first",
					     tree_.native()));
	const std::vector<std::string> changes =
		split_lines(git({"status", "--porcelain", "--untracked-files=no"}));
	if (!changes.empty())
		throw UsageError(fmt::format(
			"{}: the git tree has local changes ({}{}); commit "
			"them or git stash",
			tree_.native(), changes.front().substr(3),
			changes.size() > 1 ? fmt::format(" and {} more", changes.size() - 1) : ""));
}

void GitTree::refuse_nameless() const
{
	if (!try_git({"var", "GIT_COMMITTER_IDENT"}).ok())
		throw UsageError(fmt::format("{}: git does not know who commits; git config "
					     "user.name and user.email",
					     tree_.native()));
}

std::set<std::string> GitTree::recorded(const std::vector<Patch> &patches) const
{
	const ProcessResult log =
		try_git({"log", fmt::format("-n{}", log_depth), "--format=%s%x00%an <%ae>"});
	std::set<std::string> commits;
	std::set<std::string> names;

	for (const std::string &line : split_lines(log.out)) {
		const std::vector<std::string> parts = split(line, '\0');

		commits.insert(identity(parts.front(), parts.back()));
	}
	for (const Patch &patch : patches)
		if (commits.contains(identity(patch)))
			names.insert(patch.name);
	return names;
}

bool GitTree::is_interrupted() const
{
	return fs::exists(journal());
}

void GitTree::remove_work_tree() const
{
	const fs::path work = state_dir() / "tree";
	std::error_code ignored;

	if (!fs::exists(work))
		return;
	fs::remove_all(work, ignored);
	try_git({"worktree", "prune"});
}

bool GitTree::recover()
{
	const std::optional<std::string> text = try_read_file(journal());
	std::error_code ignored;

	remove_work_tree();
	if (text) {
		Move move;

		try {
			const json saved = json::parse(*text);

			move = {saved.at("from"), saved.at("to"),
				saved.at("files").get<std::set<std::string>>()};
		} catch (const json::exception &) {
			throw Error(fmt::format("{}: not a journal of nocma's; remove the file "
						"when git status says what you expect",
						journal().native()));
		}
		/* Anywhere else: the user has settled it in the meantime. */
		if (resolve("HEAD") == move.from)
			restore(move);
	}
	fs::remove_all(state_dir(), ignored);
	return text.has_value();
}

/* The branch has not moved, the files may have: back with those that are as git left them. */
void GitTree::restore(const Move &move)
{
	if (fs::exists(git_dir_ / "index.lock"))
		throw Error(fmt::format("{}: left by a git that was killed, or is still at work; "
					"remove the file when none is, and run again",
					(git_dir_ / "index.lock").native()));
	std::vector<std::string> tracked = {"checkout", "-q", move.from, "--"};
	std::vector<std::string> created = {"rm", "-q", "--cached", "--ignore-unmatch", "--"};
	const std::size_t none = created.size();
	for (const std::string &file : move.files) {
		const std::optional<std::string> now = try_read_file(tree_ / file);
		const std::optional<std::string> before = content(move.from, file);

		if (now && now != before && now != content(move.to, file))
			throw Error(fmt::format("{}: changed after an interrupted run of nocma; "
						"move the file away and run again",
						(tree_ / file).native()));
		if (before)
			tracked.push_back(file);
		else
			created.push_back(file);
	}
	if (created.size() > none)
		git(created);
	for (std::size_t i = none; i < created.size(); i++) {
		fs::remove(tree_ / created[i]);
		remove_empty_parents(tree_, created[i]);
	}
	git(tracked);
}

std::string GitTree::commit_apart(const std::vector<const Patch *> &needed) const
{
	const fs::path work = state_dir() / "tree";
	const GitTree apart = [&] {
		git({"worktree", "add", "-q", "--no-checkout", "--detach", work.native(), "HEAD"});
		return GitTree(work);
	}();
	const TempDir mails("nocma-am");
	std::vector<std::string> command = {"am", "-q", "--signoff", "--no-3way"};
	std::set<std::string> present;

	for (const std::string &file : files_of(needed))
		if (content("HEAD", file))
			present.insert(file);
	apart.git({"read-tree", "HEAD"});
	const ProcessResult out = run(git_command(work, {"checkout-index", "-q", "-z", "--stdin"}),
				      quiet(joined(present)));
	if (!out.ok())
		throw Error(fmt::format("{}: git checkout-index failed: {}", tree_.native(),
					trim(out.err)));
	for (const Patch *patch : needed) {
		command.push_back((mails.path() / patch->name).native());
		write_atomic(command.back(), patch->text);
	}
	InterruptGuard::check();
	apart.git(command);
	return apart.resolve("HEAD");
}

void GitTree::move_branch(const Move &move, const std::vector<std::string> &command)
{
	fs::create_directories(state_dir());
	write_atomic(
		journal(),
		json{{"from", move.from}, {"to", move.to}, {"files", move.files}}.dump(1, '\t') +
			"\n");
	InterruptGuard::check();
	git(command);
	fs::remove_all(state_dir());
}

void GitTree::apply(const std::vector<const Patch *> &needed)
{
	try {
		fs::create_directories(state_dir());
		const std::string result = commit_apart(needed);

		/* Before the branch moves: its files need the room that these took. */
		remove_work_tree();
		move_branch({resolve("HEAD"), result, files_of(needed)},
			    {"merge", "-q", "--ff-only", result});
	} catch (...) {
		recover();
		throw;
	}
}

std::string GitTree::find_base(const std::vector<const Patch *> &applied) const
{
	const std::vector<std::string> log = split_lines(git(
		{"log", fmt::format("-n{}", applied.size()), "--format=%P%x00%s%x00%an <%ae>"}));
	std::string base;

	for (std::size_t i = 0; i < applied.size(); i++) {
		const Patch &patch = *applied[applied.size() - 1 - i];
		const std::vector<std::string> parts =
			i < log.size() ? split(log[i], '\0') : std::vector<std::string>();

		if (parts.size() != 3 || identity(parts[1], parts[2]) != identity(patch) ||
		    parts[0].empty() || parts[0].find(' ') != std::string::npos)
			throw Error(fmt::format("{}: the commits of the series are not the top of "
						"the branch ({} expected); drop them with git "
						"rebase -i, or git revert them",
						tree_.native(), patch.subject()));
		base = parts[0];
	}
	return base;
}

/* Only what the patches say may be lost: a commit that somebody amended is not ours to drop. */
void GitTree::refuse_different(const std::string &base,
			       const std::vector<const Patch *> &applied) const
{
	const std::set<std::string> files = files_of(applied);
	Scratch scratch(tree_, files);
	std::string different;

	for (auto patch = applied.rbegin(); patch != applied.rend(); ++patch)
		if (!scratch.apply(**patch, Direction::reverse).empty())
			different = (*patch)->name;
	for (const std::string &file : files)
		if (try_read_file(scratch.path() / file) != content(base, file))
			different = file;
	for (const std::string &file : split_lines(git({"diff", "--name-only", base, "HEAD"})))
		if (!files.contains(file))
			different = file;
	if (!different.empty())
		throw Error(fmt::format("{}: the commits change more than the patches do ({}); "
					"drop them with git rebase -i",
					tree_.native(), different));
}

void GitTree::unapply(const std::vector<const Patch *> &applied)
{
	const std::string base = find_base(applied);

	refuse_different(base, applied);
	try {
		move_branch({resolve("HEAD"), base, files_of(applied)},
			    {"reset", "-q", "--keep", base});
	} catch (...) {
		recover();
		throw;
	}
}

} // namespace nocma::series

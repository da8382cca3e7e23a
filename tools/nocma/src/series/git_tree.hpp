/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "series/patch_set.hpp"
#include "util/process.hpp"

namespace nocma::series
{

/*
 * A git work tree. `git am` runs in a work tree of its own below .git, which has only the files
 * that the series touches; the user's branch then moves to the result in one step of git's. A
 * journal in .git/nocma makes that step recoverable. No hook is run, nothing is signed.
 */
class GitTree
{
public:
	explicit GitTree(std::filesystem::path tree);

	/* Throws UsageError: no commit, local changes, an am, rebase or merge going on. */
	void refuse_unready() const;
	/* Throws UsageError when git does not know who commits. */
	void refuse_nameless() const;

	/* Patches of the set that the last commits carry, by subject and author. */
	[[nodiscard]] std::set<std::string> recorded(const std::vector<Patch> &patches) const;

	[[nodiscard]] bool is_interrupted() const;
	/* Undoes or completes what an interrupted run left. True when there was something. */
	bool recover();

	void apply(const std::vector<const Patch *> &needed);
	/* The series' commits have to be the top of the branch. */
	void unapply(const std::vector<const Patch *> &applied);

private:
	struct Move {
		std::string from; /* commits */
		std::string to;
		std::set<std::string> files;
	};

	std::string git(const std::vector<std::string> &arguments) const;
	ProcessResult try_git(const std::vector<std::string> &arguments) const;
	[[nodiscard]] std::filesystem::path state_dir() const;
	[[nodiscard]] std::filesystem::path journal() const;
	[[nodiscard]] std::string resolve(const std::string &revision) const;
	[[nodiscard]] std::optional<std::string> content(const std::string &commit,
							 const std::string &file) const;
	[[nodiscard]] std::string commit_apart(const std::vector<const Patch *> &needed) const;
	[[nodiscard]] std::string find_base(const std::vector<const Patch *> &applied) const;
	void refuse_different(const std::string &base,
			      const std::vector<const Patch *> &applied) const;
	void remove_work_tree() const;
	void move_branch(const Move &move, const std::vector<std::string> &command);
	void restore(const Move &move);

	std::filesystem::path tree_;
	std::filesystem::path git_dir_;
};

} // namespace nocma::series

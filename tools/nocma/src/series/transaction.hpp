/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "util/fd.hpp"

namespace nocma::series
{

/*
 * Held while a tree is changed. It is an flock on the tree's own folder, which the children
 * inherit: a git that outlives us keeps the next run out until it is done.
 */
class TreeLock
{
public:
	/* Throws Error when another nocma is at work there. */
	explicit TreeLock(const std::filesystem::path &tree);

private:
	UniqueFd fd_;
};

/*
 * Exchanges a set of files of a plain folder all together, or not at all. What is done, in
 * TREE/.nocma:
 *   stage    new/N gets the new content, old/N becomes a hard link to the present file
 *   prepare  `journal` is written: from here on recover() undoes
 *   install  new/N is renamed over the file, one file after the other
 *   commit   `journal` is renamed to `applied`, the record of the patches in the tree
 * A process may die anywhere in between: recover() puts the old files back, themselves, not
 * copies. Errors leave the tree as it was.
 */
class Transaction
{
public:
	explicit Transaction(std::filesystem::path tree);
	Transaction(const Transaction &) = delete;
	Transaction &operator=(const Transaction &) = delete;
	Transaction(Transaction &&) = delete;
	Transaction &operator=(Transaction &&) = delete;
	~Transaction();

	/* `content` is copied; the mode of a file that exists already is kept. */
	void stage(const std::string &name, const std::filesystem::path &content);
	void stage_removal(const std::string &name);
	[[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

	/* `patches`: what the record is to say afterwards. */
	void prepare(const std::vector<std::string> &patches);
	void install(std::size_t index);
	void commit();

	/* All of the above. */
	void run(const std::vector<std::string> &patches);

private:
	struct Entry {
		std::string name;
		bool existed = false;
		bool removed = false;
		std::string stamp; /* identifies the new file once it is installed */
	};

	void begin();
	Entry &add(const std::string &name);

	std::filesystem::path tree_;
	std::vector<Entry> entries_;
	bool begun_ = false;
	bool committed_ = false;
};

/* Source trees have no empty folders: the last file of one takes it along. */
void remove_empty_parents(const std::filesystem::path &tree, const std::string &name);

/* True when a transaction of this tree was interrupted and has not been undone yet. */
bool is_interrupted(const std::filesystem::path &tree);

/* Undoes an interrupted transaction, clears leftovers. True when there was something to undo. */
bool recover(const std::filesystem::path &tree);

/* Patches that the record of a plain folder names. */
std::vector<std::string> recorded_patches(const std::filesystem::path &tree);

} // namespace nocma::series

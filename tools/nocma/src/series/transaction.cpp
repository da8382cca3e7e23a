// SPDX-License-Identifier: GPL-2.0-only
#include "series/transaction.hpp"

#include <array>
#include <cerrno>
#include <optional>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;
using nlohmann::json;

fs::path state_dir(const fs::path &tree)
{
	return tree / ".nocma";
}

fs::path journal_file(const fs::path &tree)
{
	return state_dir(tree) / "journal";
}

fs::path record_file(const fs::path &tree)
{
	return state_dir(tree) / "applied";
}

fs::path old_file(const fs::path &tree, std::size_t index)
{
	return state_dir(tree) / "old" / std::to_string(index);
}

fs::path new_file(const fs::path &tree, std::size_t index)
{
	return state_dir(tree) / "new" / std::to_string(index);
}

/* Which file this is and that nobody has written to it since; empty when there is none. */
std::string stamp_of(const fs::path &path)
{
	struct stat status {
	};

	if (::lstat(path.c_str(), &status) < 0)
		return {};
	return fmt::format("{}:{}:{}.{}", status.st_ino, status.st_size, status.st_mtim.tv_sec,
			   status.st_mtim.tv_nsec);
}

void rename_file(const fs::path &from, const fs::path &to)
{
	if (::rename(from.c_str(), to.c_str()) < 0)
		throw SystemError("rename", to.native(), errno);
}

void unlink_file(const fs::path &path)
{
	if (::unlink(path.c_str()) < 0 && errno != ENOENT)
		throw SystemError("unlink", path.native(), errno);
}

void sync_file(const fs::path &path)
{
	const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));

	if (!fd || ::fsync(fd.get()) < 0)
		throw SystemError("fsync", path.native(), errno);
}

/* A link keeps the file itself; where the file system has none, a copy has to do. */
void keep_old(const fs::path &path, const fs::path &old)
{
	struct stat status {
	};

	if (::link(path.c_str(), old.c_str()) == 0)
		return;
	fs::copy_file(path, old);
	if (::lstat(path.c_str(), &status) < 0)
		throw SystemError("stat", path.native(), errno);
	const std::array<timespec, 2> times = {status.st_atim, status.st_mtim};
	::utimensat(AT_FDCWD, old.c_str(), times.data(), 0);
}

void clear_work(const fs::path &tree)
{
	std::error_code ignored;

	fs::remove_all(state_dir(tree) / "old", ignored);
	fs::remove_all(state_dir(tree) / "new", ignored);
	if (!fs::exists(journal_file(tree), ignored) && recorded_patches(tree).empty())
		fs::remove_all(state_dir(tree), ignored);
}

std::vector<std::string> patches_in(const std::optional<std::string> &text, const fs::path &file)
{
	if (!text)
		return {};
	try {
		return json::parse(*text).at("patches").get<std::vector<std::string>>();
	} catch (const json::exception &) {
		throw Error(fmt::format("{}: not a record of nocma's; remove the file if the tree "
					"is as you want it",
					file.native()));
	}
}

void undo_entry(const fs::path &tree, std::size_t index, const json &entry)
{
	const std::string name = entry.at("name");
	const std::string stamp = entry.at("stamp");
	const fs::path path = tree / name;
	const bool waiting = fs::exists(fs::symlink_status(new_file(tree, index)));

	if (entry.at("existed").get<bool>()) {
		/* Absent: an earlier recover() has put it back. */
		if (!fs::exists(fs::symlink_status(old_file(tree, index))))
			return;
		fs::create_directories(path.parent_path());
		rename_file(old_file(tree, index), path);
	} else if (!waiting && stamp_of(path) == stamp) {
		unlink_file(path);
		remove_empty_parents(tree, name);
	}
}

/* Nobody's later work may be lost: what is in place is our new file or the old one. */
void refuse_changed(const fs::path &tree, std::size_t index, const json &entry)
{
	const fs::path path = tree / entry.at("name").get<std::string>();
	const std::string now = stamp_of(path);

	if (now.empty() || now == entry.at("stamp").get<std::string>() ||
	    now == stamp_of(old_file(tree, index)) || now == entry.at("before").get<std::string>())
		return;
	throw Error(
		fmt::format("{}: changed after an interrupted run of nocma, whose undoing would "
			    "lose that; move the file away and run again",
			    path.native()));
}

} // namespace

void remove_empty_parents(const fs::path &tree, const std::string &name)
{
	for (fs::path folder = fs::path(name).parent_path(); !folder.empty();
	     folder = folder.parent_path())
		if (::rmdir((tree / folder).c_str()) < 0)
			return;
}

TreeLock::TreeLock(const fs::path &tree)
	/* Without O_CLOEXEC, see the class. */
	: fd_(::open(tree.c_str(), O_RDONLY | O_DIRECTORY)) // NOLINT(android-cloexec-open)
{
	if (!fd_)
		throw SystemError("open", tree.native(), errno);
	/* File systems without locks (some network ones) must not keep anybody from working. */
	if (::flock(fd_.get(), LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK)
		throw Error(fmt::format("{}: another nocma, or a git it started, is at work here; "
					"wait for its end",
					tree.native()));
}

Transaction::Transaction(fs::path tree) : tree_(std::move(tree)) {}

Transaction::~Transaction()
{
	if (!begun_ || committed_)
		return;
	try {
		recover(tree_);
	} catch (const std::exception &error) {
		fmt::print(stderr, "nocma: {}\n", error.what());
	}
}

void Transaction::begin()
{
	if (begun_)
		return;
	begun_ = true;
	fs::create_directories(state_dir(tree_) / "new");
	fs::create_directories(state_dir(tree_) / "old");
}

Transaction::Entry &Transaction::add(const std::string &name)
{
	begin();
	const bool existed = fs::exists(fs::symlink_status(tree_ / name));

	if (existed)
		keep_old(tree_ / name, old_file(tree_, entries_.size()));
	return entries_.emplace_back(Entry{.name = name, .existed = existed});
}

void Transaction::stage(const std::string &name, const fs::path &content)
{
	const fs::path staged = new_file(tree_, entries_.size());
	Entry &entry = add(name);
	struct stat status {
	};

	fs::copy_file(content, staged);
	if (entry.existed && ::stat((tree_ / name).c_str(), &status) == 0) {
		::chmod(staged.c_str(), status.st_mode & 07777U);
		/* Root may work in another user's tree; others cannot and need not. */
		[[maybe_unused]] const int owner =
			::lchown(staged.c_str(), status.st_uid, status.st_gid);
	}
	sync_file(staged);
	entry.stamp = stamp_of(staged);
}

void Transaction::stage_removal(const std::string &name)
{
	add(name).removed = true;
}

void Transaction::prepare(const std::vector<std::string> &patches)
{
	json files = json::array();

	begin();
	for (const Entry &entry : entries_)
		files.push_back({{"name", entry.name},
				 {"existed", entry.existed},
				 {"removed", entry.removed},
				 {"stamp", entry.stamp},
				 {"before", stamp_of(tree_ / entry.name)}});
	write_atomic(journal_file(tree_),
		     json{{"patches", patches}, {"files", files}}.dump(1, '\t') + "\n");
}

void Transaction::install(std::size_t index)
{
	const Entry &entry = entries_.at(index);
	const fs::path path = tree_ / entry.name;

	if (entry.removed) {
		unlink_file(path);
		remove_empty_parents(tree_, entry.name);
		return;
	}
	fs::create_directories(path.parent_path());
	rename_file(new_file(tree_, index), path);
}

void Transaction::commit()
{
	rename_file(journal_file(tree_), record_file(tree_));
	committed_ = true;
	clear_work(tree_);
}

void Transaction::run(const std::vector<std::string> &patches)
{
	prepare(patches);
	for (std::size_t i = 0; i < entries_.size(); i++)
		install(i);
	commit();
}

bool is_interrupted(const fs::path &tree)
{
	return fs::exists(journal_file(tree));
}

bool recover(const fs::path &tree)
{
	const std::optional<std::string> text = try_read_file(journal_file(tree));

	if (text) {
		try {
			const json files = json::parse(*text).at("files");

			for (std::size_t i = 0; i < files.size(); i++)
				refuse_changed(tree, i, files.at(i));
			for (std::size_t i = files.size(); i-- > 0;)
				undo_entry(tree, i, files.at(i));
		} catch (const json::exception &) {
			throw Error(fmt::format("{}: not a journal of nocma's; the files of before "
						"are in 'old' beside it",
						journal_file(tree).native()));
		}
		unlink_file(journal_file(tree));
	}
	if (fs::exists(state_dir(tree)))
		clear_work(tree);
	return text.has_value();
}

std::vector<std::string> recorded_patches(const fs::path &tree)
{
	return patches_in(try_read_file(record_file(tree)), record_file(tree));
}

} // namespace nocma::series

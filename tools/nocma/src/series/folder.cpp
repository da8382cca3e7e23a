// SPDX-License-Identifier: GPL-2.0-only
#include "series/folder.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "series/scratch.hpp"
#include "series/transaction.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/process.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

constexpr std::string_view quilt_prefix = "nocma/";

std::set<std::string> files_below(const fs::path &root, const fs::path &folder)
{
	std::set<std::string> names;

	if (fs::is_directory(root / folder))
		for (const auto &entry : fs::recursive_directory_iterator(root / folder))
			if (entry.is_regular_file())
				names.insert(entry.path().lexically_relative(root).native());
	return names;
}

/* Makes `names` in the tree what they are in the scratch folder. */
void exchange(const fs::path &tree, const fs::path &scratch, const std::set<std::string> &names,
	      const std::vector<std::string> &record)
{
	Transaction transaction(tree);

	for (const std::string &name : names) {
		const bool before = fs::exists(tree / name);
		const bool after = fs::exists(scratch / name);

		InterruptGuard::check();
		if (after && (!before || read_file(tree / name) != read_file(scratch / name)))
			transaction.stage(name, scratch / name);
		else if (before && !after)
			transaction.stage_removal(name);
	}
	InterruptGuard::check();
	transaction.run(record);
}

void do_patch(Scratch &scratch, const Patch &patch, Direction direction)
{
	InterruptGuard::check();
	const std::vector<Conflict> conflicts = scratch.apply(patch, direction);

	if (!conflicts.empty())
		throw Error(fmt::format("{} cannot be {}: {}; nothing was changed", patch.name,
					direction == Direction::forward ? "applied" : "taken out",
					to_string(conflicts.front())));
}

/* The part of a quilt-managed tree that concerns us, copied, and quilt run in it. */
class QuiltScratch
{
public:
	QuiltScratch(const fs::path &tree, const std::set<std::string> &files)
		: tree_(tree), patches_(patches_folder(tree)), dir_("nocma-quilt")
	{
		std::set<std::string> state = files_below(tree, patches_ / quilt_prefix);

		state.merge(files_below(tree, fs::path(".pc") / quilt_prefix));
		state.insert((patches_ / "series").native());
		for (const char *name :
		     {".version", ".quilt_patches", ".quilt_series", "applied-patches"})
			state.insert((fs::path(".pc") / name).native());
		copied_ = files;
		copied_.merge(state);
		copy_files(tree, path(), copied_);
		fs::create_directories(path() / patches_);
	}

	void quilt(std::vector<std::string> arguments)
	{
		InterruptGuard::check();
		arguments.insert(arguments.begin(), {"quilt", "--quiltrc=-"});
		run_or_throw(arguments, {.directory = path(), .environment = environment()});
	}

	/* Everything copied or made by quilt goes back. */
	void write_back()
	{
		std::set<std::string> names = copied_;

		names.merge(files_below(path(), ".pc"));
		names.merge(files_below(path(), patches_));
		exchange(tree_, path(), names, {});
	}

	[[nodiscard]] const fs::path &path() const noexcept { return dir_.path(); }

private:
	static fs::path patches_folder(const fs::path &tree)
	{
		const std::optional<std::string> text = try_read_file(tree / ".pc/.quilt_patches");
		fs::path folder = text ? std::string(trim(*text)) : "patches";

		if (folder.is_absolute() || std::ranges::find(folder, "..") != folder.end())
			throw Error(fmt::format("{}: quilt's patches lie outside of the tree ({}); "
						"use `nocma series export -o DIR` and quilt "
						"import",
						tree.native(), folder.native()));
		return folder;
	}

	[[nodiscard]] std::vector<std::string> environment() const
	{
		return {"LC_ALL=C", "QUILT_PC=.pc", "QUILT_SERIES=series",
			fmt::format("QUILT_PATCHES={}", patches_.native())};
	}

	fs::path tree_;
	fs::path patches_;
	std::set<std::string> copied_;
	TempDir dir_;
};

std::vector<std::string> quilt_applied(const fs::path &tree)
{
	return split_lines(try_read_file(tree / ".pc/applied-patches").value_or(""));
}

void refuse_buried(const fs::path &tree, std::size_t count)
{
	const std::vector<std::string> applied = quilt_applied(tree);

	for (std::size_t i = 0; i < count; i++)
		if (i >= applied.size() ||
		    !applied[applied.size() - 1 - i].starts_with(quilt_prefix))
			throw Error(fmt::format(
				"{}: other patches lie on top of the series in quilt's stack; "
				"`quilt pop` them first",
				tree.native()));
}

} // namespace

std::set<std::string> recorded_in_folder(const fs::path &tree)
{
	const std::vector<std::string> names = recorded_patches(tree);

	return {names.begin(), names.end()};
}

std::set<std::string> recorded_in_quilt(const fs::path &tree)
{
	std::set<std::string> names;

	for (const std::string &name : quilt_applied(tree))
		if (name.starts_with(quilt_prefix))
			names.insert(name.substr(quilt_prefix.size()));
	return names;
}

void apply_to_folder(const fs::path &tree, const std::vector<const Patch *> &needed)
{
	const std::set<std::string> files = files_of(needed);
	Scratch scratch(tree, files);
	std::vector<std::string> record = recorded_patches(tree);

	for (const Patch *patch : needed) {
		do_patch(scratch, *patch, Direction::forward);
		record.push_back(patch->name);
	}
	exchange(tree, scratch.path(), files, record);
}

void unapply_from_folder(const fs::path &tree, const std::vector<const Patch *> &applied)
{
	const std::set<std::string> files = files_of(applied);
	Scratch scratch(tree, files);

	for (auto patch = applied.rbegin(); patch != applied.rend(); ++patch)
		do_patch(scratch, **patch, Direction::reverse);
	exchange(tree, scratch.path(), files, {});
}

void apply_to_quilt(const fs::path &tree, const std::vector<const Patch *> &needed)
{
	QuiltScratch scratch(tree, files_of(needed));
	const TempDir incoming("nocma-import");

	for (const Patch *patch : needed) {
		const fs::path file = incoming.path() / patch->name;

		write_atomic(file, patch->text);
		scratch.quilt({"import", "-P", fmt::format("{}{}", quilt_prefix, patch->name),
			       file.native()});
		scratch.quilt({"push", "-q", "--fuzz=0"});
	}
	scratch.write_back();
}

void unapply_from_quilt(const fs::path &tree, const std::vector<const Patch *> &applied)
{
	refuse_buried(tree, applied.size());
	QuiltScratch scratch(tree, files_of(applied));

	for (auto patch = applied.rbegin(); patch != applied.rend(); ++patch) {
		const std::string name = fmt::format("{}{}", quilt_prefix, (*patch)->name);

		scratch.quilt({"pop", "-q"});
		scratch.quilt({"delete", "-r", name});
	}
	scratch.write_back();
}

} // namespace nocma::series

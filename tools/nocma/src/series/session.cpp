// SPDX-License-Identifier: GPL-2.0-only
#include "series/session.hpp"

#include <algorithm>
#include <cerrno>
#include <set>

#include <unistd.h>

#include <fmt/format.h>

#include "series/folder.hpp"
#include "series/git_tree.hpp"
#include "series/transaction.hpp"
#include "util/error.hpp"

namespace nocma::series
{

namespace
{

PatchSet load(const SessionOptions &options, const KernelTree &tree)
{
	const std::vector<Target> targets = load_targets(options.patches);

	return load_patch_set(options.patches, target_of_tree(targets, tree, options.target),
			      options.tests);
}

std::set<std::string> recorded(const KernelTree &tree, const std::vector<Patch> &patches)
{
	switch (tree.kind) {
	case TreeKind::git:
		return GitTree(tree.path).recorded(patches);
	case TreeKind::quilt:
		return recorded_in_quilt(tree.path);
	case TreeKind::plain:
		break;
	}
	return recorded_in_folder(tree.path);
}

} // namespace

const Target &target_of_tree(const std::vector<Target> &targets, const KernelTree &tree,
			     const std::string &name)
{
	if (name.empty())
		return target_for_version(targets, tree.version.series);
	const Target &target = find_target(targets, name);
	if (std::ranges::find(target.versions, tree.version.series) == target.versions.end())
		throw UsageError(fmt::format("{}: is Linux {}, not one that {} is for; leave the "
					     "target out to have it chosen",
					     tree.path.native(), tree.version.full, name));
	return target;
}

Session::Session(const SessionOptions &options)
	: tree_(open_tree(options.tree)), set_(load(options, tree_))
{
}

Assessment Session::assess() const
{
	if (series::is_interrupted(tree_.path) ||
	    (tree_.kind == TreeKind::git && GitTree(tree_.path).is_interrupted()))
		throw Error(fmt::format("{}: a run of nocma was interrupted here; `nocma series "
					"apply` or `unapply` first puts the tree back",
					tree_.path.native()));
	return series::assess(tree_.path, set_, recorded(tree_, set_.patches));
}

void Session::refuse_unready(bool commits) const
{
	if (::access(tree_.path.c_str(), W_OK) < 0)
		throw UsageError(fmt::format("{}: {}; remount it or copy the tree",
					     tree_.path.native(), errno_text(errno)));
	if (tree_.kind != TreeKind::git)
		return;
	const GitTree git(tree_.path);

	git.refuse_unready();
	if (commits)
		git.refuse_nameless();
}

bool Session::recover()
{
	bool found = series::recover(tree_.path);

	if (tree_.kind == TreeKind::git)
		found |= GitTree(tree_.path).recover();
	return found;
}

void Session::apply(const std::vector<const Patch *> &needed)
{
	switch (tree_.kind) {
	case TreeKind::git:
		return GitTree(tree_.path).apply(needed);
	case TreeKind::quilt:
		return apply_to_quilt(tree_.path, needed);
	case TreeKind::plain:
		return apply_to_folder(tree_.path, needed);
	}
}

void Session::unapply(const std::vector<const Patch *> &applied)
{
	switch (tree_.kind) {
	case TreeKind::git:
		return GitTree(tree_.path).unapply(applied);
	case TreeKind::quilt:
		return unapply_from_quilt(tree_.path, applied);
	case TreeKind::plain:
		return unapply_from_folder(tree_.path, applied);
	}
}

} // namespace nocma::series

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "series/assess.hpp"
#include "series/patch_set.hpp"
#include "series/targets.hpp"
#include "series/tree.hpp"

namespace nocma::series
{

/* What status, apply and unapply are called with. */
struct SessionOptions {
	std::filesystem::path patches;
	std::filesystem::path tree;
	std::string target; /* empty: by the tree's version */
	bool tests = true;  /* with the patches under "# tests" */
};

/* The target of that name, or without one the tree's. Throws UsageError when it is not the tree's.
 */
const Target &target_of_tree(const std::vector<Target> &targets, const KernelTree &tree,
			     const std::string &name);

/* A tree and the series for it. */
class Session
{
public:
	/* Throws UsageError when they do not fit each other. */
	explicit Session(const SessionOptions &options);

	[[nodiscard]] const KernelTree &tree() const noexcept { return tree_; }
	[[nodiscard]] const PatchSet &set() const noexcept { return set_; }

	/* Reads only. Throws Error when an interrupted run is still to be undone. */
	[[nodiscard]] Assessment assess() const;

	/* Throws UsageError when the tree is in a state in which nothing should be changed. */
	void refuse_unready(bool commits) const;

	/* Undoes what an interrupted run left; true when there was something. */
	bool recover();

	void apply(const std::vector<const Patch *> &needed);
	void unapply(const std::vector<const Patch *> &applied);

private:
	KernelTree tree_;
	PatchSet set_;
};

} // namespace nocma::series

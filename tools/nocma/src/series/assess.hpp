/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "series/patch_set.hpp"
#include "series/scratch.hpp"
#include "series/tree.hpp"

namespace nocma::series
{

enum class State {
	needed,	  /* applies as it is */
	applied,  /* in the tree, and known to have come with this series */
	upstream, /* in the tree, though nobody applied it: this kernel has it already */
	conflict, /* neither in the tree nor does it apply */
};

std::string_view to_string(State state);

struct PatchState {
	const Patch *patch = nullptr;
	State state = State::needed;
	std::vector<Conflict> conflicts;
	std::string note;
};

struct UpstreamState {
	const Upstream *upstream = nullptr;
	bool present = false;
};

/* Points into the PatchSet it was made from, which has to outlive it. */
struct Assessment {
	std::vector<PatchState> patches;
	std::vector<UpstreamState> upstream;

	[[nodiscard]] std::size_t count(State state) const;
	[[nodiscard]] std::vector<const Patch *> with(State state) const;
};

/*
 * Compares the tree's content with the series; reads the tree only. `recorded` holds the names
 * of the patches whose application somebody kept a record of (git log, quilt, our own).
 */
Assessment assess(const std::filesystem::path &tree, const PatchSet &set,
		  const std::set<std::string> &recorded);

/* Throws Error naming the first conflict of the assessment, with the way out. */
void refuse_conflicts(const KernelTree &tree, const Assessment &assessment);

} // namespace nocma::series

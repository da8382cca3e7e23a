// SPDX-License-Identifier: GPL-2.0-only
#include "series/assess.hpp"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/interrupt.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

/* Nothing when the file is created by the patch, or absent for a reason status will tell. */
void refuse_target_file(const fs::path &tree, const Patch &patch, const FileDiff &file)
{
	const std::optional<std::string> text = try_read_file(tree / file.name());

	if (text) {
		if (text->find("\r\n") != std::string::npos)
			throw Error(
				fmt::format("{}: has CRLF line ends; run dos2unix on it, or in "
					    "git set core.autocrlf to false and check out again",
					    (tree / file.name()).native()));
		return;
	}
	const std::size_t slash = file.name().find('/');
	if (slash != std::string::npos && !file.old_name.empty() &&
	    fs::is_regular_file(tree / file.name().substr(slash + 1)))
		throw Error(fmt::format("{}: wrong strip level: {} is in the tree as {}; make the "
					"patch with git format-patch (-p1)",
					patch.name, file.name(), file.name().substr(slash + 1)));
}

UpstreamState look_for(const fs::path &tree, const Upstream &upstream)
{
	const std::optional<std::string> text = try_read_file(tree / upstream.file);

	return {&upstream, text && text->find(upstream.text) != std::string::npos};
}

/* Peels what is in the tree off the scratch copy, last patch first. */
std::vector<bool> peel(Scratch &scratch, const std::vector<Patch> &patches)
{
	std::vector<bool> present(patches.size());

	for (std::size_t i = patches.size(); i-- > 0;) {
		InterruptGuard::check();
		present[i] = scratch.apply(patches[i], Direction::reverse).empty();
	}
	return present;
}

} // namespace

std::string_view to_string(State state)
{
	switch (state) {
	case State::applied:
		return "applied";
	case State::upstream:
		return "upstream";
	case State::conflict:
		return "conflict";
	case State::needed:
		break;
	}
	return "needed";
}

std::size_t Assessment::count(State state) const
{
	return with(state).size();
}

std::vector<const Patch *> Assessment::with(State state) const
{
	std::vector<const Patch *> result;

	for (const PatchState &patch : patches)
		if (patch.state == state)
			result.push_back(patch.patch);
	return result;
}

Assessment assess(const fs::path &tree, const PatchSet &set, const std::set<std::string> &recorded)
{
	Assessment result;
	Scratch scratch(tree, set.files());

	for (const Patch &patch : set.patches)
		for (const FileDiff &file : patch.files)
			refuse_target_file(tree, patch, file);
	for (const Upstream &upstream : set.upstream)
		result.upstream.push_back(look_for(tree, upstream));

	const std::vector<bool> present = peel(scratch, set.patches);
	/* The whole series in place and no record of it: somebody applied it by other means. */
	const bool by_others = std::ranges::find(present, false) == present.end() &&
			       std::ranges::none_of(set.patches, [&](const Patch &patch) {
				       return recorded.contains(patch.name);
			       });

	for (std::size_t i = 0; i < set.patches.size(); i++) {
		const Patch &patch = set.patches[i];
		PatchState state{.patch = &patch};

		InterruptGuard::check();
		state.conflicts = scratch.apply(patch, Direction::forward);
		if (present[i]) {
			state.state = by_others || recorded.contains(patch.name) ? State::applied
										 : State::upstream;
			state.conflicts.clear();
		} else if (!state.conflicts.empty() && recorded.contains(patch.name)) {
			state.state = State::applied;
			state.note = "the tree has changed there since";
			state.conflicts.clear();
		} else if (!state.conflicts.empty()) {
			state.state = State::conflict;
		}
		result.patches.push_back(std::move(state));
	}
	return result;
}

void refuse_conflicts(const KernelTree &tree, const Assessment &assessment)
{
	for (const PatchState &patch : assessment.patches)
		if (patch.state == State::conflict)
			throw Error(fmt::format(
				"{} does not apply to {} (Linux {}): {}; nothing was changed, "
				"`nocma series status` lists all conflicts",
				patch.patch->name, tree.path.native(), tree.version.full,
				to_string(patch.conflicts.front())));
}

} // namespace nocma::series

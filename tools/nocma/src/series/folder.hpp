/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "series/patch_set.hpp"

namespace nocma::series
{

/*
 * Folders without git. In all of these the patches are applied to, or taken off, a copy of the
 * files they touch; the results are then exchanged by one Transaction. Errors leave the tree as
 * it was.
 */

/* Names of the patches of the set that the folder's records (quilt's or ours) say it has. */
std::set<std::string> recorded_in_folder(const std::filesystem::path &tree);
std::set<std::string> recorded_in_quilt(const std::filesystem::path &tree);

void apply_to_folder(const std::filesystem::path &tree, const std::vector<const Patch *> &needed);
void unapply_from_folder(const std::filesystem::path &tree,
			 const std::vector<const Patch *> &applied);

/* The patches become part of the tree's own quilt series, in its patches folder, as nocma/NAME. */
void apply_to_quilt(const std::filesystem::path &tree, const std::vector<const Patch *> &needed);
void unapply_from_quilt(const std::filesystem::path &tree,
			const std::vector<const Patch *> &applied);

} // namespace nocma::series

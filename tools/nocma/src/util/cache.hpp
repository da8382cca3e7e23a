/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>

namespace nocma
{

/*
 * Where sources, kernels, downloads and logs are kept: NOCMA_CACHE, else ttm-nocma in
 * XDG_CACHE_HOME, else in ~/.cache. The same rule as in scripts/lib.bash. Not created here.
 */
std::filesystem::path cache_folder();

/*
 * The patches that belong to this nocma: share/ttm-nocma/patches of where it is installed, else
 * those of the repository that it was built from.
 */
std::filesystem::path own_patches();

} // namespace nocma

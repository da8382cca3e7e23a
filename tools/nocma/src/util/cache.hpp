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

} // namespace nocma

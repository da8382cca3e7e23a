/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <vector>

#include "cli/test_case.hpp"

namespace nocma::cli
{

/*
 * What i915 relies on, without i915: a tmpfs with huge=within_size in a mount namespace of this
 * process. Sizes, holes, truncation, splitting, swap.
 */
std::vector<TestCase> tmpfs_cases();

} // namespace nocma::cli

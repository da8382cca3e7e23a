/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <vector>

#include "cli/test_case.hpp"

namespace nocma::cli
{

/*
 * Which pages are behind i915's objects, against what the machine's IOMMU and the kernel's rule
 * let expect. The same on hardware and on igdstub; what would take the GPU away from others is
 * done on igdstub only.
 */
std::vector<TestCase> i915_cases();

} // namespace nocma::cli

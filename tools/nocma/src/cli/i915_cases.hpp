/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "report/ktap.hpp"

namespace nocma::cli
{

/* A case of the i915 back-end; it throws Error to fail and SkipError to skip. */
struct I915Case {
	std::string name;
	std::function<void(KtapWriter &)> run;
};

/*
 * Which pages are behind i915's objects, against what the machine's IOMMU and the kernel's rule
 * let expect. The same on hardware and on igdstub; what would take the GPU away from others is
 * done on igdstub only.
 */
std::vector<I915Case> i915_cases();

} // namespace nocma::cli

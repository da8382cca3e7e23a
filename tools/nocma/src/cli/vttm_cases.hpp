/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drm/device.hpp"
#include "kernel/cma.hpp"
#include "report/ktap.hpp"

namespace nocma::cli
{

/* A test of the virtual device: throws SkipError or, when it failed, any other Error. */
struct VttmCase {
	std::string name;
	std::function<void(KtapWriter &ktap)> run;
};

/*
 * Every kind of pool, DMA mask, caching and size, cold and warm, judged by where the pages
 * are; then what a driver owes its users: contents, errors, leaks.
 */
std::vector<VttmCase> vttm_cases();

/* Random ioctls: only documented errors, and nothing left behind. */
void vttm_fuzz(KtapWriter &ktap);

/* Unloading the module in each state: it is busy, or its devices go cleanly. */
std::vector<VttmCase> vttm_unload_cases();

/* Objects' and devices' lives with allocations that fail; then what kmemleak says of all cases
 * before. */
std::vector<VttmCase> vttm_fault_cases();

/* As read_cma_areas() gives them. */
using Areas = std::optional<std::vector<CmaArea>>;

/* Throws Error if an area has more or fewer pages in use. */
void expect_areas_as_before(const Areas &before);

/* Waits a moment for the last objects and pages to go; throws Error if they do not. */
void expect_no_leak(const DrmDevice &device);

} // namespace nocma::cli

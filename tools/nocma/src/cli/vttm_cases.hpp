/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>
#include <string>
#include <vector>

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

/* Random ioctls and mappings: only documented errors, and nothing left behind. */
void vttm_fuzz(KtapWriter &ktap);

/* Without root's rights: what the owner of a desktop may do, and no more. */
std::vector<VttmCase> vttm_user_cases();

/* Several devices at once; devices that belong to a NUMA node. */
std::vector<VttmCase> vttm_device_cases();

/* Unloading the module in each state: it is busy, or its devices go cleanly. */
std::vector<VttmCase> vttm_unload_cases();

/* Objects' and devices' lives with allocations that fail; then what kmemleak says of all cases
 * before. */
std::vector<VttmCase> vttm_fault_cases();

} // namespace nocma::cli

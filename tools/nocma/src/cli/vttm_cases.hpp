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

/* Random ioctls: only documented errors, and nothing left behind. */
void vttm_fuzz(KtapWriter &ktap);

} // namespace nocma::cli

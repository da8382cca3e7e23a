/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <vector>

#include "cli/test_case.hpp"

namespace nocma::cli
{

/*
 * Where igdstub has to refuse: each case tries to load it, looks at what it says and that the slot
 * is as it was. What QEMU has in the slot decides which of them can run.
 */
std::vector<TestCase> igdstub_cases();

} // namespace nocma::cli

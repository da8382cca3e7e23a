/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>
#include <string>

#include "report/ktap.hpp"

namespace nocma::cli
{

/* A test case that shares nothing with others; it throws Error to fail and SkipError to skip. */
struct TestCase {
	std::string name;
	std::function<void(KtapWriter &)> run;
};

} // namespace nocma::cli

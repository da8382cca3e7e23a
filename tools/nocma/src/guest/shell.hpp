/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string>
#include <vector>

namespace nocma::guest
{

/* The words as one line that a POSIX shell parts into the same words. */
std::string shell_line(const std::vector<std::string> &words);

} // namespace nocma::guest

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string_view>

namespace nocma::guest
{

/* The text of init.sh, which stays a file of its own so that shellcheck reads it. */
extern const std::string_view init_script;

} // namespace nocma::guest

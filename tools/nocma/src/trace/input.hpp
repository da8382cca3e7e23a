/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string_view>
#include <variant>

#include "trace/call_tree.hpp"
#include "trace/kernel_log.hpp"

namespace nocma::trace
{

/* The calls in function_graph text; none in any other. */
CallTree read_calls(std::string_view text);

using Input = std::variant<CallTree, KernelLog>;

/*
 * What the text is: calls if there is one with a duration, else a kernel's log. Throws Error that
 * names `name` and says what to do when it is neither.
 */
Input read_input(std::string_view text, std::string_view name);

} // namespace nocma::trace

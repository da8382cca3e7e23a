/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace nocma
{

/* The unsigned number that the text is: nothing if it is more than that, or beyond 64 bits. */
std::optional<std::uint64_t> parse_number(std::string_view text, int base = 10);

} // namespace nocma

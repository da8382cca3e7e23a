// SPDX-License-Identifier: GPL-2.0-only
#include "util/number.hpp"

#include <charconv>
#include <system_error>

namespace nocma
{

std::optional<std::uint64_t> parse_number(std::string_view text, int base)
{
	std::uint64_t value = 0;
	const char *const end = text.data() + text.size();
	const auto [stop, error] = std::from_chars(text.data(), end, value, base);

	if (error != std::errc() || stop != end)
		return std::nullopt;
	return value;
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "cli/contents.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma::cli
{

void expect_zero(std::span<const std::byte> data)
{
	/* Large objects in an emulated guest: the C library's loop is much the faster one. */
	if (data.empty() || (data.front() == std::byte{0} &&
			     std::memcmp(data.data(), data.data() + 1, data.size() - 1) == 0))
		return;

	const auto found = std::find_if(data.begin(), data.end(),
					[](std::byte b) { return b != std::byte{0}; });

	throw Error(fmt::format("byte {} of what should be zero is {:#x}", found - data.begin(),
				std::to_integer<unsigned int>(*found)));
}

} // namespace nocma::cli

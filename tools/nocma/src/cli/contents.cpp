// SPDX-License-Identifier: GPL-2.0-only
#include "cli/contents.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma::cli
{

namespace
{

std::uint64_t mark_of(std::size_t offset, std::uint64_t salt)
{
	return (offset + 1) * 0x9e3779b97f4a7c15ULL ^ salt;
}

/* The first and the last word of each page. */
template <typename Byte, typename Visit> void for_each_mark(std::span<Byte> data, Visit visit)
{
	constexpr std::size_t last = page_bytes - sizeof(std::uint64_t);

	for (std::size_t page = 0; page + page_bytes <= data.size(); page += page_bytes)
		for (const std::size_t offset : {page, page + last})
			visit(offset, data.data() + offset);
}

} // namespace

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

void write_pattern(std::span<std::byte> data, std::uint64_t salt)
{
	for_each_mark(data, [salt](std::size_t offset, std::byte *word) {
		const std::uint64_t mark = mark_of(offset, salt);

		std::memcpy(word, &mark, sizeof(mark));
	});
}

void expect_pattern(std::span<const std::byte> data, std::uint64_t salt, std::size_t first)
{
	for_each_mark(data, [salt, first](std::size_t offset, const std::byte *word) {
		const std::uint64_t mark = mark_of(first + offset, salt);
		std::uint64_t value = 0;

		std::memcpy(&value, word, sizeof(value));
		if (value != mark)
			throw Error(fmt::format("byte {}: reads {:#x}, {:#x} was written",
						first + offset, value, mark));
	});
}

} // namespace nocma::cli

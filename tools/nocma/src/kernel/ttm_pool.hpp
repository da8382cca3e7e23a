/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

#include "kernel/parameters.hpp"

namespace nocma
{

/* Pages that TTM's pools keep ("total : N of M" of a page_pool table). Throws on other text. */
std::uint64_t parse_pool_total(std::string_view table);

/*
 * Keeps TTM's pools empty, so that the next populate must ask the page allocator. Sets
 * page_pool_size to 0 for the object's lifetime where the parameter exists; whether the pools
 * are empty is read from their own debugfs table, never concluded from the parameter.
 */
class ColdPool
{
public:
	/* Throws SkipError when the kernel has no such table. */
	explicit ColdPool(const std::filesystem::path &debugfs = "/sys/kernel/debug");

	[[nodiscard]] std::uint64_t pages() const;

	/* Shrinks until the pools are empty; throws Error when they do not get there. */
	void drain() const;

private:
	std::filesystem::path folder_;
	std::unique_ptr<SavedParameter> size_;
};

} // namespace nocma

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

/*
 * Pages that TTM's pools keep: the lines "total : N of M" of a page_pool table, one for each node
 * since v7.0. Throws on text without.
 */
std::uint64_t parse_pool_total(std::string_view table);

/*
 * The same of the tables before v5.11 (ttm_page_pool, ttm_dma_page_pool), a line for each pool:
 * refills, pages freed, the DMA pool's pages in use, pages kept. A 2 MiB page counts as one.
 */
std::uint64_t parse_old_pools(std::string_view table);

/*
 * Keeps TTM's pools empty, so that the next populate must ask the page allocator. Sets
 * page_pool_size to 0 for the object's lifetime where the parameter exists; whether the pools
 * are empty is read from their own debugfs table, never concluded from the parameter.
 */
class ColdPool
{
public:
	/*
	 * Throws SkipError when the kernel has no such table. Before v5.11 the driver has it, and
	 * TTM shrinks its pools only together with all caches of the kernel, by drop_caches.
	 */
	explicit ColdPool(const std::filesystem::path &debugfs = "/sys/kernel/debug",
			  const std::filesystem::path &proc = "/proc");

	[[nodiscard]] std::uint64_t pages() const;

	/* Shrinks until the pools are empty; throws Error when they do not get there. */
	void drain() const;

private:
	void shrink() const;

	bool old_ = false;
	std::filesystem::path table_;
	std::filesystem::path shrinker_;
	std::unique_ptr<SavedParameter> size_;
};

} // namespace nocma

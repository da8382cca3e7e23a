/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nocma
{

/*
 * The traced functions: TTM's pool, the DMA API below it, CMA below that; the page allocator's
 * slow ways, direct compaction and reclaim; the cheap system call that probes are timed with.
 */
enum class Traced : std::uint8_t { ttm, dma, cma, compaction, reclaim, own };

/* One probe hit of our own task. */
struct ProbeHit {
	Traced function;
	bool entry;
	std::chrono::nanoseconds time; /* CLOCK_MONOTONIC */
	/* entry: bytes (dma), pages (cma) or order asked for; return: what came back. */
	std::uint64_t value;
};

/* A call from entry to return. */
struct TracedCall {
	Traced function;
	unsigned int order; /* smallest that holds what was asked for; 0 for ttm, own */
	bool ok;
	bool from_ttm; /* TTM's pool function was on the stack */
	std::chrono::nanoseconds begin;
	std::chrono::nanoseconds end;

	[[nodiscard]] std::chrono::nanoseconds length() const noexcept { return end - begin; }
};

/*
 * Pairs entries and returns. The hits are one task's, in the order of time, and the functions
 * return to their callers, so calls nest: what is entered while TTM's function has not
 * returned was called by it. Throws Error when they do not nest or one is left open, that is
 * when a hit is missing.
 */
std::vector<TracedCall> pair_hits(const std::vector<ProbeHit> &hits);

/* Calls by order and result: {order, ok} -> how many. */
using CallsByOrder = std::map<std::pair<unsigned int, bool>, std::uint64_t>;

CallsByOrder count_by_order(const std::vector<TracedCall> &calls, Traced function);

/* "10:2 4:1", highest order first, failed calls as "9:3!"; "none" without calls. */
std::string format_by_order(const CallsByOrder &calls);

/* Order of the smallest power of two that holds so many pages; 0 pages count as one. */
unsigned int order_of_pages(std::uint64_t pages);

} // namespace nocma

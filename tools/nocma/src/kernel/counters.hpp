/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace nocma
{

/*
 * Named counters as /proc/meminfo and /proc/vmstat have them. A counter that this kernel does
 * not have is not in the map: absent is not zero.
 */
using Counters = std::map<std::string, std::uint64_t, std::less<>>;

/* "Name: value kB" lines; values in bytes when a unit follows, bare otherwise. */
Counters parse_meminfo(std::string_view text);

/* "name value" lines. */
Counters parse_vmstat(std::string_view text);

/* Per-CPU differences are folded in first (vm.stat_refresh), where we may write it. */
Counters read_meminfo(const std::filesystem::path &proc = "/proc");
Counters read_vmstat(const std::filesystem::path &proc = "/proc");

/*
 * Free pages that CPUs keep for themselves, over all zones of /proc/zoneinfo's text: they count
 * as free neither in MemFree nor in CmaFree.
 */
std::uint64_t parse_per_cpu_pages(std::string_view zoneinfo);

std::optional<std::uint64_t> find_counter(const Counters &counters, std::string_view name);

/* after - before for the counters that both have; an interval may run backwards (nr_*). */
std::map<std::string, std::int64_t, std::less<>> counter_deltas(const Counters &before,
								const Counters &after);

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "kernel/counters.hpp"

namespace nocma
{

/* One area as CONFIG_CMA_DEBUGFS shows it; everything in pages. */
struct CmaArea {
	std::string name;
	std::uint64_t base_pfn = 0;
	std::uint64_t count = 0;
	std::uint64_t used = 0;
	std::uint64_t maxchunk = 0; /* longest free run */

	[[nodiscard]] bool contains(std::uint64_t pfn) const noexcept
	{
		return pfn >= base_pfn && pfn - base_pfn < count;
	}
};

/*
 * What the kernel says about contiguous memory. `total` is nothing without CONFIG_CMA and 0
 * when no area was set up; `areas` is nothing without CONFIG_CMA_DEBUGFS.
 */
struct CmaState {
	std::optional<std::uint64_t> total_bytes;
	std::optional<std::uint64_t> free_bytes;
	std::optional<std::vector<CmaArea>> areas;

	[[nodiscard]] bool present() const noexcept { return total_bytes.value_or(0) != 0; }
};

/* Areas under <debugfs>/cma in the order of their names, or nothing if that is missing. */
std::optional<std::vector<CmaArea>>
read_cma_areas(const std::filesystem::path &debugfs = "/sys/kernel/debug");

CmaState read_cma_state(const std::filesystem::path &proc = "/proc",
			const std::filesystem::path &debugfs = "/sys/kernel/debug");

/* Why nothing can be said about CMA on this machine, or nothing when there is an area. */
std::optional<std::string> why_no_cma(const CmaState &state);

} // namespace nocma

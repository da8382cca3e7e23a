/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "drm/device.hpp"

namespace nocma::cli
{

/* Counted in processes that may end at any time. */
struct MappingCounts {
	std::atomic<std::uint32_t> mapped{0};
	std::atomic<std::uint32_t> refused{0};
	std::atomic<std::uint32_t> touched{0};
};

/*
 * Maps the device at random places, or at one of `offsets`, touches, changes and unmaps what it
 * got. May well be ended by SIGBUS or SIGSEGV: to be called in a process of its own. Throws Error
 * when a mapping is refused with an error that mmap(2) of a DRM device does not know.
 */
void random_mappings(const DrmDevice &device, std::span<const std::uint64_t> offsets,
		     unsigned int seed, MappingCounts &counts);

} // namespace nocma::cli

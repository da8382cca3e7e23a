/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstdint>

#include "report/walk_result.hpp"

namespace nocma::cli
{

constexpr std::uint64_t usual_walk = 64 << 20;

struct WalkOptions {
	std::uint64_t object_bytes = usual_walk; /* a multiple of 2 MiB */
	std::uint64_t walks = 0;		 /* at most, of each kind */
	std::chrono::duration<double>
		duration{}; /* at most, of each kind; one walk is always made */
};

/*
 * The CPU walks over an object of i915's with huge pages and over one without, in strides of 4 KiB
 * and of 2 MiB. Huge pages are denied to all of tmpfs while this lasts. Throws SkipError where i915
 * has none to compare with.
 */
WalkResult walk_objects(const WalkOptions &options);

} // namespace nocma::cli

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "drm/device.hpp"
#include "drm/vttm.hpp"
#include "kernel/cma.hpp"
#include "report/ktap.hpp"

namespace nocma::cli
{

/* As read_cma_areas() gives them. */
using Areas = std::optional<std::vector<CmaArea>>;

/* Number of chunks by order. */
using ChunkOrders = std::array<std::uint32_t, DRM_VTTM_ORDERS>;

/* The chunks that lie in a contiguous memory area, by order. */
ChunkOrders chunks_in_cma(const Areas &areas, const VttmLayout &layout);

std::uint64_t pages_of(const VttmLayout &layout);

/*
 * Throws Error unless the chunks are the object of `bytes`, no more and no less, and a device with
 * a mask of `dma_bits` can reach them; SkipError when it may not see addresses.
 */
void expect_layout(const VttmLayout &layout, std::uint64_t bytes, unsigned int dma_bits);

/*
 * Tells the orders and throws Error if a chunk is in an area: without the flag some are. SkipError
 * when there is no area.
 */
void expect_none_in_cma(KtapWriter &ktap, const CmaState &cma, const ChunkOrders &in_cma);

/* Throws Error if an area has more or fewer pages in use. */
void expect_areas_as_before(const Areas &before);

/* Throws Error unless the object's device says that it was removed. */
void expect_gone(const VttmObject &object);

/* Waits a moment for the last objects and pages to go; throws Error if they do not. */
void expect_no_leak(const DrmDevice &device);

} // namespace nocma::cli

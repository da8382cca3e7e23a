/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "drm/backend.hpp"
#include "drm/buffer_object.hpp"
#include "drm/device.hpp"
#include "kernel/activity.hpp"
#include "kernel/allocation_trace.hpp"
#include "kernel/ttm_pool.hpp"

namespace nocma
{

/* How much of an object's memory TTM got from where, by the calls of its populate. */
enum class PagesFrom : std::uint8_t {
	dma_api,   /* all of it, through dma_alloc_attrs() */
	elsewhere, /* none of it through the DMA API: the device's pool does not use it */
	mixed,	   /* a part of it was in the pool already */
};

/* Calls with dma_alloc_attrs() among them, of a populate of so many bytes. */
PagesFrom pages_from(const std::vector<TracedCall> &calls, std::uint64_t bytes);

/* Throws Error unless the calls hold exactly one successful call of TTM's function. */
void expect_one_populate(const std::vector<TracedCall> &calls, std::uint64_t bytes);

/* cma_alloc() calls made by TTM among them. */
std::vector<TracedCall> cma_calls_of_ttm(const std::vector<TracedCall> &calls);

/* A populate and what the kernel did for it. */
struct Populate {
	BufferObject object;
	Interval time;
	std::vector<TracedCall> calls;
};

/*
 * All it takes to populate objects from a cold pool and to see where the pages come from. The
 * parts are made in this order, each throws SkipError with what is missing.
 */
class PopulateRig
{
public:
	explicit PopulateRig(std::string_view backend);

	[[nodiscard]] const DrmDevice &device() const noexcept { return device_; }
	[[nodiscard]] const ColdPool &pool() const noexcept { return pool_; }
	[[nodiscard]] AllocationTrace &trace() noexcept { return trace_; }

	/*
	 * One object, populated from an empty pool by one call of TTM's function. With `dma` its
	 * dma_alloc_attrs() calls are traced too, and everything not wholly from the DMA API is
	 * refused: SkipError when the device's pool does not use it, Error when the pool was not
	 * cold.
	 */
	Populate populate(std::uint64_t bytes, bool dma);

	/* As populate(), with everything traced that tells where the time goes. */
	Populate populate_in_detail(std::uint64_t bytes);

	/* Populates an object and frees it: its pages stay in the pool if page_pool_size allows. */
	void warm_up(std::uint64_t bytes) const;

	/* One object, populated from whatever the pool holds. */
	Populate populate_warm(std::uint64_t bytes);

	/* The same in detail; Error when the DMA API was asked, so that the pool was not warm. */
	Populate populate_warm_in_detail(std::uint64_t bytes);

	/* Median time of a sample whose page is there: clock, system call, no fault. */
	[[nodiscard]] Nanoseconds timing_cost() const;

private:
	Populate populate_traced(BufferObject object, std::uint64_t bytes);

	std::unique_ptr<Backend> backend_;
	DrmDevice device_;
	ColdPool pool_;
	AllocationTrace trace_;
	Toucher toucher_;
};

} // namespace nocma

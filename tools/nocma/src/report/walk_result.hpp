/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kernel/machine.hpp"
#include "stats/histogram.hpp"

namespace nocma
{

/* Version of the JSON of `nocma bench --backend i915`; see Documentation/dev-tools/nocma-bench.rst.
 */
constexpr std::string_view walk_schema = "nocma-walk";
constexpr int walk_schema_version = 1;

/*
 * Where in the page at `offset` a walk loads from. Not always the same place: all of these would
 * fall into the same few sets of the CPU's caches.
 */
constexpr std::uint64_t place_in_page(std::uint64_t offset)
{
	constexpr std::uint64_t line = 64;
	constexpr std::uint64_t lines = 4096 / line;

	return (offset / 4096 + offset / (2 << 20)) % lines * line;
}

/*
 * Calls visit(offset) once for each 4 KiB page: in steps of `stride`, then from the next page on
 * again. `bytes` is a multiple of `stride`, that one of 4 KiB.
 */
template <typename Visit> void visit_pages(std::uint64_t bytes, std::uint64_t stride, Visit visit)
{
	for (std::uint64_t start = 0; start < stride; start += 4096)
		for (std::uint64_t offset = start; offset < bytes; offset += stride)
			visit(offset + place_in_page(offset));
}

/* What one kind of walk over one kind of object took. */
struct WalkCase {
	bool huge = false;			 /* the object's pages */
	std::uint64_t mapped = 0;		 /* bytes of it mapped by huge page-table entries */
	std::uint64_t stride = 0;		 /* bytes */
	Histogram walk_ns;			 /* one value a walk */
	std::optional<std::uint64_t> tlb_misses; /* of all walks; loads, as the CPU counts them */
};

struct WalkResult {
	std::string label;
	Machine machine;
	std::uint64_t clock_step_ns = 0;
	std::string device_driver;
	std::string device_version;
	std::uint64_t object_bytes = 0;
	std::string tlb_problem; /* why misses are not counted */
	std::vector<WalkCase> cases;

	/* Loads of one walk: one a page. */
	[[nodiscard]] std::uint64_t accesses() const noexcept { return object_bytes / 4096; }

	/* An emulated or virtual CPU has other TLBs and other clocks. */
	[[nodiscard]] bool times_mean_something() const { return machine.accelerator == "none"; }
};

nlohmann::json to_json(const WalkResult &result);

/* Lines for a person. */
std::string describe(const WalkResult &result);

} // namespace nocma

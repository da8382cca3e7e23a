/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "kernel/activity.hpp"
#include "kernel/cma.hpp"
#include "kernel/machine.hpp"
#include "pressure/pressure.hpp"
#include "stats/histogram.hpp"

namespace nocma
{

/* Version of the JSON of `nocma bench`; see Documentation/dev-tools/nocma-bench.rst. */
constexpr std::string_view bench_schema = "nocma-bench";
constexpr int bench_schema_version = 2;

/* What is measured by itself: populates of one size, under one pressure, from one kind of pool. */
struct CaseKey {
	std::string mode;
	std::uint64_t object_bytes = 0;
	bool warm = false;    /* TTM's pool holds the pages already */
	bool exhaust = false; /* objects are held until memory has run out */

	bool operator==(const CaseKey &) const = default;
};

/* "movable, 4 MiB", "idle, 64 KiB, warm", "idle, 4 MiB, until memory has run out". */
std::string name_of(const CaseKey &key);

/* "4 KiB", "4 MiB", "8294400 B": in the largest unit that divides it. */
std::string format_bytes(std::uint64_t bytes);

/*
 * Parts of the time of populates that were traced in detail, in nanoseconds by name; `populates`
 * of them took `total`. A part that this kernel cannot tell is not there, and is in another.
 */
struct TimeSplit {
	std::uint64_t populates = 0;
	std::uint64_t total = 0;
	std::map<std::string, std::uint64_t, std::less<>> parts;

	void add(const TimeSplit &other);
};

/* Names of the parts, in the order from what the series removes to what remains. */
constexpr std::array<std::string_view, 5> time_parts = {"cma_alloc", "compaction", "reclaim",
							"clearing", "rest"};

/*
 * The split of one populate that was traced with every probe. A call counts for the outermost of
 * cma_alloc, compaction and reclaim that it is in; what dma_alloc_attrs() spends in none of them
 * is `clearing`, which the short way through the page allocator is part of.
 */
TimeSplit split_time(const std::vector<TracedCall> &calls, std::chrono::nanoseconds populate,
		     const std::set<Traced> &traced);

/* How much memory objects got until none was left. Sums over so many runs; 0 where not asked for.
 */
struct Exhaustion {
	std::uint64_t runs = 0;
	std::uint64_t available_bytes = 0;  /* MemAvailable before the first object */
	std::uint64_t got_bytes = 0;	    /* of objects before the one that found no memory */
	std::uint64_t unused_cma_bytes = 0; /* free in the area when nothing else was */
	std::uint64_t kills = 0; /* runs that the out-of-memory killer ended; the others: -ENOMEM */

	void add(const Exhaustion &other) noexcept;
};

/* What was measured in one case. Times in nanoseconds. */
struct CaseResult {
	CaseKey key;
	Effect effect; /* as of the last time the mode was brought about */
	std::uint64_t rounds = 0;
	std::uint64_t failed = 0; /* populates for which TTM found no pages */
	Histogram populate;
	Histogram cma_alloc;	/* each call by TTM within a populate that is in `populate` */
	CallsByOrder cma_calls; /* those calls by order and result */
	TimeSplit split;	/* of populates that are not in `populate` */
	std::uint64_t traced_calls = 0; /* calls that probes saw in `populate` */
	std::map<std::string, std::int64_t, std::less<>> vmstat;
	Exhaustion exhaustion;
};

/* What the measuring itself costs, in nanoseconds. */
struct Overhead {
	std::uint64_t timing_ns = 0;	  /* median of a sample whose page is there already */
	std::uint64_t traced_call_ns = 0; /* mean of one probed call, entry and return */
};

struct BenchResult {
	std::string label;
	std::uint64_t seed = 0;
	std::uint64_t most_samples = 0; /* of a case, as asked for */
	double duration_seconds = 0;
	Machine machine;
	std::uint64_t clock_step_ns = 0; /* smallest step seen of CLOCK_MONOTONIC */
	std::string device_driver;
	std::string device_version;
	std::string device_node;
	std::string ttm_function;
	std::map<std::string, std::string> ttm_parameters;
	Overhead overhead;
	CmaState cma_before;
	CmaState cma_after;
	std::vector<CaseResult> cases;
};

nlohmann::json to_json(const BenchResult &result);

/* The members "kernel" and "machine" of any benchmark's JSON. */
nlohmann::json kernel_to_json(const Machine &machine);
nlohmann::json machine_to_json(const Machine &machine, std::uint64_t clock_step_ns);

/*
 * What `nocma report` needs of it. `file` names the input in errors: not JSON, another schema or
 * version, a member missing or of the wrong type.
 */
BenchResult parse_bench_result(std::string_view text, std::string_view file);

/* Adds up counts and bins of a run of the same label under the same conditions. */
void merge(CaseResult &into, const CaseResult &from);

/* Share of the time in `populate` that was spent on measuring it. */
double overhead_share(const CaseResult &result, const Overhead &overhead);

} // namespace nocma

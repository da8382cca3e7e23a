/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <map>
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
constexpr int bench_schema_version = 1;

/* What was measured under one pressure mode. Times in nanoseconds. */
struct ModeResult {
	std::string name;
	Effect effect; /* as of the last time the mode was brought about */
	std::uint64_t rounds = 0;
	std::uint64_t failed = 0; /* populates for which TTM found no pages */
	Histogram populate;
	Histogram cma_alloc;	/* each call by TTM within a populate that is in `populate` */
	CallsByOrder cma_calls; /* those calls by order and result */
	std::map<std::string, std::int64_t, std::less<>> vmstat;
};

struct BenchResult {
	std::string label;
	std::uint64_t seed = 0;
	Machine machine;
	std::uint64_t clock_step_ns = 0; /* smallest step seen of CLOCK_MONOTONIC */
	std::string device_driver;
	std::string device_version;
	std::string device_node;
	std::string ttm_function;
	std::map<std::string, std::string> ttm_parameters;
	std::uint64_t object_bytes = 0;
	CmaState cma_before;
	CmaState cma_after;
	std::vector<ModeResult> modes;
};

nlohmann::json to_json(const BenchResult &result);

/*
 * What `nocma report` needs of it. `file` names the input in errors: not JSON, another schema or
 * version, a member missing or of the wrong type.
 */
BenchResult parse_bench_result(std::string_view text, std::string_view file);

/* Adds up counts and bins of a run of the same label under the same conditions. */
void merge(ModeResult &into, const ModeResult &from);

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "report/walk_result.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "report/bench_result.hpp"

namespace nocma
{

using nlohmann::json;

namespace
{

json case_to_json(const WalkCase &one)
{
	json misses = nullptr;

	if (one.tlb_misses)
		misses = *one.tlb_misses;
	return {{"pages", one.huge ? "huge" : "small"},
		{"mapped_huge_bytes", one.mapped},
		{"stride_bytes", one.stride},
		{"walk_ns", one.walk_ns.to_json()},
		{"dtlb_load_misses", std::move(misses)}};
}

double per_access(const WalkResult &result, std::uint64_t value, std::uint64_t walks)
{
	return static_cast<double>(value) / static_cast<double>(walks * result.accesses());
}

std::string describe(const WalkResult &result, const WalkCase &one)
{
	std::string text = fmt::format(
		"{} pages, {} strides: {} walks, {:.2f} ns an access (median), {:.2f} ns (p99)",
		one.huge ? "huge" : "small", format_bytes(one.stride), one.walk_ns.count(),
		per_access(result, one.walk_ns.percentile(50), 1),
		per_access(result, one.walk_ns.percentile(99), 1));

	if (one.tlb_misses)
		text += fmt::format(", {:.4f} dTLB load misses",
				    per_access(result, *one.tlb_misses, one.walk_ns.count()));
	return text + "\n";
}

} // namespace

json to_json(const WalkResult &result)
{
	json cases = json::array();

	for (const WalkCase &one : result.cases)
		cases.push_back(case_to_json(one));
	return {{"schema", walk_schema},
		{"version", walk_schema_version},
		{"nocma_version", NOCMA_VERSION},
		{"label", result.label},
		{"kernel", kernel_to_json(result.machine)},
		{"machine", machine_to_json(result.machine, result.clock_step_ns)},
		{"times_mean_something", result.times_mean_something()},
		{"device", {{"driver", result.device_driver}, {"version", result.device_version}}},
		{"object_bytes", result.object_bytes},
		{"accesses_per_walk", result.accesses()},
		{"cases", std::move(cases)}};
}

std::string describe(const WalkResult &result)
{
	std::string text;

	for (const WalkCase &one : result.cases)
		text += describe(result, one);
	if (!result.tlb_problem.empty())
		text += fmt::format("no dTLB events: {}\n", result.tlb_problem);
	if (!result.times_mean_something())
		text += fmt::format("this is a guest ({}): its times mean nothing\n",
				    result.machine.accelerator);
	return text;
}

} // namespace nocma

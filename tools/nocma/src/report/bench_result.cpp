// SPDX-License-Identifier: GPL-2.0-only
#include "report/bench_result.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/error.hpp"

namespace nocma
{

namespace
{

using nlohmann::json;

/* Absent is null, never 0. */
template <typename T> json optional_json(const std::optional<T> &value)
{
	return value ? json(*value) : json(nullptr);
}

json cma_to_json(const CmaState &state)
{
	json areas = nullptr;

	if (state.areas) {
		areas = json::array();
		for (const CmaArea &area : *state.areas)
			areas.push_back({{"name", area.name},
					 {"base_pfn", area.base_pfn},
					 {"count_pages", area.count},
					 {"used_pages", area.used},
					 {"maxchunk_pages", area.maxchunk}});
	}
	return {{"total_bytes", optional_json(state.total_bytes)},
		{"free_bytes", optional_json(state.free_bytes)},
		{"areas", std::move(areas)}};
}

json calls_to_json(const CallsByOrder &calls)
{
	json list = json::array();

	for (const auto &[key, count] : calls)
		list.push_back({{"order", key.first}, {"ok", key.second}, {"count", count}});
	return list;
}

json mode_to_json(const ModeResult &mode)
{
	const std::uint64_t total = mode.populate.sum();

	return {{"name", mode.name},
		{"effect",
		 {{"asserted", mode.effect.asserted},
		  {"text", mode.effect.text},
		  {"values", mode.effect.values}}},
		{"rounds", mode.rounds},
		{"failed_populates", mode.failed},
		{"populate_ns", mode.populate.to_json()},
		{"cma_alloc_ns", mode.cma_alloc.to_json()},
		{"cma_alloc_share", total == 0 ? 0.0
					       : static_cast<double>(mode.cma_alloc.sum()) /
							 static_cast<double>(total)},
		{"cma_alloc_calls", calls_to_json(mode.cma_calls)},
		{"vmstat", mode.vmstat}};
}

ModeResult mode_from_json(const json &mode)
{
	ModeResult result{.name = mode.at("name"),
			  .effect = {.asserted = mode.at("effect").at("asserted"),
				     .text = mode.at("effect").at("text"),
				     .values = mode.at("effect").at("values")},
			  .rounds = mode.at("rounds"),
			  .failed = mode.at("failed_populates"),
			  .populate = Histogram::from_json(mode.at("populate_ns")),
			  .cma_alloc = Histogram::from_json(mode.at("cma_alloc_ns")),
			  .cma_calls = {},
			  .vmstat = mode.at("vmstat")};

	for (const json &calls : mode.at("cma_alloc_calls"))
		result.cma_calls[{calls.at("order"), calls.at("ok")}] +=
			calls.at("count").get<std::uint64_t>();
	return result;
}

BenchResult result_from_json(const json &document)
{
	const json &kernel = document.at("kernel");
	BenchResult result;

	result.label = document.at("label");
	result.seed = document.at("seed");
	result.machine.kernel_release = kernel.at("release");
	result.machine.kernel_version = kernel.at("version");
	result.machine.architecture = kernel.at("architecture");
	result.machine.command_line = kernel.at("command_line");
	result.machine.config_hash = kernel.at("config_hash");
	result.machine.accelerator = document.at("machine").at("accelerator");
	result.machine.cpus = document.at("machine").at("cpus");
	result.machine.memory_bytes = document.at("machine").at("memory_bytes");
	result.clock_step_ns = document.at("machine").at("clock_step_ns");
	result.object_bytes = document.at("object_bytes");
	for (const json &mode : document.at("modes"))
		result.modes.push_back(mode_from_json(mode));
	return result;
}

} // namespace

json to_json(const BenchResult &result)
{
	json modes = json::array();

	for (const ModeResult &mode : result.modes)
		modes.push_back(mode_to_json(mode));
	return {{"schema", bench_schema},
		{"version", bench_schema_version},
		{"nocma_version", NOCMA_VERSION},
		{"label", result.label},
		{"seed", result.seed},
		{"kernel",
		 {{"release", result.machine.kernel_release},
		  {"version", result.machine.kernel_version},
		  {"architecture", result.machine.architecture},
		  {"command_line", result.machine.command_line},
		  {"config_hash", result.machine.config_hash}}},
		{"machine",
		 {{"accelerator", result.machine.accelerator},
		  {"cpus", result.machine.cpus},
		  {"memory_bytes", result.machine.memory_bytes},
		  {"clock_step_ns", result.clock_step_ns}}},
		{"device",
		 {{"driver", result.device_driver},
		  {"version", result.device_version},
		  {"node", result.device_node}}},
		{"ttm", {{"function", result.ttm_function}, {"parameters", result.ttm_parameters}}},
		{"object_bytes", result.object_bytes},
		{"cma",
		 {{"before", cma_to_json(result.cma_before)},
		  {"after", cma_to_json(result.cma_after)}}},
		{"modes", std::move(modes)}};
}

BenchResult parse_bench_result(std::string_view text, std::string_view file)
{
	const json document = json::parse(text, nullptr, false);

	if (document.is_discarded() || !document.is_object())
		throw Error(fmt::format("{}: not a JSON object (cut off?)", file));
	const std::string schema = document.value("schema", json()).dump();
	const std::string version = document.value("version", json()).dump();
	if (schema != json(bench_schema).dump() || version != json(bench_schema_version).dump())
		throw Error(fmt::format("{}: schema {} version {}, this nocma reads \"{}\" version "
					"{}: measure again with it",
					file, schema, version, bench_schema, bench_schema_version));
	try {
		return result_from_json(document);
	} catch (const json::exception &error) {
		throw Error(fmt::format("{}: {}", file, error.what()));
	} catch (const Error &error) {
		throw Error(fmt::format("{}: {}", file, error.what()));
	}
}

void merge(ModeResult &into, const ModeResult &from)
{
	into.rounds += from.rounds;
	into.failed += from.failed;
	into.populate.merge(from.populate);
	into.cma_alloc.merge(from.cma_alloc);
	for (const auto &[key, count] : from.cma_calls)
		into.cma_calls[key] += count;
	for (const auto &[name, delta] : from.vmstat)
		into.vmstat[name] += delta;
}

} // namespace nocma

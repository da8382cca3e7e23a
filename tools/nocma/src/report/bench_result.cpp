// SPDX-License-Identifier: GPL-2.0-only
#include "report/bench_result.hpp"

#include <algorithm>

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

/* Null when no populate was traced in detail. */
json split_to_json(const TimeSplit &split)
{
	if (split.populates == 0)
		return nullptr;
	return {{"populates", split.populates}, {"total", split.total}, {"parts", split.parts}};
}

TimeSplit split_from_json(const json &split)
{
	if (split.is_null())
		return {};
	return {.populates = split.at("populates"),
		.total = split.at("total"),
		.parts = split.at("parts")};
}

/* Null when memory was not to run out. */
json exhaustion_to_json(const Exhaustion &exhaustion)
{
	if (exhaustion.runs == 0)
		return nullptr;
	return {{"runs", exhaustion.runs},
		{"available_bytes", exhaustion.available_bytes},
		{"got_bytes", exhaustion.got_bytes},
		{"unused_cma_bytes", exhaustion.unused_cma_bytes},
		{"kills", exhaustion.kills}};
}

Exhaustion exhaustion_from_json(const json &exhaustion)
{
	if (exhaustion.is_null())
		return {};
	return {.runs = exhaustion.at("runs"),
		.available_bytes = exhaustion.at("available_bytes"),
		.got_bytes = exhaustion.at("got_bytes"),
		.unused_cma_bytes = exhaustion.at("unused_cma_bytes"),
		.kills = exhaustion.at("kills")};
}

json case_to_json(const CaseResult &one, const Overhead &overhead)
{
	const std::uint64_t total = one.populate.sum();

	return {{"mode", one.key.mode},
		{"object_bytes", one.key.object_bytes},
		{"pool", one.key.warm ? "warm" : "cold"},
		{"effect",
		 {{"asserted", one.effect.asserted},
		  {"text", one.effect.text},
		  {"values", one.effect.values}}},
		{"rounds", one.rounds},
		{"failed_populates", one.failed},
		{"populate_ns", one.populate.to_json()},
		{"cma_alloc_ns", one.cma_alloc.to_json()},
		{"cma_alloc_share", total == 0 ? 0.0
					       : static_cast<double>(one.cma_alloc.sum()) /
							 static_cast<double>(total)},
		{"cma_alloc_calls", calls_to_json(one.cma_calls)},
		{"split_ns", split_to_json(one.split)},
		{"traced_calls", one.traced_calls},
		{"overhead_share", overhead_share(one, overhead)},
		{"vmstat", one.vmstat},
		{"exhaustion", exhaustion_to_json(one.exhaustion)}};
}

CaseResult case_from_json(const json &mode)
{
	CaseResult result{
		.key = {.mode = mode.at("mode"),
			.object_bytes = mode.at("object_bytes"),
			.warm = mode.at("pool") == "warm",
			.exhaust = mode.contains("exhaustion") && !mode.at("exhaustion").is_null()},
		.effect = {.asserted = mode.at("effect").at("asserted"),
			   .text = mode.at("effect").at("text"),
			   .values = mode.at("effect").at("values")},
		.rounds = mode.at("rounds"),
		.failed = mode.at("failed_populates"),
		.populate = Histogram::from_json(mode.at("populate_ns")),
		.cma_alloc = Histogram::from_json(mode.at("cma_alloc_ns")),
		.cma_calls = {},
		.split = split_from_json(mode.at("split_ns")),
		.traced_calls = mode.at("traced_calls"),
		.vmstat = mode.at("vmstat"),
		.exhaustion = exhaustion_from_json(mode.value("exhaustion", json(nullptr)))};

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
	result.device_driver = document.at("device").at("driver");
	result.device_version = document.at("device").at("version");
	result.ttm_function = document.at("ttm").at("function");
	result.ttm_parameters = document.at("ttm").at("parameters");
	result.overhead.timing_ns = document.at("overhead").at("timing_ns");
	result.overhead.traced_call_ns = document.at("overhead").at("traced_call_ns");
	for (const json &one : document.at("cases"))
		result.cases.push_back(case_from_json(one));
	return result;
}

/* Sum of the outermost of these calls, those inside of `without` not counted. */
std::uint64_t outermost(const std::vector<TracedCall> &calls, Traced function,
			const std::set<Traced> &without)
{
	std::chrono::nanoseconds sum{};
	std::chrono::nanoseconds covered{}; /* until when something counted already goes on */

	for (const TracedCall &call : calls) {
		if (call.begin < covered)
			continue;
		if (call.function == function)
			sum += call.length();
		if (call.function == function || without.contains(call.function))
			covered = call.end;
	}
	return static_cast<std::uint64_t>(sum.count());
}

} // namespace

std::string format_bytes(std::uint64_t bytes)
{
	constexpr std::uint64_t kib = 1024;

	if (bytes % (kib * kib) == 0)
		return fmt::format("{} MiB", bytes / (kib * kib));
	if (bytes % kib == 0)
		return fmt::format("{} KiB", bytes / kib);
	return fmt::format("{} B", bytes);
}

std::string name_of(const CaseKey &key)
{
	return fmt::format("{}, {}{}{}", key.mode, format_bytes(key.object_bytes),
			   key.warm ? ", warm" : "",
			   key.exhaust ? ", until memory has run out" : "");
}

void TimeSplit::add(const TimeSplit &other)
{
	populates += other.populates;
	total += other.total;
	for (const auto &[name, time] : other.parts)
		parts[name] += time;
}

void Exhaustion::add(const Exhaustion &other) noexcept
{
	runs += other.runs;
	available_bytes += other.available_bytes;
	got_bytes += other.got_bytes;
	unused_cma_bytes += other.unused_cma_bytes;
	kills += other.kills;
}

TimeSplit split_time(const std::vector<TracedCall> &calls, std::chrono::nanoseconds populate,
		     const std::set<Traced> &traced)
{
	const std::set<Traced> slow = {Traced::cma, Traced::compaction, Traced::reclaim};
	const std::map<Traced, std::string> names = {{Traced::cma, "cma_alloc"},
						     {Traced::compaction, "compaction"},
						     {Traced::reclaim, "reclaim"}};
	TimeSplit split{
		.populates = 1, .total = static_cast<std::uint64_t>(populate.count()), .parts = {}};
	std::uint64_t told = 0;

	for (const auto &[function, name] : names) {
		if (!traced.contains(function))
			continue;
		split.parts[name] = outermost(calls, function, slow);
		told += split.parts[name];
	}
	if (traced.contains(Traced::dma)) {
		std::vector<TracedCall> inside;

		for (const TracedCall &call : calls)
			if (slow.contains(call.function) &&
			    std::any_of(calls.begin(), calls.end(), [&](const TracedCall &dma) {
				    return dma.function == Traced::dma && dma.begin <= call.begin &&
					   call.end <= dma.end;
			    }))
				inside.push_back(call);
		std::uint64_t clearing = outermost(calls, Traced::dma, {});
		for (const Traced function : slow)
			clearing -= outermost(inside, function, slow);
		split.parts["clearing"] = clearing;
		told += clearing;
	}
	split.parts["rest"] = split.total - told;
	return split;
}

double overhead_share(const CaseResult &result, const Overhead &overhead)
{
	const std::uint64_t cost = result.populate.count() * overhead.timing_ns +
				   result.traced_calls * overhead.traced_call_ns;

	return result.populate.sum() == 0
		       ? 0.0
		       : static_cast<double>(cost) / static_cast<double>(result.populate.sum());
}

json kernel_to_json(const Machine &machine)
{
	return {{"release", machine.kernel_release},
		{"version", machine.kernel_version},
		{"architecture", machine.architecture},
		{"command_line", machine.command_line},
		{"config_hash", machine.config_hash}};
}

json machine_to_json(const Machine &machine, std::uint64_t clock_step_ns)
{
	return {{"accelerator", machine.accelerator},
		{"cpus", machine.cpus},
		{"memory_bytes", machine.memory_bytes},
		{"clock_step_ns", clock_step_ns}};
}

json to_json(const BenchResult &result)
{
	json cases = json::array();

	for (const CaseResult &one : result.cases)
		cases.push_back(case_to_json(one, result.overhead));
	return {{"schema", bench_schema},
		{"version", bench_schema_version},
		{"nocma_version", NOCMA_VERSION},
		{"label", result.label},
		{"seed", result.seed},
		{"samples", result.most_samples},
		{"duration_s", result.duration_seconds},
		{"kernel", kernel_to_json(result.machine)},
		{"machine", machine_to_json(result.machine, result.clock_step_ns)},
		{"device",
		 {{"driver", result.device_driver},
		  {"version", result.device_version},
		  {"node", result.device_node}}},
		{"ttm", {{"function", result.ttm_function}, {"parameters", result.ttm_parameters}}},
		{"overhead",
		 {{"timing_ns", result.overhead.timing_ns},
		  {"traced_call_ns", result.overhead.traced_call_ns}}},
		{"cma",
		 {{"before", cma_to_json(result.cma_before)},
		  {"after", cma_to_json(result.cma_after)}}},
		{"cases", std::move(cases)}};
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

void merge(CaseResult &into, const CaseResult &from)
{
	into.rounds += from.rounds;
	into.failed += from.failed;
	into.populate.merge(from.populate);
	into.cma_alloc.merge(from.cma_alloc);
	for (const auto &[key, count] : from.cma_calls)
		into.cma_calls[key] += count;
	into.split.add(from.split);
	into.traced_calls += from.traced_calls;
	for (const auto &[name, delta] : from.vmstat)
		into.vmstat[name] += delta;
	into.exhaustion.add(from.exhaustion);
}

} // namespace nocma

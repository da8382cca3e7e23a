// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "cli/walk.hpp"
#include "drm/populate.hpp"
#include "kernel/oom_canary.hpp"
#include "kernel/pagemap.hpp"
#include "kernel/parameters.hpp"
#include "pressure/pressure.hpp"
#include "report/bench_result.hpp"
#include "report/comparison.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/json_text.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::string backend = "radeon";
	std::string label = "unlabelled";
	std::vector<std::string> modes = pressure_modes();
	std::vector<std::string> pools = {"cold"};
	std::vector<std::uint64_t> sizes = {4 << 20};
	std::uint64_t samples = 200;
	double duration = 1.5; /* seconds */
	std::uint64_t seed = 1;
	bool exhaust = false;
	std::string output;
};

/* A page, and what a screen of 4096 x 4096 takes. */
constexpr std::uint64_t smallest_object = 4096;
constexpr std::uint64_t largest_object = 64 << 20;

/* Counters of memory management that tell why a populate took long. */
constexpr std::array<std::string_view, 12> reported_counters = {
	"allocstall_dma32",  "allocstall_movable", "allocstall_normal", "cma_alloc_fail",
	"cma_alloc_success", "compact_fail",	   "compact_stall",	"compact_success",
	"pgmigrate_fail",    "pgmigrate_success",  "pgscan_direct",	"pgscan_kswapd",
};

/*
 * Objects are held until the end of a round, so that each populate has to find new memory and
 * none is given what the one before has cleared. This much of memory at most.
 */
constexpr std::uint64_t held_share = 8;

/* Free memory outside CMA that must stay, for migration and for the page allocator. */
constexpr std::uint64_t reserve_share = 16;

/*
 * What the canary holds when memory is to run out: enough for the populate that has killed it to
 * end, and for us to take note.
 */
constexpr std::uint64_t canary_bytes = 16 << 20;

/* A guest without a calibrated TSC counts jiffies of 10 ms, and calls everything 0 or 10. */
std::uint64_t usable_clock_step()
{
	constexpr std::uint64_t most_ns = 50000;
	const std::uint64_t step = measure_clock_step();

	if (step > most_ns)
		throw Error(
			fmt::format("CLOCK_MONOTONIC advances by {} ns at a time, too coarse to "
				    "time a populate: see /sys/devices/system/clocksource",
				    step));
	return step;
}

std::uint64_t nanoseconds(Nanoseconds time)
{
	return static_cast<std::uint64_t>(time.count());
}

/* Lets TTM's pool keep what is freed, against the 0 that the rig has put there. */
std::unique_ptr<SavedParameter> keep_freed_pages()
{
	const std::filesystem::path file = parameter_file("ttm", "page_pool_size");
	std::error_code missing;

	if (!std::filesystem::exists(file, missing))
		return nullptr;
	return std::make_unique<SavedParameter>(file, "1000000");
}

/*
 * TTM may have half of memory, and swaps objects out beyond that; what is to be seen is the page
 * allocator's limit. Before v5.11 the limits are elsewhere.
 */
std::vector<std::unique_ptr<SavedParameter>> lift_limits()
{
	std::vector<std::unique_ptr<SavedParameter>> limits;

	for (const std::string_view name : {"pages_limit", "dma32_pages_limit"}) {
		const std::filesystem::path file = parameter_file("ttm", name);

		if (!std::filesystem::exists(file))
			throw SkipError(fmt::format("no {}: TTM's own limit cannot be lifted, and "
						    "memory would not run out",
						    file.native()));
		limits.push_back(std::make_unique<SavedParameter>(file, "4294967295"));
	}
	return limits;
}

class CaseRun
{
public:
	CaseRun(PopulateRig &rig, const Options &options, const CaseKey &key)
		: rig_(rig), options_(options), bytes_(key.object_bytes),
		  memory_(find_counter(read_meminfo(), "MemTotal").value_or(0)),
		  budget_(std::chrono::duration_cast<Clock::duration>(
			  std::chrono::duration<double>(options.duration))),
		  kept_(key.warm ? keep_freed_pages() : nullptr),
		  pressure_(make_pressure(key.mode, options.seed))
	{
		result_.key = key;
	}

	CaseResult run()
	{
		const Clock::time_point began = Clock::now();

		do {
			result_.effect = pressure_->apply();
			/* Once per case: the pool is cold and goes through the DMA API. */
			if (result_.rounds++ == 0)
				rig_.populate(bytes_, true);
			if (result_.key.exhaust)
				exhaust_memory();
			else
				measure_round();
		} while (!result_.key.exhaust && wants_samples() && Clock::now() < began + budget_);
		return std::move(result_);
	}

private:
	using Clock = std::chrono::steady_clock;

	[[nodiscard]] bool wants_samples() const
	{
		return result_.populate.count() + result_.failed < options_.samples;
	}

	/* For one more object, with what migration and the page allocator need besides. */
	[[nodiscard]] bool has_memory() const
	{
		const Counters meminfo = parse_meminfo(read_file("/proc/meminfo"));
		const std::uint64_t outside = find_counter(meminfo, "MemFree").value_or(0) -
					      find_counter(meminfo, "CmaFree").value_or(0);

		return outside > memory_ / reserve_share + bytes_;
	}

	[[nodiscard]] bool has_room(std::size_t held) const
	{
		return (held + 1) * bytes_ <= memory_ / held_share && has_memory();
	}

	void measure_round()
	{
		const Clock::time_point deadline = Clock::now() + budget_;
		const Counters before = read_vmstat();
		std::vector<BufferObject> held;

		InterruptGuard::check();
		if (result_.key.warm)
			rig_.warm_up(bytes_);
		/* Not the first one of a round: that finds what little the pressure has left. */
		sample(held);
		if (has_memory())
			split_sample(held);
		while (wants_samples() && has_room(held.size()) && Clock::now() < deadline) {
			InterruptGuard::check();
			sample(held);
		}
		count_events(before);
		held.clear();
		rig_.pool().drain();
	}

	/* Objects are held until there is no memory for another one. */
	void exhaust_memory()
	{
		const std::vector<std::unique_ptr<SavedParameter>> limits = lift_limits();
		const Counters before = read_vmstat();
		Exhaustion &found = result_.exhaustion;
		OomCanary canary(canary_bytes);
		std::vector<BufferObject> held;

		found.runs = 1;
		found.available_bytes = find_counter(read_meminfo(), "MemAvailable").value_or(0);
		while (canary.alive() && result_.failed == 0) {
			InterruptGuard::check();
			sample(held);
		}
		/* The last one is there only because the canary has died for it. */
		found.kills = canary.alive() || held.empty() ? 0 : 1;
		found.got_bytes = (held.size() - found.kills) * bytes_;
		found.unused_cma_bytes = find_counter(read_meminfo(), "CmaFree").value_or(0);
		count_events(before);
		held.clear();
		rig_.pool().drain();
	}

	void count_events(const Counters &before)
	{
		for (const auto &[name, delta] : counter_deltas(before, read_vmstat()))
			if (std::find(reported_counters.begin(), reported_counters.end(), name) !=
			    reported_counters.end())
				result_.vmstat[name] += delta;
	}

	/* What is warm goes back to the pool at once, for the next one to take. */
	void hold(std::vector<BufferObject> &held, BufferObject object) const
	{
		if (!result_.key.warm)
			held.push_back(std::move(object));
	}

	/* More probes than latency is to be measured with tell where the time goes. */
	void split_sample(std::vector<BufferObject> &held)
	{
		try {
			Populate populate = result_.key.warm ? rig_.populate_warm_in_detail(bytes_)
							     : rig_.populate_in_detail(bytes_);

			result_.split.add(split_time(populate.calls, populate.time.length(),
						     rig_.trace().detailed()));
			hold(held, std::move(populate.object));
		} catch (const PopulateFailed &) {
			result_.failed++;
		}
	}

	void sample(std::vector<BufferObject> &held)
	{
		std::optional<Populate> populate;

		try {
			populate.emplace(result_.key.warm ? rig_.populate_warm(bytes_)
							  : rig_.populate(bytes_, false));
		} catch (const PopulateFailed &) {
			result_.failed++;
			return;
		}
		const std::vector<TracedCall> cma = cma_calls_of_ttm(populate->calls);

		result_.populate.add(nanoseconds(populate->time.length()));
		for (const TracedCall &call : cma)
			result_.cma_alloc.add(nanoseconds(call.length()));
		for (const auto &[key, count] : count_by_order(cma, Traced::cma))
			result_.cma_calls[key] += count;
		result_.traced_calls += populate->calls.size();
		hold(held, std::move(populate->object));
	}

	PopulateRig &rig_;
	const Options &options_;
	std::uint64_t bytes_;
	std::uint64_t memory_;
	Clock::duration budget_;
	std::unique_ptr<SavedParameter> kept_;
	std::unique_ptr<Pressure> pressure_;
	CaseResult result_;
};

void write_result(const std::string &output, const std::string &text)
{
	if (output.empty()) {
		fmt::print("{}", text);
		std::fflush(stdout);
	} else {
		write_output(output, text); /* a serial port in a guest */
	}
}

std::vector<CaseKey> list_cases(const Options &options)
{
	std::vector<CaseKey> cases;

	for (const std::string &mode : options.modes)
		for (const std::uint64_t bytes : options.sizes)
			for (const std::string &pool : options.pools)
				cases.push_back({.mode = mode,
						 .object_bytes = bytes,
						 .warm = pool == "warm",
						 .exhaust = options.exhaust});
	return cases;
}

ExitCode bench(const Options &options)
{
	const std::uint64_t clock_step = usable_clock_step();
	const InterruptGuard guard;
	PopulateRig rig(options.backend);
	BenchResult result;

	result.label = options.label;
	result.seed = options.seed;
	result.most_samples = options.samples;
	result.duration_seconds = options.duration;
	result.machine = read_machine();
	result.clock_step_ns = clock_step;
	result.device_driver = rig.device().driver();
	result.device_version = rig.device().version();
	result.device_node = rig.device().path();
	result.ttm_function = rig.trace().ttm_function();
	result.ttm_parameters = read_parameters("ttm");
	result.overhead.timing_ns = nanoseconds(rig.timing_cost());
	result.overhead.traced_call_ns = nanoseconds(rig.trace().measure_cost());
	fmt::print(stderr, "bench: own overhead: {} ns a sample, {} ns a traced call\n",
		   result.overhead.timing_ns, result.overhead.traced_call_ns);
	result.cma_before = read_cma_state();
	for (const CaseKey &key : list_cases(options)) {
		result.cases.push_back(CaseRun(rig, options, key).run());
		const CaseResult &last = result.cases.back();

		fmt::print(stderr,
			   "bench: {}: {}; {} populates in {} rounds, cma_alloc {}, "
			   "own overhead {:.2f} %\n",
			   name_of(key), last.effect.text, last.populate.count(), last.rounds,
			   format_by_order(last.cma_calls),
			   100 * overhead_share(last, result.overhead));
		if (options.exhaust)
			fmt::print(stderr, "bench: {}: {}\n", name_of(key),
				   format_exhaustion(last.exhaustion));
	}
	result.cma_after = read_cma_state();
	write_result(options.output, json_text(to_json(result)) + "\n");
	return ExitCode::pass;
}

/* Its objects live in tmpfs: what is measured is not how they are populated, but the pages. */
ExitCode bench_walks(const Options &options)
{
	const std::uint64_t clock_step = usable_clock_step();
	const InterruptGuard guard;
	WalkResult result =
		walk_objects({.object_bytes = options.sizes.front(),
			      .walks = options.samples,
			      .duration = std::chrono::duration<double>(options.duration)});

	result.label = options.label;
	result.machine = read_machine();
	result.clock_step_ns = clock_step;
	for (const std::string &line : split_lines(describe(result)))
		fmt::print(stderr, "bench: {}\n", line);
	write_result(options.output, json_text(to_json(result)) + "\n");
	return ExitCode::pass;
}

void validate_walks(const Options &options)
{
	constexpr std::uint64_t huge_bytes = 2 << 20;

	if (options.sizes.size() != 1 || options.sizes.front() % huge_bytes != 0)
		throw UsageError(fmt::format("--size {}: with i915 one size, in whole 2M",
					     fmt::join(options.sizes, ",")));
}

void validate(const Options &options)
{
	if (options.exhaust && options.pools != std::vector<std::string>{"cold"})
		throw UsageError("--exhaust: what is in the pool already is no memory got");
	make_backend(options.backend);
	for (const std::string &mode : options.modes)
		if (std::find(pressure_modes().begin(), pressure_modes().end(), mode) ==
		    pressure_modes().end())
			throw UsageError(fmt::format("--mode '{}': not one of {}", mode,
						     fmt::join(pressure_modes(), ", ")));
	for (const std::uint64_t bytes : options.sizes)
		if (bytes < smallest_object || bytes > largest_object)
			throw UsageError(
				fmt::format("--size {}: not from 4K to 64M", format_bytes(bytes)));
}

/* What CLI11 calls back to check a value: why it is wrong, or nothing. */
std::string positive_error(const std::string &text)
{
	double value = 0;

	if (CLI::detail::lexical_cast(text, value) && std::isfinite(value) && value > 0)
		return "";
	return fmt::format("'{}': not a number above 0", text);
}

} // namespace

void add_bench(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"bench", "Measure populates of a TTM device under memory pressure, or walks over "
			 "i915's objects; writes JSON");

	command->add_option("--backend", options->backend,
			    "Driver of the device: " +
				    fmt::format("{}", fmt::join(backend_names(), ", ")));
	command->add_option("--label", options->label,
			    "Which TTM runs: nocma, stock or cma0, for nocma report");
	command->add_option("--mode", options->modes,
			    "idle, movable, pinned, checkerboard; all by default")
		->delimiter(',');
	command->add_option("--pool", options->pools,
			    "TTM's pool is cold (empty, the default) or warm (holds the pages)")
		->delimiter(',')
		->check(CLI::IsMember({"cold", "warm"}));
	command->add_option("--samples", options->samples, "At most so many populates per case")
		->check(positive_error);
	command->add_option("--duration", options->duration,
			    "Seconds per case, setting the mode up not counted")
		->check(positive_error);
	command->add_option("--seed", options->seed, "Decides which pages are pinned");
	command->add_option("--size", options->sizes, "Bytes of an object, 4K to 64M")
		->delimiter(',')
		->transform(CLI::AsSizeValue(false));
	command->add_flag("--exhaust", options->exhaust,
			  "Populate until memory has run out, and say how much there was");
	command->add_option("-o,--output", options->output, "File instead of standard output");
	command->callback([options, command, &result] {
		if (options->backend != "i915") {
			validate(*options);
			result = bench(*options);
			return;
		}
		for (const char *other : {"--mode", "--pool", "--seed"})
			if (command->count(other) != 0)
				throw UsageError(fmt::format("{}: i915 has no such choice", other));
		if (command->count("--size") == 0)
			options->sizes = {usual_walk};
		validate(*options);
		validate_walks(*options);
		result = bench_walks(*options);
	});
}

} // namespace nocma::cli

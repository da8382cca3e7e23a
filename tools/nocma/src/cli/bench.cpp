// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <chrono>
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
#include "drm/populate.hpp"
#include "kernel/pagemap.hpp"
#include "kernel/parameters.hpp"
#include "pressure/pressure.hpp"
#include "report/bench_result.hpp"
#include "report/comparison.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::string backend = "radeon";
	std::string label = "unlabelled";
	std::vector<std::string> modes = pressure_modes();
	std::uint64_t samples = 200;
	double seconds = 1.5;
	std::uint64_t seed = 1;
	std::uint64_t object_bytes = 4 << 20;
	std::string output;
};

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

class ModeRun
{
public:
	ModeRun(PopulateRig &rig, const Options &options, const std::string &mode)
		: rig_(rig), options_(options),
		  memory_(find_counter(read_meminfo(), "MemTotal").value_or(0)),
		  budget_(std::chrono::duration_cast<Clock::duration>(
			  std::chrono::duration<double>(options.seconds))),
		  pressure_(make_pressure(mode, options.seed))
	{
		result_.name = mode;
	}

	ModeResult run()
	{
		const Clock::time_point began = Clock::now();

		do {
			result_.effect = pressure_->apply();
			/* Once per mode: the pool is cold and goes through the DMA API. */
			if (result_.rounds++ == 0)
				rig_.populate(options_.object_bytes, true);
			measure_round();
		} while (wants_samples() && Clock::now() < began + budget_);
		return std::move(result_);
	}

private:
	using Clock = std::chrono::steady_clock;

	[[nodiscard]] bool wants_samples() const
	{
		return result_.populate.count() + result_.failed < options_.samples;
	}

	[[nodiscard]] bool has_room(std::size_t held) const
	{
		const Counters meminfo = parse_meminfo(read_file("/proc/meminfo"));
		const std::uint64_t outside = find_counter(meminfo, "MemFree").value_or(0) -
					      find_counter(meminfo, "CmaFree").value_or(0);

		return (held + 1) * options_.object_bytes <= memory_ / held_share &&
		       outside > memory_ / reserve_share + options_.object_bytes;
	}

	void measure_round()
	{
		const Clock::time_point deadline = Clock::now() + budget_;
		const Counters before = read_vmstat();
		std::vector<BufferObject> held;

		do {
			InterruptGuard::check();
			sample(held);
		} while (wants_samples() && has_room(held.size()) && Clock::now() < deadline);
		for (const auto &[name, delta] : counter_deltas(before, read_vmstat()))
			if (std::find(reported_counters.begin(), reported_counters.end(), name) !=
			    reported_counters.end())
				result_.vmstat[name] += delta;
		held.clear();
		rig_.pool().drain();
	}

	void sample(std::vector<BufferObject> &held)
	{
		std::optional<Populate> populate;

		try {
			populate.emplace(rig_.populate(options_.object_bytes, false));
		} catch (const PopulateFailed &) {
			result_.failed++;
			return;
		}
		const auto nanoseconds = [](Nanoseconds time) {
			return static_cast<std::uint64_t>(time.count());
		};
		const std::vector<TracedCall> cma = cma_calls_of_ttm(populate->calls);

		result_.populate.add(nanoseconds(populate->time.length()));
		for (const TracedCall &call : cma)
			result_.cma_alloc.add(nanoseconds(call.length()));
		for (const auto &[key, count] : count_by_order(cma, Traced::cma))
			result_.cma_calls[key] += count;
		held.push_back(std::move(populate->object));
	}

	PopulateRig &rig_;
	const Options &options_;
	std::uint64_t memory_;
	Clock::duration budget_;
	std::unique_ptr<Pressure> pressure_;
	ModeResult result_;
};

void write_result(const std::string &output, const std::string &text)
{
	std::error_code missing;

	if (output.empty()) {
		fmt::print("{}", text);
		std::fflush(stdout);
	} else if (std::filesystem::exists(output, missing) &&
		   !std::filesystem::is_regular_file(output, missing)) {
		write_existing(output, text); /* a serial port, a pipe */
	} else {
		write_atomic(output, text);
	}
}

ExitCode bench(const Options &options)
{
	const std::uint64_t clock_step = usable_clock_step();
	const InterruptGuard guard;
	PopulateRig rig(options.backend);
	BenchResult result;

	result.label = options.label;
	result.seed = options.seed;
	result.machine = read_machine();
	result.clock_step_ns = clock_step;
	result.device_driver = rig.device().driver();
	result.device_version = rig.device().version();
	result.device_node = rig.device().path();
	result.ttm_function = rig.trace().ttm_function();
	result.ttm_parameters = read_parameters("ttm");
	result.object_bytes = options.object_bytes;
	result.cma_before = read_cma_state();
	for (const std::string &mode : options.modes) {
		result.modes.push_back(ModeRun(rig, options, mode).run());
		const ModeResult &last = result.modes.back();

		fmt::print(stderr, "bench: {}: {}; {} populates in {} rounds, cma_alloc {}\n",
			   last.name, last.effect.text, last.populate.count(), last.rounds,
			   format_by_order(last.cma_calls));
	}
	result.cma_after = read_cma_state();
	write_result(options.output, to_json(result).dump() + "\n");
	return ExitCode::pass;
}

void validate(const Options &options)
{
	make_backend(options.backend);
	for (const std::string &mode : options.modes)
		if (std::find(pressure_modes().begin(), pressure_modes().end(), mode) ==
		    pressure_modes().end())
			throw UsageError(fmt::format("--mode '{}': not one of {}", mode,
						     fmt::join(pressure_modes(), ", ")));
}

} // namespace

void add_bench(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"bench", "Measure populates of a TTM device under memory pressure; writes JSON");

	command->add_option("--backend", options->backend, "Driver of the device (radeon)");
	command->add_option("--label", options->label,
			    "Which TTM runs: nocma, stock or cma0, for nocma report");
	command->add_option("--mode", options->modes,
			    "idle, movable, pinned, checkerboard; all by default")
		->delimiter(',');
	command->add_option("--samples", options->samples, "At most so many populates per mode")
		->check(CLI::PositiveNumber);
	command->add_option("--seconds", options->seconds,
			    "Time per mode, setting the mode up not counted")
		->check(CLI::PositiveNumber);
	command->add_option("--seed", options->seed, "Decides which pages are pinned");
	command->add_option("--size", options->object_bytes, "Bytes of an object")
		->transform(CLI::AsSizeValue(false))
		->check(CLI::PositiveNumber);
	command->add_option("-o,--output", options->output, "File instead of standard output");
	command->callback([options, &result] {
		validate(*options);
		result = bench(*options);
	});
}

} // namespace nocma::cli

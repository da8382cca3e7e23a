// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fnmatch.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "cli/i915_cases.hpp"
#include "cli/igdstub_cases.hpp"
#include "cli/tmpfs_cases.hpp"
#include "cli/vttm_cases.hpp"
#include "doctor/config.hpp"
#include "drm/populate.hpp"
#include "kernel/cma.hpp"
#include "kernel/counters.hpp"
#include "kernel/iommu.hpp"
#include "kernel/machine.hpp"
#include "kernel/pagemap.hpp"
#include "report/ktap.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::string backend = "radeon";
	std::string filter = "*";
	bool list = false;
};

/* A failed expectation of a test, as against an error in the way of testing. */
class Failure : public Error
{
public:
	using Error::Error;
};

/* What the cases share. Made when first needed, so that each case skips for its own reason. */
class Context
{
public:
	Context(std::string backend, KtapWriter &ktap) : backend_(std::move(backend)), ktap_(ktap)
	{
	}

	KtapWriter &ktap() noexcept { return ktap_; }

	PopulateRig &rig()
	{
		if (!rig_)
			rig_.emplace(backend_);
		return *rig_;
	}

	/* No device stays open: a case wants to see its driver go. */
	void close() noexcept { rig_.reset(); }

	/* Only the device, for what needs no trace. */
	[[nodiscard]] std::unique_ptr<Backend> make_backend() const
	{
		return nocma::make_backend(backend_);
	}

private:
	std::string backend_;
	KtapWriter &ktap_;
	std::optional<PopulateRig> rig_;
};

struct Case {
	std::string name;
	std::function<void(Context &)> run;
};

void require_cma(const CmaState &state)
{
	const std::optional<std::string> reason = why_no_cma(state);

	if (reason)
		throw SkipError(*reason);
}

/* One cma_alloc() call that is not TTM's, made by the kernel on our behalf, and undone. */
std::vector<TracedCall> provoke_cma_alloc(AllocationTrace &trace, const CmaArea &area,
					  unsigned int order)
{
	const std::filesystem::path folder =
		std::filesystem::path("/sys/kernel/debug/cma") / area.name;
	const std::string pages = std::to_string(1U << order);

	trace.collect();
	write_existing(folder / "alloc", pages);
	std::vector<TracedCall> calls = trace.collect();
	write_existing(folder / "free", pages);
	return calls;
}

/* Zero events mean something only if the probe fires. */
void expect_working_probe(Context &context)
{
	constexpr unsigned int order = 2;
	const CmaState cma = read_cma_state();
	AllocationTrace &trace = context.rig().trace();

	if (!cma.areas || cma.areas->empty())
		throw SkipError("no /sys/kernel/debug/cma: needs CONFIG_CMA_DEBUGFS and root");
	const std::vector<TracedCall> calls = provoke_cma_alloc(trace, cma.areas->front(), order);
	const CallsByOrder counts = count_by_order(calls, Traced::cma);
	if (counts != CallsByOrder{{{order, true}, 1}})
		throw Failure(fmt::format("expected one cma_alloc of order {}, the trace has: {}",
					  order, format_by_order(counts)));
	if (!cma_calls_of_ttm(calls).empty())
		throw Failure("a call made through debugfs was attributed to TTM");
}

void probe_sees_cma_alloc(Context &context)
{
	require_cma(read_cma_state());
	expect_working_probe(context);
}

/* What must be the same before and after a case. */
struct Balance {
	std::vector<CmaArea> areas;
	std::uint64_t cma_free = 0;
	std::uint64_t memory_free = 0;
	std::uint64_t per_cpu_free = 0; /* in addition; of which area or zone nobody says */
	std::uint64_t pool_pages = 0;
};

Balance take_balance(const ColdPool &pool)
{
	const Counters meminfo = read_meminfo();

	return {.areas = read_cma_areas().value_or(std::vector<CmaArea>{}),
		.cma_free = find_counter(meminfo, "CmaFree").value_or(0),
		.memory_free = find_counter(meminfo, "MemFree").value_or(0),
		.per_cpu_free = parse_per_cpu_pages(read_file("/proc/zoneinfo")) * page_size(),
		.pool_pages = pool.pages()};
}

/*
 * Bytes of free memory that may be missing. KASAN keeps what was freed in a quarantine of at most
 * 1/32 of the memory (QUARANTINE_FRACTION in mm/kasan/quarantine.c).
 */
std::uint64_t memory_slack()
{
	constexpr std::uint64_t usual = 2 << 20;
	const Machine machine = read_machine();
	const auto config = doctor::read_config("/", machine.kernel_release);

	return usual + (config && config->has("CONFIG_KASAN") ? machine.memory_bytes / 32 : 0);
}

/*
 * What is missing after a case, or nothing. Pages that an area has handed out are counted
 * exactly; free memory also moves by what this very process and the kernel allocate meanwhile.
 */
std::optional<std::string> imbalance(const Balance &before, const Balance &after)
{
	const std::uint64_t slack = memory_slack();

	for (std::size_t i = 0; i < before.areas.size() && i < after.areas.size(); i++)
		if (before.areas[i].used != after.areas[i].used)
			return fmt::format("area {}: {} pages used before, {} after",
					   before.areas[i].name, before.areas[i].used,
					   after.areas[i].used);
	if (after.pool_pages != 0)
		return fmt::format("TTM's pool still has {} pages", after.pool_pages);
	if (after.cma_free + after.per_cpu_free + slack < before.cma_free)
		return fmt::format("CmaFree: {} bytes before, {} after and {} with the CPUs",
				   before.cma_free, after.cma_free, after.per_cpu_free);
	if (after.memory_free + after.per_cpu_free + slack <
	    before.memory_free + before.per_cpu_free)
		return fmt::format("free memory: {} bytes before, {} after",
				   before.memory_free + before.per_cpu_free,
				   after.memory_free + after.per_cpu_free);
	return std::nullopt;
}

/* Freeing is partly deferred: look again a few times before calling it a leak. */
void expect_balance(const Balance &before, const ColdPool &pool)
{
	constexpr int most_looks = 50;
	std::optional<std::string> missing;

	for (int looks = 0; looks < most_looks; looks++) {
		pool.drain();
		missing = imbalance(before, take_balance(pool));
		if (!missing)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	throw Failure("not given back: " + *missing);
}

void populate_takes_no_cma(Context &context, std::uint64_t bytes)
{
	require_cma(read_cma_state());
	PopulateRig &rig = context.rig();
	try {
		expect_working_probe(context);
	} catch (const SkipError &reason) {
		context.ktap().diagnostic(fmt::format("probe not checked: {}", reason.what()));
	}
	rig.pool().drain();
	const Balance before = take_balance(rig.pool());
	const Counters vmstat = read_vmstat();
	CallsByOrder dma;
	CallsByOrder cma;

	{
		const Populate populate = rig.populate(bytes, true);

		dma = count_by_order(populate.calls, Traced::dma);
		cma = count_by_order(cma_calls_of_ttm(populate.calls), Traced::cma);
	}
	if (is_translated(rig.device().sysfs_folder()))
		context.ktap().diagnostic(
			fmt::format("translated, IOMMU domain {}",
				    iommu_domain_type(rig.device().sysfs_folder())));
	context.ktap().diagnostic("dma_alloc by order: " + format_by_order(dma));
	context.ktap().diagnostic("cma_alloc by order: " + format_by_order(cma));
	for (const auto &[name, delta] : counter_deltas(vmstat, read_vmstat()))
		if (name.starts_with("cma_alloc_"))
			context.ktap().diagnostic(fmt::format("vmstat {}: {:+}", name, delta));

	expect_balance(before, rig.pool());
	if (!cma.empty())
		throw Failure(
			fmt::format("TTM called cma_alloc, by order: {}", format_by_order(cma)));
}

/* Neither stale data in a new object nor lost data in an old one. */
void contents_zeroed_and_kept(Context &context)
{
	constexpr std::uint64_t bytes = 4 << 20;
	const auto pattern = [](std::size_t i) {
		return static_cast<std::byte>(i * 31 + i / 4093);
	};
	const std::unique_ptr<Backend> backend = context.make_backend();
	const DrmDevice device = DrmDevice::open(backend->driver());
	const Toucher toucher;

	/* The second round gets pages that the first one has dirtied. */
	for (int round = 0; round < 2; round++) {
		const BufferObject object(device, *backend, bytes);
		const std::span<std::byte> data = object.bytes();

		static_cast<void>(object.populate(toucher));
		const auto dirty = std::find_if(data.begin(), data.end(),
						[](std::byte b) { return b != std::byte{0}; });
		if (dirty != data.end())
			throw Failure(fmt::format("round {}: byte {} of a new object is {:#x}",
						  round, dirty - data.begin(),
						  std::to_integer<unsigned int>(*dirty)));
		for (std::size_t i = 0; i < data.size(); i++)
			data[i] = pattern(i);
		for (std::size_t i = 0; i < data.size(); i++)
			if (data[i] != pattern(i))
				throw Failure(fmt::format(
					"round {}: byte {} was written as {:#x}, reads {:#x}",
					round, i, std::to_integer<unsigned int>(pattern(i)),
					std::to_integer<unsigned int>(data[i])));
	}
}

/* Cases of a single back-end: they need nothing of what others share. */
template <typename BackendCase> void append(std::vector<Case> &cases, std::vector<BackendCase> more)
{
	for (BackendCase &test : more)
		cases.push_back(
			{std::move(test.name), [run = std::move(test.run)](Context &context) {
				 context.close();
				 run(context.ktap());
			 }});
}

/* Names are an interface: CI systems know tests by them. */
std::vector<Case> cases_of_ttm()
{
	struct Size {
		const char *name;
		std::uint64_t bytes;
	};
	constexpr std::array<Size, 6> sizes = {{
		{"4KiB", 4096},
		{"64KiB", 65536},
		{"2MiB", 2 << 20},
		{"4MiB", 4 << 20},
		{"8294400B", 8294400}, /* 1920 x 1080 x 4: no power of two */
		{"16MiB", 16 << 20},
	}};
	std::vector<Case> cases = {{"probe-sees-cma-alloc", probe_sees_cma_alloc}};

	for (const Size &size : sizes)
		cases.push_back({fmt::format("populate-{}-takes-no-cma", size.name),
				 [bytes = size.bytes](Context &context) {
					 populate_takes_no_cma(context, bytes);
				 }});
	cases.push_back({"contents-zeroed-and-kept", contents_zeroed_and_kept});
	return cases;
}

/* What is tested without a device of its own, and therefore without a back-end. */
constexpr std::array<std::string_view, 2> without_device = {"tmpfs", "igdstub"};

bool has_backend(const std::string &name)
{
	const std::vector<std::string> names = backend_names();

	return std::find(names.begin(), names.end(), name) != names.end();
}

std::vector<Case> all_cases(const std::string &backend)
{
	std::vector<Case> cases;

	if (backend == "i915")
		append(cases, i915_cases());
	else if (backend == "tmpfs")
		append(cases, tmpfs_cases());
	else if (backend == "igdstub")
		append(cases, igdstub_cases());
	else if (has_backend(backend))
		cases = cases_of_ttm();
	else
		throw UsageError(fmt::format("--backend '{}': not one of {}, {}", backend,
					     fmt::join(backend_names(), ", "),
					     fmt::join(without_device, ", ")));
	if (backend == "vttm")
		append(cases, vttm_cases());
	return cases;
}

void run_case(const Case &test, Context &context)
{
	try {
		test.run(context);
	} catch (const SkipError &reason) {
		context.ktap().skip(reason.what());
		return;
	} catch (const Error &error) {
		context.ktap().fail(error.what());
		return;
	}
	context.ktap().pass();
}

ExitCode test(const Options &options)
{
	std::vector<Case> cases = all_cases(options.backend);
	std::vector<std::string> names;

	std::erase_if(cases, [&](const Case &test) {
		return ::fnmatch(options.filter.c_str(), test.name.c_str(), 0) != 0;
	});
	if (cases.empty())
		throw UsageError(
			fmt::format("--filter '{}': matches no test, see --list", options.filter));
	for (const Case &test : cases)
		names.push_back(test.name);
	if (options.list) {
		fmt::print("{}\n", fmt::join(names, "\n"));
		return ExitCode::pass;
	}

	const InterruptGuard guard;
	KtapWriter ktap(stdout, names);
	Context context(options.backend, ktap);
	for (const Case &test : cases) {
		InterruptGuard::check();
		run_case(test, context);
	}
	return ktap.finish();
}

} // namespace

void add_test(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command =
		app.add_subcommand("test", "Drive a TTM device and count its allocations from CMA, "
					   "or i915, tmpfs and their huge pages; "
					   "prints KTAP");

	command->add_option("--backend", options->backend,
			    "What to test: a driver (radeon, vttm, i915), tmpfs, igdstub");
	command->add_option("--filter", options->filter, "Run the tests whose names match GLOB")
		->type_name("GLOB");
	command->add_flag("--list", options->list, "Print the names of the tests and exit");
	command->callback([options, &result] { result = test(*options); });
}

} // namespace nocma::cli

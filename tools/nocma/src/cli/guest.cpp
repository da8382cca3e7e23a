// SPDX-License-Identifier: GPL-2.0-only
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "cli/commands.hpp"
#include "guest/boot.hpp"
#include "report/comparison.hpp"
#include "series/targets.hpp"
#include "util/cache.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;
using guest::Accelerator;
using guest::Boot;
using guest::TtmVariant;

enum class Accel { automatic, kvm, tcg };
enum class Work { test, bench, kunit, exec };

struct Options {
	std::string target;
	Accel accel = Accel::automatic;
	std::string memory = "512M";
	unsigned int timeout = 180; /* seconds; a TCG guest on a busy machine needs its time */
	bool dry_run = false;
	std::string backend = "radeon";

	/* run */
	Work work = Work::test;
	TtmVariant variant = TtmVariant::nocma;
	std::string cma = "256M";
	std::string flavour;		    /* of the kernel, as scripts/kernel takes it */
	std::optional<bool> vtd;	    /* given: that flavour, and the IOMMU on or off */
	unsigned int nodes = 1;		    /* of NUMA; more: that flavour, too */
	std::vector<std::string> arguments; /* handed to nocma test or nocma bench, or the job */
	std::string append;		    /* to the kernel's command line */
	std::vector<std::filesystem::path> files; /* the guest has besides */
	std::string qemu;			  /* to QEMU's, words between blanks */
	bool stock_i915 = false;

	/* compare */
	unsigned int rounds = 2;
	bool against_cma0 = false;
	std::string output = "nocma-compare";
};

/* A number with K, M or G, as QEMU's -m and the kernel's cma= both take it. */
std::string size_error(const std::string &text)
{
	std::size_t digits = 0;

	while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0)
		digits++;
	const std::string unit = text.substr(digits);
	if (digits == 0 || digits > 6 ||
	    !(unit == "K" || unit == "M" || unit == "G" || text == "0"))
		return fmt::format("'{}' is no size: a number with K, M or G", text);
	return "";
}

std::string memory_error(const std::string &text)
{
	std::string error = size_error(text);

	if (error.empty() && text.find_first_of("123456789") == std::string::npos)
		return fmt::format("'{}': a guest needs memory", text);
	return error;
}

/* Where a misspelt target can be told from one that is not built: beside its repository. */
void check_target(const std::string &name)
{
	const char *own = std::getenv("NOCMA_PATCHES"); // NOLINT(concurrency-mt-unsafe)
	const fs::path patches = own != nullptr ? fs::path(own) : own_patches();

	if (fs::exists(patches / "targets.conf"))
		series::find_target(series::load_targets(patches), name);
}

Accelerator choose_accelerator(const Options &options, const guest::KernelBuild &kernel)
{
	switch (options.accel) {
	case Accel::kvm:
		return Accelerator::kvm;
	case Accel::tcg:
		return Accelerator::tcg;
	case Accel::automatic:
		break;
	}
	/* A dry run must not boot anything, not even to try KVM. */
	if (options.dry_run)
		return guest::known_accelerator(cache_folder()).value_or(Accelerator::kvm);
	return guest::detect_accelerator(cache_folder(), kernel);
}

/*
 * What --vtd chooses between is the IOMMU, not the kernel: both boot the one that has VT-d. Only
 * that one has i915 and sees NUMA nodes, too.
 */
std::string flavour_of(const Options &options)
{
	const bool wanted = options.vtd || options.nodes > 1 || options.backend == "i915" ||
			    options.backend == "igdstub";

	return options.flavour.empty() && wanted ? "vtd" : options.flavour;
}

/*
 * The back-end's driver, and the disk for those that want some swap, see prepare_command(). That
 * igdstub loads, or does not, is what its own tests are about.
 */
std::vector<std::string> modules_of(const std::string &backend)
{
	if (backend == "vttm")
		return {"vttm", "brd"};
	if (backend == "i915")
		return {"igdstub", "i915"};
	if (backend == "tmpfs")
		return {"brd"};
	if (backend == "igdstub")
		return {};
	return {backend};
}

/*
 * No display is behind the stub; without KMS i915 does not register at all. tmpfs inodes are what a
 * mount that has to fail is told by.
 */
std::string parameters_of(const Options &options)
{
	std::vector<std::string> parameters;

	if (options.work == Work::kunit)
		parameters.emplace_back("kunit.enable=1 kunit.autorun=1");
	else if (options.backend == "i915")
		parameters.emplace_back("i915.disable_display=1 i915.modeset=1 "
					"slub_debug=A,shmem_inode_cache log_buf_len=1M");
	if (!options.append.empty())
		parameters.push_back(options.append);
	return fmt::format("{}", fmt::join(parameters, " "));
}

/*
 * What i915 finds wrong with registers that are plain memory: a bit that is cleared by writing a
 * one to it stays set, and a ring that is told to stop never says that it has. The others are of
 * graphics version 12, where a thread answers, on a busy machine too late.
 *
 * v4.15 resets the GPU whenever it is loaded, too, and its Intel IOMMU driver leaves a removed
 * function's link, so that the stub in the same slot finds its own taken.
 */
std::vector<std::string> known_warnings_of(const Options &options)
{
	if (options.backend != "i915")
		return {};
	std::vector<std::string> known = {"gen3_assert_iir_is_zero",
					  "gen2_assert_iir_is_zero",
					  "assert_iir_is_zero",
					  "ring_release",
					  "gen9_disable_dc_states",
					  "gen9_dbuf_slices_update",
					  "gen9_wait_for_power_well_fuses",
					  "hsw_wait_for_power_well_enable",
					  "__uc_sanitize"};
	if (options.target == "v4.15")
		known.insert(known.end(), {"intel_engine_cleanup", "i915_gem_init_mmio",
					   "i915_gem_sanitize", "sysfs_warn_dup"});
	return known;
}

std::vector<std::string> words_of(const std::string &text)
{
	std::vector<std::string> words = split(text, ' ');

	std::erase(words, "");
	return words;
}

/* Shell that is run before nocma. */
std::string prepare_command(const std::string &backend)
{
	const std::string swap = "mkswap /dev/ram0 >/dev/null && swapon /dev/ram0";

	if (backend == "vttm")
		return "mount -t configfs configfs /sys/kernel/config && " + swap;
	return backend == "tmpfs" ? swap : "";
}

/* `label` says in the JSON which of the compared configurations this is. */
guest::Job make_job(Work work, const Options &options, const std::string &label)
{
	guest::Job job;

	if (work == Work::kunit) {
		job.argv = {"nocma", "kunit"};
		return job;
	}
	job.modules = modules_of(options.backend);
	job.prepare = prepare_command(options.backend);
	job.files = options.files;
	if (work == Work::exec) {
		job.argv = options.arguments;
		return job;
	}
	if (work == Work::test) {
		job.argv = {"nocma", "test", "--backend", options.backend};
	} else {
		job.argv = {"nocma", "bench", "--backend", options.backend, "--label", label};
		job.output = guest::JobOutput::data;
	}
	job.argv.insert(job.argv.end(), options.arguments.begin(), options.arguments.end());
	return job;
}

Boot make_boot(const Options &options, Work work, TtmVariant variant, const std::string &cma,
	       const std::string &label)
{
	Boot boot;

	check_target(options.target);
	boot.kernel = guest::find_kernel_build(cache_folder(), options.target, flavour_of(options));
	boot.variant = variant;
	boot.machine = {.memory = options.memory,
			.cma = cma,
			.accelerator = choose_accelerator(options, boot.kernel),
			.parameters = parameters_of(options),
			.vtd = options.vtd.value_or(false),
			.nodes = options.nodes,
			.ivshmem = options.backend == "i915",
			.qemu = words_of(options.qemu)};
	boot.job = make_job(work, options, label);
	boot.known_warnings = known_warnings_of(options);
	if (options.stock_i915)
		boot.job.replacements = {boot.kernel.stock_i915()};
	boot.logs = cache_folder() / "log" / fmt::format("{}-{}", boot.kernel.name(), label);
	boot.timeout = std::chrono::seconds(options.timeout);
	return boot;
}

/* The guest's exit code, where it is one of ours; anything else is a failure. */
ExitCode verdict_of(const guest::Outcome &outcome)
{
	if (!outcome.sound())
		return ExitCode::fail;
	switch (*outcome.status) {
	case static_cast<int>(ExitCode::pass):
		return ExitCode::pass;
	case static_cast<int>(ExitCode::skip):
		return ExitCode::skip;
	default:
		return ExitCode::fail;
	}
}

double seconds(const guest::Outcome &outcome)
{
	return std::chrono::duration<double>(outcome.elapsed).count();
}

void print_line(const std::string &line)
{
	fmt::print("{}\n", line);
	std::fflush(stdout);
}

ExitCode run(const Options &options)
{
	const std::string label = options.work == Work::kunit
					  ? "kunit"
					  : std::string(guest::name_of(options.variant));

	if (options.work == Work::exec && options.arguments.empty())
		throw UsageError("--exec: name the command behind --");
	const Boot boot = make_boot(options, options.work, options.variant, options.cma, label);
	if (options.dry_run) {
		fmt::print("{}", guest::describe(boot));
		return ExitCode::pass;
	}
	fmt::print(stderr, "guest: {} {}, cma={}, {}, at most {} s\n", options.target,
		   guest::name_of(options.variant), options.cma,
		   guest::name_of(boot.machine.accelerator), options.timeout);
	const guest::Outcome outcome = guest::boot_guest(boot, print_line);
	const ExitCode verdict = verdict_of(outcome);
	if (verdict == ExitCode::pass)
		fmt::print("{}", outcome.data);
	fmt::print(stderr, "guest: {:.1f} s\n", seconds(outcome));
	return verdict;
}

struct Configuration {
	std::string label;
	TtmVariant variant;
	std::string cma;
};

/* A B A B ... so that a drift of the host hits both, then the third one once. */
std::vector<Configuration> plan_comparison(const Options &options)
{
	const Configuration nocma = {std::string(label_nocma), TtmVariant::nocma, options.cma};
	Configuration other = {std::string(label_stock), TtmVariant::stock, options.cma};
	Configuration third = {std::string(label_cma0), TtmVariant::stock, "0"};
	std::vector<Configuration> plan;

	if (options.against_cma0)
		std::swap(other, third);
	for (unsigned int round = 0; round < options.rounds; round++) {
		plan.push_back(nocma);
		plan.push_back(other);
	}
	plan.push_back(third);
	return plan;
}

/* Numbered so that the names sort in the order of the boots. */
std::string file_name(std::size_t boot, std::size_t boots, const std::string &label)
{
	return fmt::format("{:0{}}-{}.json", boot, std::to_string(boots).size(), label);
}

ExitCode compare(const Options &options)
{
	const std::vector<Configuration> plan = plan_comparison(options);
	const fs::path folder = options.output;
	Comparison comparison;

	if (!options.dry_run)
		fs::create_directories(folder);
	for (std::size_t i = 0; i < plan.size(); i++) {
		const Configuration &configuration = plan[i];
		const Boot boot = make_boot(options, Work::bench, configuration.variant,
					    configuration.cma, configuration.label);
		const fs::path file = folder / file_name(i + 1, plan.size(), configuration.label);

		if (options.dry_run) {
			fmt::print("boot {} of {}: {}\n{}", i + 1, plan.size(), configuration.label,
				   guest::describe(boot));
			continue;
		}
		fmt::print(stderr, "guest: boot {} of {}: {} {}, cma={}\n", i + 1, plan.size(),
			   options.target, configuration.label, configuration.cma);
		const guest::Outcome outcome = guest::boot_guest(boot, print_line);
		const ExitCode verdict = verdict_of(outcome);
		if (verdict != ExitCode::pass)
			return verdict;
		write_atomic(file, outcome.data);
		comparison.add(parse_bench_result(outcome.data, file.native()), file.native());
		fmt::print(stderr, "guest: boot {} of {}: {:.1f} s\n", i + 1, plan.size(),
			   seconds(outcome));
	}
	if (options.dry_run)
		return ExitCode::pass;

	const Comparison::Verdict verdict = comparison.verdict();
	fmt::print("{}\n{}: {}\n", comparison.table(), verdict.good ? "PASS" : "FAIL",
		   verdict.text);
	return verdict.good ? ExitCode::pass : ExitCode::fail;
}

/* For transform(): a name is read as what it stands for, and any other is told what there is. */
template <typename Value> CLI::Validator one_of(const std::map<std::string, Value> &values)
{
	std::vector<std::string> names;

	names.reserve(values.size());
	for (const auto &[name, value] : values)
		names.push_back(name);
	const auto read = [values, names](std::string &text) -> std::string {
		const auto found = values.find(text);

		if (found == values.end())
			return fmt::format("'{}': not one of {}", text, fmt::join(names, ", "));
		text = std::to_string(static_cast<int>(found->second));
		return "";
	};

	return {read, ""};
}

void add_common(CLI::App &command, Options &options)
{
	const std::map<std::string, Accel> accelerators = {
		{"auto", Accel::automatic}, {"kvm", Accel::kvm}, {"tcg", Accel::tcg}};

	command.add_option("TARGET", options.target, "A target of patches/targets.conf")
		->required();
	command.add_option("--accel", options.accel, "auto (KVM if a probe boot works), kvm or tcg")
		->transform(one_of(accelerators))
		->option_text("NAME");
	command.add_option("--memory", options.memory, "Memory of the guest")
		->check(memory_error)
		->option_text("SIZE")
		->capture_default_str();
	command.add_option("--timeout", options.timeout, "Limit of one boot, in seconds")
		->check(CLI::Range(1, 86400))
		->option_text("SECONDS")
		->capture_default_str();
	command.add_option("--cma", options.cma, "Size of the shared CMA area, 0 for none")
		->check(size_error)
		->option_text("SIZE")
		->capture_default_str();
	command.add_option("--backend", options.backend, "Driver that nocma test or bench drives")
		->capture_default_str();
	command.add_option(
		"ARGUMENT", options.arguments,
		"After --: handed to nocma test or nocma bench in the guest; with --exec "
		"the command");
	command.add_flag("--dry-run", options.dry_run, "Print what would be started and stop");
}

void add_work(CLI::App &command, Options &options)
{
	const auto add = [&command, &options](const std::string &name, Work work,
					      const std::string &text) {
		return command.add_flag_callback(
			name, [&options, work] { options.work = work; }, text);
	};
	CLI::Option *const test = add("--test", Work::test, "Run nocma test (default)");
	CLI::Option *const bench = add("--bench", Work::bench, "Run nocma bench")->excludes(test);

	CLI::Option *const kunit = add("--kunit", Work::kunit,
				       "Print what the kernel's own KUnit suites found at boot")
					   ->excludes(test)
					   ->excludes(bench);

	add("--exec", Work::exec, "Run the command behind -- with its words as they are")
		->excludes(test)
		->excludes(bench)
		->excludes(kunit);
}

void add_run(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"run",
		"Boot once; print what nocma test, bench or kunit, or any command, says there");
	const std::map<std::string, TtmVariant> variants = {{"nocma", TtmVariant::nocma},
							    {"stock", TtmVariant::stock}};

	add_common(*command, *options);
	command->add_option("--ttm", options->variant,
			    "nocma: TTM passes the flag; stock: it does not (negative control)")
		->transform(one_of(variants))
		->option_text("NAME");
	command->add_option("--vtd", options->vtd,
			    "Kernel with VT-d (flavour vtd); the IOMMU on, or off to compare with")
		->transform(one_of<bool>({{"on", true}, {"off", false}}))
		->option_text("on|off");
	command->add_option("--nodes", options->nodes,
			    "NUMA nodes that share the memory; more than one: flavour vtd")
		->check(CLI::Range(1, 8))
		->option_text("N")
		->capture_default_str();
	command->add_option("--i915", options->stock_i915,
			    "nocma: i915 with the series; stock: without (negative control)")
		->transform(one_of<bool>({{"nocma", false}, {"stock", true}}))
		->option_text("NAME");
	command->add_option("--append", options->append, "More of the kernel's command line")
		->option_text("TEXT");
	command->add_option("--qemu", options->qemu,
			    "More of QEMU's command line, words between blanks")
		->option_text("TEXT");
	command->add_option("--flavour", options->flavour,
			    "Kernel that scripts/kernel build TARGET --flavour NAME built")
		->option_text("NAME");
	command->add_option("--add", options->files,
			    "File or folder that the guest has below /root; again for more")
		->option_text("PATH")
		->check(CLI::ExistingPath)
		->allow_extra_args(false);
	add_work(*command, *options);
	command->callback([options, &result] { result = run(*options); });
}

void add_compare(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"compare", "Measure with the flag, without it and with cma=0 in alternate boots");

	add_common(*command, *options);
	command->add_option("--against", options->against_cma0,
			    "What the flag is measured against in alternate boots: stock or cma0")
		->transform(one_of<bool>({{"stock", false}, {"cma0", true}}))
		->option_text("NAME");
	command->add_option("--rounds", options->rounds, "Boots of either")
		->check(CLI::Range(1, 100))
		->option_text("N")
		->capture_default_str();
	command->add_option("-o,--output", options->output, "Folder for the JSON of each boot")
		->option_text("DIR")
		->capture_default_str();
	command->callback([options, &result] { result = compare(*options); });
}

} // namespace

void add_guest(CLI::App &app, ExitCode &result)
{
	CLI::App *const command =
		app.add_subcommand("guest", "Boot kernels that scripts/kernel built, under QEMU");

	command->require_subcommand(1);
	command->footer("Environment: NOCMA_CACHE (folder of the built kernels and of the logs), "
			"NOCMA_QEMU (emulator instead of qemu-system-x86_64).");
	add_run(*command, result);
	add_compare(*command, result);
}

} // namespace nocma::cli

// SPDX-License-Identifier: GPL-2.0-only
#include "cli/i915_cases.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "drm/buffer_object.hpp"
#include "drm/i915.hpp"
#include "kernel/counters.hpp"
#include "kernel/gemfs.hpp"
#include "kernel/kernel_log.hpp"
#include "kernel/machine.hpp"
#include "kernel/parameters.hpp"
#include "kernel/smaps.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t huge_bytes = 2 << 20;

/* What keeps an IOMMU from translating for the GPU, or for all. */
constexpr std::array<std::string_view, 4> exemptions = {"igfx_off", "intgpu_off", "iommu=pt",
							"iommu.passthrough=1"};

enum class Mapping { file, offset };

DrmDevice open_gpu()
{
	return DrmDevice::open("i915");
}

GemfsState state_of(const DrmDevice &device)
{
	return read_gemfs_state(device.sysfs_folder(), read_machine().accelerator);
}

std::string describe(const GemfsState &state)
{
	return fmt::format(
		"kernel {}.{}, IOMMU {}, IOMMU group of the GPU {}, {}graphics version {}, "
		"shmem_enabled {}: VT-d is {} for i915, its objects are to have {} pages",
		state.kernel.major, state.kernel.minor, state.iommu ? "there" : "absent",
		state.group_type.empty() ? "none" : state.group_type,
		state.graphics_exempt ? "igfx_off, " : "",
		state.graphics_version == 0 ? "unknown" : std::to_string(state.graphics_version),
		state.shmem_enabled.empty() ? "absent" : state.shmem_enabled,
		state.vtd_active() ? "active" : "inactive", state.gets_huge() ? "huge" : "small");
}

/* What all of tmpfs has, of which an object is a part. */
struct Usage {
	std::uint64_t total = 0;     /* bytes */
	std::uint64_t huge = 0;	     /* bytes, among them */
	std::uint64_t allocated = 0; /* huge pages ever */
	std::uint64_t fallbacks = 0; /* huge pages that were not to be had */
};

/* Both read functions have the CPUs' shares added up first: without it they read as 0. */
Usage read_usage()
{
	const Counters meminfo = read_meminfo();
	const Counters vmstat = read_vmstat();

	return {.total = find_counter(meminfo, "Shmem").value_or(0),
		.huge = find_counter(meminfo, "ShmemHugePages").value_or(0),
		.allocated = find_counter(vmstat, "thp_file_alloc").value_or(0),
		.fallbacks = find_counter(vmstat, "thp_file_fallback").value_or(0)};
}

/* The mapped object; one of the two is there. */
class MappedObject
{
public:
	MappedObject(const DrmDevice &device, Mapping mapping, std::uint64_t bytes)
	{
		if (mapping == Mapping::file)
			file_.emplace(device, bytes);
		else
			offset_.emplace(device, I915Backend(), bytes);
	}

	[[nodiscard]] std::span<std::byte> bytes() const
	{
		return file_ ? file_->bytes() : offset_->bytes();
	}

private:
	std::optional<I915FileMapping> file_;
	std::optional<BufferObject> offset_;
};

std::uint64_t mark_of(std::size_t offset)
{
	return (offset + 1) * 0x9e3779b97f4a7c15ULL;
}

/* Touches each page: it must be new, and keep what is written to it. */
void fill(std::span<std::byte> data)
{
	for (std::size_t offset = 0; offset < data.size(); offset += page_bytes) {
		const std::uint64_t mark = mark_of(offset);
		std::uint64_t old = 0;

		std::memcpy(&old, &data[offset], sizeof(old));
		if (old != 0)
			throw Error(fmt::format("byte {} of a new object is not 0", offset));
		std::memcpy(&data[offset], &mark, sizeof(mark));
	}
	for (std::size_t offset = 0; offset < data.size(); offset += page_bytes) {
		std::uint64_t mark = 0;

		std::memcpy(&mark, &data[offset], sizeof(mark));
		if (mark != mark_of(offset))
			throw Error(fmt::format("byte {} lost what was written to it", offset));
	}
}

/* Pages are freed a moment after the object. */
void expect_given_back(const Usage &before)
{
	constexpr int most_looks = 100;
	Usage now;

	for (int looks = 0; looks < most_looks; looks++) {
		now = read_usage();
		if (now.total <= before.total && now.huge <= before.huge)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	throw Error(fmt::format("closed, yet Shmem has {} KiB more and ShmemHugePages {} KiB",
				(now.total - before.total) >> 10, (now.huge - before.huge) >> 10));
}

struct Measured {
	ObjectPages pages;
	std::uint64_t allocated = 0; /* huge pages */
	std::uint64_t fallbacks = 0;
	std::uint64_t mapped = 0; /* bytes mapped by huge page-table entries, as smaps says */
};

Measured measure(const DrmDevice &device, Mapping mapping, std::uint64_t bytes)
{
	const Usage before = read_usage();
	Measured measured;

	{
		const MappedObject object(device, mapping, bytes);

		fill(object.bytes());
		const Usage with = read_usage();
		measured = {
			.pages = {.huge = with.huge - before.huge,
				  .total = with.total - before.total},
			.allocated = with.allocated - before.allocated,
			.fallbacks = with.fallbacks - before.fallbacks,
			.mapped = find_counter(read_smaps(object.bytes().data()), "ShmemPmdMapped")
					  .value_or(0)};
	}
	expect_given_back(before);
	return measured;
}

std::string describe(const Measured &measured)
{
	return fmt::format("{} KiB, {} KiB of them in huge pages, {} KiB mapped by huge entries; "
			   "thp_file_alloc +{}, thp_file_fallback +{}",
			   measured.pages.total >> 10, measured.pages.huge >> 10,
			   measured.mapped >> 10, measured.allocated, measured.fallbacks);
}

bool matches(const Measured &measured, const ObjectPages &expected)
{
	return measured.pages == expected && measured.allocated == expected.huge / huge_bytes;
}

/* The counters are the whole machine's: others may have moved them, but hardly each time. */
void expect_pages(KtapWriter &ktap, const DrmDevice &device, Mapping mapping, std::uint64_t bytes,
		  const ObjectPages &expected)
{
	constexpr int attempts = 3;
	Measured measured;

	for (int attempt = 0; attempt < attempts; attempt++) {
		measured = measure(device, mapping, bytes);
		ktap.diagnostic(describe(measured));
		if (matches(measured, expected))
			return;
	}
	if (measured.fallbacks != 0 && measured.pages.huge < expected.huge)
		throw SkipError(fmt::format("{} huge pages were not to be had: memory is too "
					    "fragmented",
					    measured.fallbacks));
	throw Error(fmt::format("takes {} KiB, {} KiB of them in huge pages; expected {} and {}",
				measured.pages.total >> 10, measured.pages.huge >> 10,
				expected.total >> 10, expected.huge >> 10));
}

ObjectPages expected_pages(const GemfsState &state, std::uint64_t bytes)
{
	if (state.shmem_enabled == "force")
		throw SkipError("shmem_enabled is force: all of tmpfs has huge pages");
	return state.gets_huge() ? pages_within_size(state.kernel, bytes)
				 : ObjectPages{.huge = 0, .total = bytes};
}

void object_pages(KtapWriter &ktap, Mapping mapping, std::uint64_t bytes)
{
	const DrmDevice device = open_gpu();

	expect_pages(ktap, device, mapping, bytes, expected_pages(state_of(device), bytes));
}

/* The switch that turns huge pages off everywhere turns these off, too. */
void shmem_enabled_deny(KtapWriter &ktap)
{
	const fs::path file = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
	const DrmDevice device = open_gpu();
	const std::string chosen = selected_word(try_read_file(file).value_or(""));

	if (chosen.empty())
		throw SkipError(fmt::format("no {}: no huge pages in tmpfs", file.native()));
	write_existing(file, "deny");
	try {
		expect_pages(ktap, device, Mapping::offset, 2 * huge_bytes,
			     {.huge = 0, .total = 2 * huge_bytes});
	} catch (...) {
		write_existing(file, chosen);
		throw;
	}
	write_existing(file, chosen);
}

/* With an IOMMU that nothing turns off for it, the GPU's DMA is translated. */
void iommu_state(KtapWriter &ktap)
{
	const DrmDevice device = open_gpu();
	const GemfsState state = state_of(device);
	const std::string command_line = read_machine().command_line;

	ktap.diagnostic(describe(state));
	if (!state.iommu) {
		if (!state.group_type.empty())
			throw Error("no IOMMU, yet the GPU is in a group of one");
		return;
	}
	if (state.group_type.empty())
		throw Error("an IOMMU is there, but the GPU is in no group");
	const bool exempt =
		std::any_of(exemptions.begin(), exemptions.end(), [&](std::string_view option) {
			return command_line.find(option) != std::string::npos;
		});
	if (!exempt && !state.group_type.starts_with("DMA"))
		throw Error(fmt::format("the GPU's group is '{}': its DMA is not translated",
					state.group_type));
}

bool is_of_i915(const LogRecord &record)
{
	return record.text.starts_with("i915 ");
}

bool mentions(const LogRecord &record, std::string_view text)
{
	return record.text.find(text) != std::string::npos;
}

/* What i915 says about huge pages, once for each time it has taken the GPU. */
struct Messages {
	unsigned int probes = 0;
	unsigned int huge = 0;
	unsigned int advice = 0;
	unsigned int no_mount = 0;
	std::vector<std::string> errors;
};

Messages count_messages(std::span<const LogRecord> log)
{
	Messages messages;

	for (const LogRecord &record : log) {
		messages.probes += mentions(record, "Initialized i915 ") ? 1 : 0;
		/* DRM's own prefix is before this one. */
		messages.no_mount +=
			mentions(record, "Unable to create a private tmpfs mount") ? 1 : 0;
		if (mentions(record, "Unsupported parameter 'huge'") ||
		    (is_of_i915(record) && record.level <= LogRecord::error))
			messages.errors.push_back(record.text);
		if (!is_of_i915(record))
			continue;
		messages.huge += mentions(record, "Using Transparent Hugepages") ? 1 : 0;
		messages.advice +=
			mentions(record, "Transparent Hugepage support is recommended") ? 1 : 0;
	}
	return messages;
}

std::vector<LogRecord> whole_log()
{
	std::vector<LogRecord> log = read_kernel_log();

	if (log.empty() || log.front().sequence != 0)
		throw SkipError("the kernel's log has lost its beginning");
	return log;
}

void driver_message(KtapWriter &ktap)
{
	const GemfsState state = state_of(open_gpu());
	const Messages messages = count_messages(whole_log());
	const bool huge = state.mounts_huge();
	const bool advice = !huge && state.wants_huge();

	ktap.diagnostic(fmt::format("{} probes, {} times 'Using Transparent Hugepages', {} times "
				    "'support is recommended'",
				    messages.probes, messages.huge, messages.advice));
	if (!messages.errors.empty())
		throw Error(fmt::format("{} error lines, first: {}", messages.errors.size(),
					messages.errors.front()));
	if (messages.probes == 0)
		throw Error("no line says that i915 has been initialized");
	if (messages.huge != (huge ? messages.probes : 0) ||
	    messages.advice != (advice ? messages.probes : 0))
		throw Error(fmt::format("expected {} and {}", huge ? messages.probes : 0,
					advice ? messages.probes : 0));
}

/* The stub's function; i915 is taken from it and given back, which no user of a GPU would like. */
const fs::path &stub_function()
{
	static const fs::path function = "/sys/bus/pci/devices/0000:00:02.0";

	if (!fs::exists("/sys/module/igdstub"))
		throw SkipError("the module igdstub is not loaded: done on no real GPU");
	return function;
}

void load_module(const std::string &name)
{
	run_or_throw({"modprobe", name});
}

void unload_module(const std::string &name)
{
	run_or_throw({"rmmod", name});
}

void expect_2mib_object(KtapWriter &ktap, bool huge)
{
	expect_pages(ktap, open_gpu(), Mapping::offset, huge_bytes,
		     {.huge = huge ? huge_bytes : 0, .total = huge_bytes});
}

bool gets_huge()
{
	return state_of(open_gpu()).gets_huge();
}

/* A second mount needs its options as much as the first one. */
void module_reload(KtapWriter &ktap)
{
	stub_function();
	const bool huge = gets_huge();

	for (int round = 0; round < 2; round++) {
		unload_module("i915");
		load_module("i915");
		expect_2mib_object(ktap, huge);
	}
	driver_message(ktap);
}

/* Both halves of what the stub promises: while in use it stays, and then nothing of it does. */
void stub_restores_function(KtapWriter &ktap)
{
	const fs::path &function = stub_function();
	const auto refused = [] {
		return run({"rmmod", "igdstub"}).ok();
	};
	std::optional<std::string> resources;

	if (refused())
		throw Error("igdstub was unloaded under i915");
	unload_module("i915");
	for (int round = 0; round < 2; round++) {
		unload_module("igdstub");
		const std::string vendor = read_file(function / "vendor");
		const std::string found = read_file(function / "resource");

		if (trim(vendor) != "0x1af4")
			throw Error(fmt::format("the function's vendor is {} without igdstub",
						trim(vendor)));
		if (resources && *resources != found)
			throw Error("the function's resources are not what they were before");
		resources = found;
		load_module("igdstub");
		if (trim(read_file(function / "vendor")) != "0x8086")
			throw Error("loaded again, igdstub shows no Intel GPU");
	}
	load_module("i915");
	ktap.diagnostic("i915 is back on the stub");
}

/*
 * Makes the first allocations of tmpfs inodes fail. The first one that a probe makes is that of the
 * mount's root, and nothing else comes from the cache that the boot option has marked.
 */
class MountFault
{
public:
	/* Throws SkipError when the kernel has no such capability. */
	explicit MountFault(unsigned int mounts)
	{
		if (trim(try_read_file("/sys/kernel/slab/shmem_inode_cache/failslab")
				 .value_or("")) != "1" ||
		    !try_read_file(failslab() / "cache-filter"))
			throw SkipError("tmpfs inodes cannot be made to fail: needs "
					"CONFIG_FAILSLAB, CONFIG_FAULT_INJECTION_DEBUG_FS and "
					"slub_debug=A,shmem_inode_cache");
		set("cache-filter", "Y");
		set("verbose", "0");
		set("ignore-gfp-wait", "N");
		set("times", std::to_string(mounts));
		set("probability", "100");
	}

	MountFault(const MountFault &) = delete;
	MountFault &operator=(const MountFault &) = delete;
	MountFault(MountFault &&) = delete;
	MountFault &operator=(MountFault &&) = delete;
	/* The last one first: as long as there is a probability, the filter has to stay. */
	~MountFault()
	{
		while (!saved_.empty())
			saved_.pop_back();
	}

	/* How many are still to fail. */
	[[nodiscard]] static std::uint64_t left() { return read_number(failslab() / "times"); }

private:
	static fs::path failslab() { return "/sys/kernel/debug/failslab"; }

	void set(const char *name, std::string_view value)
	{
		saved_.push_back(std::make_unique<SavedParameter>(failslab() / name, value));
	}

	std::vector<std::unique_ptr<SavedParameter>> saved_;
};

/* What i915 says when it is loaded while its first mounts fail; each of them has to. */
Messages load_without(unsigned int mounts)
{
	const std::size_t seen = whole_log().size();

	unload_module("i915");
	{
		const MountFault fault(mounts);

		load_module("i915");
		if (MountFault::left() != 0)
			throw Error(fmt::format("{} mounts were to fail, {} less did", mounts,
						MountFault::left()));
	}
	const std::vector<LogRecord> log = whole_log();
	return count_messages(std::span(log).subspan(seen));
}

/* The GPU works without its own mount; the next time it has it again. */
void expect_fallback(KtapWriter &ktap, unsigned int mounts, bool advice)
{
	const bool huge = gets_huge();
	const Messages messages = load_without(mounts);

	ktap.diagnostic(fmt::format("{} mounts failed: {} times 'support is recommended', {} "
				    "times 'unable to create a private tmpfs mount', {} errors",
				    mounts, messages.advice, messages.no_mount,
				    messages.errors.size()));
	if (messages.advice != (advice ? 1 : 0) || messages.no_mount != (advice ? 0 : 1) ||
	    messages.huge != 0 || !messages.errors.empty())
		throw Error("expected one notice and no error");
	expect_2mib_object(ktap, false);
	unload_module("i915");
	load_module("i915");
	expect_2mib_object(ktap, huge);
}

void huge_mount_fails(KtapWriter &ktap)
{
	stub_function();
	if (!state_of(open_gpu()).mounts_huge())
		throw SkipError("i915 makes no mount with huge pages here");
	expect_fallback(ktap, 1, true);
}

/* Behind one with huge pages there is a plain one up to 5.x, and without VT-d only that. */
void every_mount_fails(KtapWriter &ktap)
{
	constexpr KernelVersion mounts_only_huge = {6, 0};

	stub_function();
	const GemfsState state = state_of(open_gpu());
	if (state.kernel >= mounts_only_huge)
		throw SkipError("i915 makes no mount without huge pages in this kernel");
	expect_fallback(ktap, state.mounts_huge() ? 2 : 1, false);
}

} // namespace

std::vector<I915Case> i915_cases()
{
	struct Size {
		const char *name;
		std::uint64_t bytes;
	};
	constexpr std::array<Size, 6> sizes = {{
		{"4KiB", page_bytes},
		{"64KiB", 16 * page_bytes},
		{"2MiB", huge_bytes},
		{"2MiB+4KiB", huge_bytes + page_bytes},
		{"4MiB", 2 * huge_bytes},
		{"64MiB", 32 * huge_bytes},
	}};
	std::vector<I915Case> cases = {{"i915-iommu-state", iommu_state},
				       {"i915-driver-message", driver_message}};

	for (const Mapping mapping : {Mapping::file, Mapping::offset})
		for (const Size &size : sizes)
			cases.push_back({fmt::format("i915-{}-{}-pages",
						     mapping == Mapping::file ? "mmap" : "offset",
						     size.name),
					 [mapping, bytes = size.bytes](KtapWriter &ktap) {
						 object_pages(ktap, mapping, bytes);
					 }});
	cases.push_back({"i915-shmem-enabled-deny", shmem_enabled_deny});
	cases.push_back({"i915-module-reload", module_reload});
	/* After the last look at the whole log: from here on mounts fail. */
	cases.push_back({"i915-huge-mount-fails", huge_mount_fails});
	cases.push_back({"i915-every-mount-fails", every_mount_fails});
	cases.push_back({"igdstub-restores-function", stub_restores_function});
	return cases;
}

} // namespace nocma::cli

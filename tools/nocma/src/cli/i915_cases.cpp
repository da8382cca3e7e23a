// SPDX-License-Identifier: GPL-2.0-only
#include "cli/i915_cases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cli/shmem_pages.hpp"
#include "drm/buffer_object.hpp"
#include "drm/i915.hpp"
#include "kernel/gemfs.hpp"
#include "kernel/kernel_log.hpp"
#include "kernel/machine.hpp"
#include "kernel/parameters.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

constexpr std::uint64_t huge_bytes = 2 << 20;

/* What keeps an IOMMU from translating for the GPU, or for all. */
constexpr std::array<std::string_view, 3> exemptions = {"intgpu_off", "iommu=pt",
							"iommu.passthrough=1"};

/* iommu_group/type came with it. */
constexpr KernelVersion tells_group_type{4, 19};

/* From here on igfx_off leaves off only IOMMUs that serve nothing but GPUs. Not so in 6.1. */
constexpr KernelVersion igfx_off_is_for_units{6, 12};

enum class Mapping { file, offset };

DrmDevice open_gpu()
{
	return DrmDevice::open("i915");
}

GemfsState state_of(const DrmDevice &device)
{
	return read_gemfs_state(device.sysfs_folder(), read_machine().accelerator);
}

std::string describe_group(const GemfsState &state)
{
	if (state.kernel < tells_group_type)
		return "not told";
	return state.group_type.empty() ? "none" : state.group_type;
}

std::string describe(const GemfsState &state)
{
	return fmt::format(
		"kernel {}.{}, IOMMU {}, IOMMU group of the GPU {}, {}graphics version {}, "
		"shmem_enabled {}: VT-d is {} for i915, its objects are to have {} pages",
		state.kernel.major, state.kernel.minor, state.iommu ? "there" : "absent",
		describe_group(state), state.graphics_exempt ? "igfx_off, " : "",
		state.graphics_version == 0 ? "unknown" : std::to_string(state.graphics_version),
		state.shmem_enabled.empty() ? "absent" : state.shmem_enabled,
		state.vtd_active() ? "active" : "inactive", state.gets_huge() ? "huge" : "small");
}

class MappedFile : public ShmemObject
{
public:
	MappedFile(const DrmDevice &device, std::uint64_t bytes) : object_(device, bytes) {}

	[[nodiscard]] std::span<std::byte> bytes() const override { return object_.bytes(); }

private:
	I915FileMapping object_;
};

class MappedObject : public ShmemObject
{
public:
	MappedObject(const DrmDevice &device, std::uint64_t bytes)
		: object_(device, I915Backend(), bytes)
	{
	}

	[[nodiscard]] std::span<std::byte> bytes() const override { return object_.bytes(); }

private:
	BufferObject object_;
};

void expect_object_pages(KtapWriter &ktap, const DrmDevice &device, Mapping mapping,
			 std::uint64_t bytes, const ObjectPages &expected)
{
	const auto make = [&]() -> std::unique_ptr<ShmemObject> {
		if (mapping == Mapping::file)
			return std::make_unique<MappedFile>(device, bytes);
		return std::make_unique<MappedObject>(device, bytes);
	};

	expect_pages(ktap, make, expected);
}

ObjectPages expected_pages(const GemfsState &state, std::uint64_t bytes)
{
	if (state.shmem_enabled == "force")
		throw SkipError("shmem_enabled is force: all of tmpfs has huge pages");
	return state.gets_huge() ? pages_within_size(state.kernel, bytes)
				 : ObjectPages{.huge = 0, .total = bytes};
}

/* For cases that are about something else than how to map: the newer way, if there is one. */
Mapping usual_mapping(const DrmDevice &device)
{
	return has_mmap_offset(device) ? Mapping::offset : Mapping::file;
}

void object_pages(KtapWriter &ktap, Mapping mapping, std::uint64_t bytes)
{
	const DrmDevice device = open_gpu();

	expect_object_pages(ktap, device, mapping, bytes, expected_pages(state_of(device), bytes));
}

/* The switch that turns huge pages off everywhere turns these off, too. */
void shmem_enabled_deny(KtapWriter &ktap)
{
	const DrmDevice device = open_gpu();
	const HugePagesDenied denied;

	expect_object_pages(ktap, device, usual_mapping(device), 2 * huge_bytes,
			    {.huge = 0, .total = 2 * huge_bytes});
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
	if (state.kernel < tells_group_type)
		throw SkipError("what an IOMMU group is for is told from 4.19 on");
	const bool whole_units = state.graphics_exempt && state.kernel >= igfx_off_is_for_units;
	const bool exempt =
		(state.graphics_exempt && !whole_units) ||
		std::any_of(exemptions.begin(), exemptions.end(), [&](std::string_view option) {
			return command_line.find(option) != std::string::npos;
		});
	const bool left_off = state.group_type.empty();
	/* An IOMMU that serves nothing but a GPU that is exempt may be left off altogether. */
	const bool good = exempt ? state.group_type == "identity" || left_off
				 : state.group_type.starts_with("DMA") || (whole_units && left_off);
	if (!good)
		throw Error(fmt::format("the GPU's group is '{}', its DMA is to be {}",
					state.group_type, exempt ? "left alone" : "translated"));
}

bool is_of_i915(const LogRecord &record)
{
	return record.text.starts_with("i915 ");
}

bool mentions(const LogRecord &record, std::string_view text)
{
	return record.text.find(text) != std::string::npos;
}

bool on_igdstub()
{
	return fs::exists("/sys/module/igdstub");
}

/*
 * What i915 says on igdstub, and on no GPU that works: registers that are plain memory acknowledge
 * nothing, or, for graphics version 12, do so too late on a busy machine.
 */
bool is_known_error(const LogRecord &record)
{
	constexpr std::array<std::string_view, 13> known = {
		/* 4.15 */
		"timed out trying to stop ring",
		"Failed to reset chip: -110",
		/* Graphics version 12. The first one is of Debian's 6.1, for any driver. */
		"firmware: failed to load i915/tgl_",
		"timed out waiting for forcewake ack",
		"reset request timed out",
		"Failed to reset GuC, ret = -110",
		"PCode CDCLK freq set failed",
		"Failed to disable qgv points",
		"timeout waiting for CDCLK PLL lock",
		"Disabling all crtc's during unload failed with -22",
		"did not complete or timeout within 10ms",
		"receive error (status",
		"TC cold unblock failed",
	};

	return on_igdstub() && std::any_of(known.begin(), known.end(), [&](std::string_view text) {
		       return mentions(record, text);
	       });
}

/* Before 5.x most errors name the function in the place of the device. */
bool is_error_of_i915(const LogRecord &record)
{
	return record.level <= LogRecord::error &&
	       (is_of_i915(record) || record.text.starts_with("[drm:")) && !is_known_error(record);
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
		if (mentions(record, "Unsupported parameter 'huge'") || is_error_of_i915(record))
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

	if (!on_igdstub())
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
	const DrmDevice device = open_gpu();

	expect_object_pages(ktap, device, usual_mapping(device), huge_bytes,
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

/*
 * They run when the module is loaded, and then it looks for no GPU. i915_selftest.c leaves -ENOTTY
 * for a pass, but any other error makes the load fail.
 */
void mock_selftests(KtapWriter & /*ktap*/)
{
	constexpr std::string_view not_run = "0";
	const std::string passed = std::to_string(-ENOTTY);
	const std::string result(trim(try_read_file(parameter_file("i915", "mock_selftests"))
					      .value_or(std::string(not_run))));

	if (result == not_run)
		throw SkipError("not asked for by i915.mock_selftests=-1");
	if (result != passed)
		throw Error(fmt::format("mock_selftests is {}, not {}", result, passed));
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

/* tmpfs read no options at the kernel's mounts before. */
constexpr KernelVersion mounts_with_options = {5, 4};

void huge_mount_fails(KtapWriter &ktap)
{
	stub_function();
	const GemfsState state = state_of(open_gpu());
	if (state.kernel < mounts_with_options)
		throw SkipError("i915 mounts first, and asks for huge pages then, in this kernel");
	if (!state.mounts_huge())
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
	const bool huge_first = state.kernel >= mounts_with_options && state.mounts_huge();
	expect_fallback(ktap, huge_first ? 2 : 1, false);
}

} // namespace

std::vector<TestCase> i915_cases()
{
	std::vector<TestCase> cases = {{"i915-mock-selftests", mock_selftests},
				       {"i915-iommu-state", iommu_state},
				       {"i915-driver-message", driver_message}};

	for (const Mapping mapping : {Mapping::file, Mapping::offset})
		for (const NamedSize &size : shmem_sizes)
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

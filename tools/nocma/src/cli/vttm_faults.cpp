// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <thread>

#include <fcntl.h>

#include <fmt/format.h>

#include "cli/vttm_cases.hpp"
#include "cli/vttm_checks.hpp"
#include "drm/vttm.hpp"
#include "kernel/parameters.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

constexpr unsigned int rounds = 300;
constexpr std::uint64_t tt_mib = 8;
constexpr int most_faults = 1000000;

/* What a call that found no memory, or could not map it, may say by the ioctls' header. */
constexpr std::array<int, 2> documented = {ENOMEM, EFAULT};

/*
 * Makes allocations of ours fail, in the kernel and at random, while a call is under way. What
 * this process does between the calls, a page fault in its stack for one, is left alone.
 */
class FaultInjection
{
public:
	/* Throws SkipError when the kernel has no such capability. */
	FaultInjection(const fs::path &capability, unsigned int percent)
		: times_(capability / "times"),
		  marker_(::open("/proc/self/make-it-fail", O_RDWR | O_CLOEXEC))
	{
		if (!marker_ || !try_read_file(capability / "probability"))
			throw SkipError(fmt::format("no {}: needs CONFIG_FAULT_INJECTION_DEBUG_FS",
						    capability.native()));
		set(capability / "task-filter", "Y");
		set(capability / "verbose", "0");
		set(capability / "interval", "1");
		set(capability / "times", std::to_string(most_faults));
		set(capability / "ignore-gfp-wait", "N");
		set(capability / "ignore-gfp-highmem", "N");
		set(capability / "min-order", "0");
		set(capability / "probability", std::to_string(percent));
	}

	FaultInjection(const FaultInjection &) = delete;
	FaultInjection &operator=(const FaultInjection &) = delete;
	FaultInjection(FaultInjection &&) = delete;
	FaultInjection &operator=(FaultInjection &&) = delete;
	/* The last one first: as long as there is a probability, the filter has to stay. */
	~FaultInjection()
	{
		while (!saved_.empty())
			saved_.pop_back();
	}

	/* How many allocations have failed: the kernel counts down. */
	[[nodiscard]] int faults() const { return most_faults - std::stoi(read_file(times_)); }

	/* Runs the call; 0, or the error it threw. */
	template <typename Call> int during(Call call)
	{
		mark('1');
		try {
			call();
		} catch (const SystemError &error) {
			mark('0');
			return error.error();
		} catch (...) {
			mark('0');
			throw;
		}
		mark('0');
		return 0;
	}

private:
	/* Not each capability has each of them. */
	void set(const fs::path &file, std::string_view value)
	{
		if (try_read_file(file))
			saved_.push_back(std::make_unique<SavedParameter>(file, value));
	}

	void mark(char value)
	{
		if (::pwrite(marker_.get(), &value, 1, 0) != 1)
			throw SystemError("write", "/proc/self/make-it-fail", errno);
	}

	fs::path times_;
	UniqueFd marker_;
	std::vector<std::unique_ptr<SavedParameter>> saved_;
};

void expect_documented(int error)
{
	if (error != 0 &&
	    std::find(documented.begin(), documented.end(), error) == documented.end())
		throw Error(fmt::format("{}, which is not documented", errno_text(error)));
}

/* An object's life, any part of which may fail. */
void live(FaultInjection &faults, const DrmDevice &device, unsigned int round,
	  std::optional<VttmObject> &neighbour, std::map<int, unsigned int> &results)
{
	constexpr std::array<std::uint64_t, 4> sizes = {4096, 65536, 3 << 20, 5 << 20};
	std::optional<VttmObject> object;
	const auto step = [&](auto call) {
		const int error = faults.during(call);

		results[error]++;
		expect_documented(error);
		return error == 0;
	};

	if (!step([&] { object.emplace(device, sizes.at(round % sizes.size()), round % 3); }))
		return;
	step([&] { object->populate(); });
	step([&] { (void)object->layout(); });
	if (neighbour)
		step([&] { neighbour->populate(); });
	step([&] { object->unpopulate(); });
	step([&] { object->populate(); });
	/* Stays to be evicted by those that follow. */
	neighbour.reset();
	if (round % 2 == 0)
		neighbour.emplace(std::move(*object));
}

fs::path debugfs_of(std::string_view capability)
{
	return fs::path("/sys/kernel/debug") / capability;
}

/* A fault need not be an error: for a huge page TTM takes smaller ones. */
void report(KtapWriter &ktap, int faults, const std::map<int, unsigned int> &results)
{
	ktap.diagnostic(fmt::format("{} allocations failed", faults));
	for (const auto &[error, count] : results)
		ktap.diagnostic(fmt::format("{} times {}", count,
					    error == 0 ? "success" : errno_text(error)));
	if (faults == 0)
		throw Error("no allocation failed: this tested nothing");
}

void survive(KtapWriter &ktap, std::string_view capability, unsigned int percent, bool coherent)
{
	const VttmInstance instance(
		{.coherent = coherent, .tt_mib = static_cast<unsigned int>(tt_mib)});
	const DrmDevice device = instance.open();
	{
		std::map<int, unsigned int> results;
		FaultInjection faults(debugfs_of(capability), percent);
		std::optional<VttmObject> neighbour;

		for (unsigned int round = 0; round < rounds; round++)
			live(faults, device, round, neighbour, results);
		report(ktap, faults.faults(), results);
	}
	expect_no_leak(device);
	if (coherent)
		vttm_drain(device);
}

/* Each step of making a device fails at some time. */
void make_devices(KtapWriter &ktap, std::string_view capability, unsigned int percent)
{
	const VttmInstance instance({});

	instance.remove();
	{
		std::map<int, unsigned int> results;
		FaultInjection faults(debugfs_of(capability), percent);

		for (unsigned int round = 0; round < rounds; round++) {
			const int error = faults.during([&] { instance.enable(); });

			results[error]++;
			/* EINVAL: the driver core could not make up a name. */
			if (error != EINVAL)
				expect_documented(error);
			instance.remove();
		}
		report(ktap, faults.faults(), results);
	}
	instance.enable();
	const DrmDevice device = instance.open();
	VttmObject(device, tt_mib << 20, DRM_VTTM_CACHING_CACHED).populate();
}

/* What the cases before have lost; kmemleak reports nothing younger than five seconds. */
void kmemleak_is_silent(KtapWriter &ktap)
{
	const fs::path file = "/sys/kernel/debug/kmemleak";

	if (!try_read_file(file))
		throw SkipError("no /sys/kernel/debug/kmemleak: needs CONFIG_DEBUG_KMEMLEAK");
	std::this_thread::sleep_for(std::chrono::seconds(6));
	/* What one scan reports may have been on its way: the second one decides. */
	write_existing(file, "scan");
	write_existing(file, "scan");
	const std::string report = read_file(file);
	if (report.find("ttm") == std::string::npos)
		return;
	ktap.diagnostic(report);
	throw Error("memory that TTM or vttm allocated is referenced by nothing");
}

} // namespace

std::vector<VttmCase> vttm_fault_cases()
{
	std::vector<VttmCase> cases;

	for (const std::string_view capability : {"failslab", "fail_page_alloc"})
		for (const bool coherent : {true, false})
			for (const unsigned int percent : {1U, 10U, 50U})
				cases.push_back(
					{fmt::format("vttm-{}-{}-{}percent", capability,
						     coherent ? "coherent" : "plain", percent),
					 [=](KtapWriter &ktap) {
						 survive(ktap, capability, percent, coherent);
					 }});
	cases.push_back({"vttm-failslab-devices", [](KtapWriter &ktap) {
				 make_devices(ktap, "failslab", 1);
			 }});
	cases.push_back({"vttm-fail_page_alloc-devices", [](KtapWriter &ktap) {
				 make_devices(ktap, "fail_page_alloc", 10);
			 }});
	cases.push_back({"vttm-kmemleak-is-silent", kmemleak_is_silent});
	return cases;
}

} // namespace nocma::cli

// SPDX-License-Identifier: GPL-2.0-only
#include "cli/walk.hpp"

#include <array>
#include <span>
#include <string>

#include <fmt/format.h>

#include "cli/shmem_pages.hpp"
#include "drm/i915.hpp"
#include "kernel/counters.hpp"
#include "kernel/smaps.hpp"
#include "kernel/tlb_counter.hpp"
#include "util/error.hpp"
#include "util/interrupt.hpp"

namespace nocma::cli
{

namespace
{

using Clock = std::chrono::steady_clock;

constexpr std::array<std::uint64_t, 2> strides = {4096, 2 << 20};

/* An object mapped by its file, so that its huge pages can be mapped as such. */
class Walked
{
public:
	Walked(const DrmDevice &device, std::uint64_t bytes)
		: before_(read_shmem_usage()), file_(device, bytes)
	{
		/* Zero it is, as walk() wants it. */
		for (std::size_t offset = 0; offset < bytes; offset += 4096)
			file_.bytes()[offset] = std::byte{0};
		huge_ = read_shmem_usage().huge - before_.huge;
	}

	[[nodiscard]] std::span<const std::byte> bytes() const { return file_.bytes(); }
	[[nodiscard]] std::uint64_t huge() const noexcept { return huge_; }
	[[nodiscard]] std::uint64_t mapped() const
	{
		return find_counter(read_smaps(file_.bytes().data()), "ShmemPmdMapped").value_or(0);
	}

private:
	ShmemUsage before_;
	I915FileMapping file_;
	std::uint64_t huge_ = 0;
};

/* Each load waits for the one before, whose value, 0, is part of its address. */
std::uint64_t walk(std::span<const std::byte> data, std::uint64_t stride)
{
	const volatile std::byte *const bytes = data.data();
	std::uint64_t chain = 0;

	visit_pages(data.size(), stride, [&](std::uint64_t offset) {
		chain += std::to_integer<std::uint64_t>(bytes[offset + chain]);
	});
	return chain;
}

void measure(WalkCase &one, const Walked &object, const TlbCounter &counter)
{
	counter.start();
	const Clock::time_point began = Clock::now();
	if (walk(object.bytes(), one.stride) != 0)
		throw Error("an object that was zero is not any more");
	const Clock::duration time = Clock::now() - began;
	const std::optional<std::uint64_t> misses = counter.stop();
	one.walk_ns.add(static_cast<std::uint64_t>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(time).count()));
	if (one.tlb_misses && misses)
		*one.tlb_misses += *misses;
	else
		one.tlb_misses.reset();
}

} // namespace

WalkResult walk_objects(const WalkOptions &options)
{
	const DrmDevice device = DrmDevice::open("i915");
	const TlbCounter counter;
	WalkResult result;

	result.device_driver = device.driver();
	result.device_version = device.version();
	result.object_bytes = options.object_bytes;
	result.tlb_problem = counter.problem();
	const Walked huge(device, options.object_bytes);
	if (huge.huge() != options.object_bytes)
		throw SkipError(fmt::format("{} KiB of an object of {} KiB are in huge pages: see "
					    "nocma test --backend i915",
					    huge.huge() >> 10, options.object_bytes >> 10));
	const HugePagesDenied denied;
	const Walked small(device, options.object_bytes);
	if (small.huge() != 0)
		throw Error("an object got huge pages though they are denied");

	const std::array<const Walked *, 2> objects = {&huge, &small};
	for (const Walked *object : objects)
		for (const std::uint64_t stride : strides) {
			static_cast<void>(walk(object->bytes(), stride));
			result.cases.push_back({.huge = object == &huge,
						.mapped = object->mapped(),
						.stride = stride,
						.tlb_misses = 0});
		}

	/* In turn, so that a drift of the machine hits all of them. */
	const Clock::time_point end =
		Clock::now() + std::chrono::duration_cast<Clock::duration>(
				       options.duration * static_cast<double>(result.cases.size()));
	for (std::uint64_t done = 0; done == 0 || (done < options.walks && Clock::now() < end);
	     done++) {
		InterruptGuard::check();
		for (WalkCase &one : result.cases)
			measure(one, one.huge ? huge : small, counter);
	}
	return result;
}

} // namespace nocma::cli

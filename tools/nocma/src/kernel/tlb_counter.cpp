// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/tlb_counter.hpp"

#include <cerrno>

#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

TlbCounter::TlbCounter()
{
	perf_event_attr attributes{};

	attributes.size = sizeof(attributes);
	attributes.type = PERF_TYPE_HW_CACHE;
	attributes.config = PERF_COUNT_HW_CACHE_DTLB | (PERF_COUNT_HW_CACHE_OP_READ << 8U) |
			    (PERF_COUNT_HW_CACHE_RESULT_MISS << 16U);
	attributes.disabled = 1;
	attributes.exclude_kernel = 1;
	attributes.exclude_hv = 1;
	attributes.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	event_.reset(static_cast<int>(
		::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
	if (!event_)
		problem_ = fmt::format("perf_event_open: {}", errno_text(errno));
}

void TlbCounter::start() const
{
	if (!event_)
		return;
	::ioctl(event_.get(), PERF_EVENT_IOC_RESET, 0);
	::ioctl(event_.get(), PERF_EVENT_IOC_ENABLE, 0);
}

std::optional<std::uint64_t> TlbCounter::stop() const
{
	/* As read_format says. */
	struct {
		std::uint64_t count;
		std::uint64_t enabled;
		std::uint64_t running;
	} value{};

	if (!event_)
		return std::nullopt;
	::ioctl(event_.get(), PERF_EVENT_IOC_DISABLE, 0);
	if (::read(event_.get(), &value, sizeof(value)) != sizeof(value) ||
	    value.enabled != value.running)
		return std::nullopt;
	return value.count;
}

} // namespace nocma

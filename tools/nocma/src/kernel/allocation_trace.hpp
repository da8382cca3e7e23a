/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/activity.hpp"

struct tep_event;
struct tep_record;

namespace nocma
{

/* First of the names that /proc/kallsyms' text has as a function, module or not. */
std::optional<std::string> find_function(std::string_view kallsyms,
					 const std::vector<std::string> &names);

/* Probe argument for the n-th parameter (from 1): $argN, or x86-64's register for it. */
std::string probe_argument(unsigned int number, bool has_arg_access);

/* "misses" of an event in the text of kprobe_profile; 0 for an event that is not in it. */
std::uint64_t missed_hits(std::string_view profile, std::string_view event);

/* Events that a per_cpu/cpuN/stats file says were overwritten or dropped. */
std::uint64_t lost_events(std::string_view stats);

/* A recorded event as the probe hit it stands for; throws Error on one that is not ours. */
ProbeHit decode_hit(tep_event *event, tep_record *record);

/*
 * Traces TTM's pool function, dma_alloc_attrs() and cma_alloc() for the calling task by kprobes in
 * a trace instance of its own. Everything is removed with the object. A lost event or a missed
 * probe hit is an Error at the next collect(): counts are complete or there are none.
 */
class AllocationTrace
{
public:
	/* Throws SkipError that says what the kernel lacks. Starts tracing ttm and cma. */
	AllocationTrace();
	AllocationTrace(const AllocationTrace &) = delete;
	AllocationTrace &operator=(const AllocationTrace &) = delete;
	AllocationTrace(AllocationTrace &&) = delete;
	AllocationTrace &operator=(AllocationTrace &&) = delete;
	~AllocationTrace();

	/*
	 * dma_alloc_attrs() is called once per chunk, up to once per page: its probes are off
	 * unless asked for, so that they do not weigh on what is measured. Throws SkipError
	 * when this kernel has no such function to probe.
	 */
	void trace_dma(bool on);

	/*
	 * Everything that tells where the time of a populate goes: dma_alloc_attrs(), compaction
	 * and reclaim, as far as this kernel has them. Off unless asked for, too.
	 */
	void trace_details(bool on);

	/* The functions that trace_details() traces on this kernel, and those always traced. */
	[[nodiscard]] const std::set<Traced> &detailed() const noexcept;

	/* Mean time that tracing one call takes, seen on a system call that does next to nothing.
	 */
	std::chrono::nanoseconds measure_cost();

	/* Every call since the last collect(), in the order of entry. */
	std::vector<TracedCall> collect();

	/* TTM's function that is probed. */
	[[nodiscard]] const std::string &ttm_function() const noexcept;

private:
	class Impl;
	std::unique_ptr<Impl> impl_;
};

} // namespace nocma

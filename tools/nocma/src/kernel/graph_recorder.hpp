/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace nocma
{

/* Which of the names are functions that this kernel can trace, module or not, in their order. */
std::vector<std::string> traceable(std::string_view available_filter_functions,
				   const std::vector<std::string> &names);

/* What to put into buffer_size_kb to get back to what it says: "7 (expanded: 1408)" is 7. */
std::string buffer_size_setting(std::string_view buffer_size_kb);

/* A size for each CPU's buffer, in KiB: large, but not on all of many CPUs. */
std::size_t buffer_kib_per_cpu(unsigned int cpus);

struct GraphRequest {
	std::vector<std::string> roots; /* traced with what they call; one must be there */
	std::vector<std::string> below; /* of what they call, that is worth its overhead */
	/* The same, but called by everybody: only where it can be traced below the roots alone. */
	std::vector<std::string> common;
	std::chrono::seconds duration;
};

/*
 * Records this machine's calls with function_graph and returns the tracer's text, in front of it a
 * "CPU:N [LOST M EVENTS]" for each buffer that overran. Kernels from 6.11 on have that tracer in
 * instances: one of our own is used, nobody's setting is touched. On older ones the global tracer
 * is, and only if it is not in use. Everything is undone when this returns, throws, or is killed.
 *
 * Throws SkipError that says what this kernel or user lacks.
 */
std::string record_graph(const GraphRequest &request);

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace nocma
{

/* Which memory is on which NUMA node. */
class NumaNodes
{
public:
	/* From the text of /proc/zoneinfo. Throws Error when a number is none. */
	explicit NumaNodes(std::string_view zoneinfo);

	/* Nodes with memory. */
	[[nodiscard]] std::size_t count() const;
	[[nodiscard]] bool has(int node) const;

	/* The node of a page frame, -1 when no zone spans it. */
	[[nodiscard]] int node_of(std::uint64_t pfn) const;

private:
	struct Zone {
		int node;
		std::uint64_t first_pfn;
		std::uint64_t pages; /* holes included */
	};

	std::vector<Zone> zones_;
};

NumaNodes read_numa_nodes(const std::filesystem::path &proc = "/proc");

} // namespace nocma

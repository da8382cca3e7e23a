// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/numa.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <string>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

/* The number behind the label, with which the line begins. */
std::uint64_t number_after(std::string_view line, std::string_view label)
{
	const std::string_view text = trim(line.substr(label.size()));
	std::uint64_t value = 0;

	if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc())
		throw Error(fmt::format("zoneinfo: no number in line '{}'", line));
	return value;
}

} // namespace

/* "Node 0, zone DMA32", then "spanned N" and, in zones that have pages, "start_pfn: N". */
NumaNodes::NumaNodes(std::string_view zoneinfo)
{
	constexpr std::string_view node = "Node ";
	constexpr std::string_view spanned = "spanned ";
	constexpr std::string_view start = "start_pfn:";
	Zone zone{};

	for (const std::string &whole : split_lines(zoneinfo)) {
		const std::string_view line = trim(whole);

		if (line.starts_with(node)) {
			zone = {.node = static_cast<int>(number_after(line, node)),
				.first_pfn = 0,
				.pages = 0};
		} else if (line.starts_with(spanned)) {
			zone.pages = number_after(line, spanned);
		} else if (line.starts_with(start)) {
			zone.first_pfn = number_after(line, start);
			zones_.push_back(zone);
		}
	}
}

std::size_t NumaNodes::count() const
{
	std::set<int> nodes;

	for (const Zone &zone : zones_)
		nodes.insert(zone.node);
	return nodes.size();
}

bool NumaNodes::has(int node) const
{
	return std::any_of(zones_.begin(), zones_.end(),
			   [node](const Zone &zone) { return zone.node == node; });
}

int NumaNodes::node_of(std::uint64_t pfn) const
{
	for (const Zone &zone : zones_)
		if (pfn >= zone.first_pfn && pfn - zone.first_pfn < zone.pages)
			return zone.node;
	return -1;
}

NumaNodes read_numa_nodes(const std::filesystem::path &proc)
{
	return NumaNodes(read_file(proc / "zoneinfo"));
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/cma.hpp"

#include <algorithm>
#include <system_error>

#include "util/file.hpp"

namespace nocma
{

std::optional<std::vector<CmaArea>> read_cma_areas(const std::filesystem::path &debugfs)
{
	std::error_code missing;
	std::vector<CmaArea> areas;

	std::filesystem::directory_iterator entries(debugfs / "cma", missing);
	if (missing)
		return std::nullopt;
	for (const std::filesystem::directory_entry &entry : entries) {
		const std::filesystem::path &folder = entry.path();

		/* 6.15 and later keep a folder of ranges beside the areas' own files. */
		if (!std::filesystem::exists(folder / "base_pfn", missing))
			continue;
		areas.push_back({.name = folder.filename(),
				 .base_pfn = read_number(folder / "base_pfn"),
				 .count = read_number(folder / "count"),
				 .used = read_number(folder / "used"),
				 .maxchunk = read_number(folder / "maxchunk")});
	}
	std::sort(areas.begin(), areas.end(),
		  [](const CmaArea &a, const CmaArea &b) { return a.name < b.name; });
	return areas;
}

CmaState read_cma_state(const std::filesystem::path &proc, const std::filesystem::path &debugfs)
{
	const Counters meminfo = read_meminfo(proc);

	return {.total_bytes = find_counter(meminfo, "CmaTotal"),
		.free_bytes = find_counter(meminfo, "CmaFree"),
		.areas = read_cma_areas(debugfs)};
}

std::optional<std::string> why_no_cma(const CmaState &state)
{
	if (!state.total_bytes)
		return "no CmaTotal in /proc/meminfo: kernel built without CONFIG_CMA";
	if (*state.total_bytes == 0)
		return "CmaTotal is 0: no contiguous memory area, boot with cma=SIZE";
	return std::nullopt;
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "trace/functions.hpp"

#include <algorithm>
#include <array>
#include <initializer_list>

namespace nocma::trace
{

namespace
{

struct Known {
	std::string_view name;
	Role role;
};

constexpr std::array known = {
	/* v5.11 and later */
	Known{"ttm_pool_alloc", Role::populate},
	Known{"ttm_pool_alloc_page", Role::page},
	Known{"ttm_tt_populate", Role::populate},
	/* before: ttm_page_alloc_dma.c */
	Known{"ttm_dma_populate", Role::populate},
	Known{"ttm_dma_pool_get_pages", Role::part},
	Known{"ttm_dma_page_pool_fill_locked", Role::part},
	Known{"ttm_dma_pool_alloc_new_pages", Role::part},
	Known{"__ttm_dma_alloc_page", Role::page},
	/* before: ttm_page_alloc.c, without the DMA API */
	Known{"ttm_pool_populate", Role::populate},
	Known{"ttm_populate_and_map_pages", Role::populate},
	/* drivers */
	Known{"amdgpu_ttm_tt_populate", Role::populate},
	Known{"nouveau_ttm_tt_populate", Role::populate},
	Known{"radeon_ttm_tt_populate", Role::populate},
	Known{"vmw_ttm_populate", Role::populate},
	/* CMA, from the DMA API's side down */
	Known{"dma_alloc_contiguous", Role::cma},
	Known{"dma_alloc_from_contiguous", Role::cma},
	Known{"cma_alloc_aligned", Role::cma},
	Known{"cma_alloc", Role::cma},
	Known{"__cma_alloc", Role::cma},
	Known{"cma_alloc_frozen", Role::cma},
	Known{"__cma_alloc_frozen", Role::cma},
	Known{"cma_range_alloc", Role::cma},
	Known{"alloc_contig_range", Role::cma},
	Known{"alloc_contig_range_noprof", Role::cma},
	Known{"alloc_contig_frozen_range_noprof", Role::cma},
};

/* Between TTM and CMA. */
constexpr std::array<std::string_view, 8> between = {
	"dma_alloc_attrs",	    "dma_direct_alloc",
	"__dma_direct_alloc_pages", "dma_generic_alloc_coherent",
	"intel_alloc_coherent",	    "iommu_dma_alloc",
	"iommu_dma_alloc_pages",    "dma_common_alloc_pages",
};

/* What else a page costs. */
constexpr std::array<std::string_view, 13> common = {
	"__alloc_pages",
	"__alloc_pages_nodemask",
	"__alloc_pages_noprof",
	"__alloc_frozen_pages_noprof",
	"isolate_migratepages_range",
	"migrate_pages",
	"test_pages_isolated",
	"start_isolate_page_range",
	"drain_all_pages",
	"lru_add_drain_all",
	"set_pages_array_wc",
	"set_pages_array_uc",
	"ttm_set_pages_caching",
};

/* The compiler may split a function: "cma_alloc.part.0". */
std::string_view without_suffix(std::string_view function)
{
	return function.substr(0, function.find('.'));
}

bool has_any(const std::vector<std::string> &functions,
	     std::initializer_list<std::string_view> wanted)
{
	return std::any_of(functions.begin(), functions.end(), [&](const std::string &function) {
		return std::find(wanted.begin(), wanted.end(), without_suffix(function)) !=
		       wanted.end();
	});
}

} // namespace

Role role_of(std::string_view function)
{
	const std::string_view name = without_suffix(function);
	const auto found = std::find_if(known.begin(), known.end(), [name](const Known &candidate) {
		return candidate.name == name;
	});

	return found == known.end() ? Role::none : found->role;
}

std::vector<std::string> populate_functions()
{
	std::vector<std::string> names;

	for (const Known &function : known)
		if (function.role == Role::populate)
			names.emplace_back(function.name);
	return names;
}

std::vector<std::string> allocation_functions()
{
	std::vector<std::string> names(between.begin(), between.end());

	for (const Known &function : known)
		if (function.role != Role::populate)
			names.emplace_back(function.name);
	return names;
}

std::vector<std::string> common_functions()
{
	return {common.begin(), common.end()};
}

std::string series_of(const std::vector<std::string> &functions)
{
	if (has_any(functions, {"dma_generic_alloc_coherent"}))
		return "v4.15";
	if (has_any(functions, {"ttm_dma_populate", "ttm_dma_pool_get_pages",
				"__ttm_dma_alloc_page", "ttm_dma_pool_alloc_new_pages"}))
		return has_any(functions, {"dma_alloc_attrs", "dma_direct_alloc",
					   "__dma_direct_alloc_pages", "dma_alloc_contiguous"})
			       ? "v5.10"
			       : "v4.15 or v5.10, whichever is the kernel's,";
	if (has_any(functions,
		    {"__alloc_frozen_pages_noprof", "cma_alloc_frozen", "__cma_alloc_frozen",
		     "cma_range_alloc", "alloc_contig_frozen_range_noprof"}))
		return "v7.2";
	if (has_any(functions, {"__alloc_pages_noprof", "alloc_contig_range_noprof"}))
		return "v6.12";
	if (has_any(functions, {"__alloc_pages"}))
		return "v6.1";
	return "v6.1, v6.12 or v7.2, whichever is the kernel's,";
}

} // namespace nocma::trace

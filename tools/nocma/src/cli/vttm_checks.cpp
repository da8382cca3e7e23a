// SPDX-License-Identifier: GPL-2.0-only
#include "cli/vttm_checks.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "util/error.hpp"

namespace nocma::cli
{

namespace
{

/* Name of the area that has a page of the chunk, or nothing. */
std::optional<std::string> area_of(const Areas &areas, const drm_vttm_chunk &chunk)
{
	if (!areas)
		return std::nullopt;
	for (std::uint64_t page = 0; page >> chunk.order == 0; page++)
		for (const CmaArea &area : *areas)
			if (area.contains(chunk.pfn + page))
				return area.name;
	return std::nullopt;
}

} // namespace

ChunkOrders chunks_in_cma(const Areas &areas, const VttmLayout &layout)
{
	ChunkOrders orders{};

	for (const drm_vttm_chunk &chunk : layout.chunks)
		if (area_of(areas, chunk))
			orders.at(chunk.order)++;
	return orders;
}

std::uint64_t pages_of(const VttmLayout &layout)
{
	std::uint64_t pages = 0;

	for (const drm_vttm_chunk &chunk : layout.chunks)
		pages += std::uint64_t{1} << chunk.order;
	return pages;
}

void expect_layout(const VttmLayout &layout, std::uint64_t bytes, unsigned int dma_bits)
{
	const std::uint64_t pages = (bytes + page_bytes - 1) / page_bytes;
	const std::uint64_t mask =
		dma_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << dma_bits) - 1;

	if ((layout.info.flags & DRM_VTTM_INFO_ADDRESSES) == 0)
		throw SkipError("no addresses: needs CAP_SYS_ADMIN");
	if (!layout.populated() || layout.info.domain != DRM_VTTM_DOMAIN_TT)
		throw Error("populated, yet the device cannot see the object");
	if (pages_of(layout) != pages)
		throw Error(fmt::format("{} chunks with {} pages, not {}", layout.chunks.size(),
					pages_of(layout), pages));
	for (const drm_vttm_chunk &chunk : layout.chunks)
		if (chunk.dma_addr + (page_bytes << chunk.order) - 1 > mask)
			throw Error(fmt::format(
				"chunk of order {} at bus address {:#x}: beyond {} bits",
				chunk.order, static_cast<std::uint64_t>(chunk.dma_addr), dma_bits));
}

void expect_none_in_cma(KtapWriter &ktap, const CmaState &cma, const ChunkOrders &in_cma)
{
	if (const auto reason = why_no_cma(cma))
		throw SkipError("contents and addresses are right, but " + *reason);
	ktap.diagnostic("cma_alloc by order: " + format_orders(in_cma));
	if (std::any_of(in_cma.begin(), in_cma.end(), [](std::uint32_t n) { return n != 0; }))
		throw Error("chunks in a contiguous memory area, by order: " +
			    format_orders(in_cma));
}

void expect_areas_as_before(const Areas &before)
{
	const Areas after = read_cma_areas();

	if (!before || !after)
		return;
	for (std::size_t i = 0; i < before->size() && i < after->size(); i++)
		if ((*before)[i].used != (*after)[i].used)
			throw Error(fmt::format("area {}: {} pages used before, {} after",
						(*before)[i].name, (*before)[i].used,
						(*after)[i].used));
}

void expect_gone(const VttmObject &object)
{
	try {
		object.populate();
	} catch (const SystemError &error) {
		if (error.error() != ENODEV)
			throw;
		return;
	}
	throw Error("an object of a device that is gone was populated");
}

void expect_no_leak(const DrmDevice &device)
{
	constexpr int most_looks = 50;

	for (int looks = 0; looks < most_looks; looks++) {
		const drm_vttm_device info = vttm_device_info(device);

		if (info.objects == 0 && info.pages == 0)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	const drm_vttm_device info = vttm_device_info(device);
	throw Error(fmt::format("{} objects and {} pages are left behind",
				static_cast<std::uint64_t>(info.objects),
				static_cast<std::uint64_t>(info.pages)));
}

} // namespace nocma::cli

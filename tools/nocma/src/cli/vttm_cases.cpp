// SPDX-License-Identifier: GPL-2.0-only
#include "cli/vttm_cases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "cli/vttm_checks.hpp"
#include "drm/buffer_object.hpp"
#include "drm/vttm.hpp"
#include "kernel/cma.hpp"
#include "kernel/counters.hpp"
#include "kernel/parameters.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

struct Cell {
	bool coherent;
	unsigned int dma_bits;
	std::uint32_t caching;
	std::uint64_t bytes;
	bool warm;
};

/* A pool that keeps nothing would make every populate a cold one. */
std::unique_ptr<SavedParameter> let_pool_keep_pages()
{
	const std::filesystem::path file = parameter_file("ttm", "page_pool_size");

	if (!try_read_file(file))
		return nullptr;
	return std::make_unique<SavedParameter>(file, "1000000");
}

void populate_cell(KtapWriter &ktap, const Cell &cell)
{
	const std::unique_ptr<SavedParameter> kept = cell.warm ? let_pool_keep_pages() : nullptr;
	const CmaState cma = read_cma_state();
	const VttmInstance instance(
		{.dma_bits = cell.dma_bits, .coherent = cell.coherent, .tt_mib = 128});
	const DrmDevice device = instance.open();
	ChunkOrders in_cma{};

	{
		const VttmObject object(device, cell.bytes, cell.caching);

		if (cell.warm) {
			object.populate();
			object.unpopulate();
		}
		const drm_vttm_populate populate = object.populate();
		const VttmLayout layout = object.layout();

		ktap.diagnostic(fmt::format("chunks by order: {}, {} ns",
					    format_orders(populate.chunks),
					    static_cast<std::uint64_t>(populate.ns)));
		expect_layout(layout, cell.bytes, cell.dma_bits);
		in_cma = chunks_in_cma(cma.areas, layout);
		expect_zero(object.bytes());
		write_pattern(object.bytes(), 1);
		expect_pattern(object.bytes(), 1);
		object.unpopulate();
		expect_zero(object.bytes());
	}
	expect_no_leak(device);
	if (cell.coherent)
		vttm_drain(device);
	expect_areas_as_before(cma.areas);

	expect_none_in_cma(ktap, cma, in_cma);
}

/* An area of the device's own is placement: the flag must not keep the device out of it. */
void own_area_is_used(KtapWriter &ktap)
{
	constexpr std::uint64_t bytes = 4 << 20;
	const CmaState cma = read_cma_state();

	if (const auto reason = why_no_cma(cma))
		throw SkipError(*reason);
	const VttmInstance instance({.own_cma = true});
	const DrmDevice device = instance.open();
	const VttmObject object(device, bytes, DRM_VTTM_CACHING_CACHED);
	const drm_vttm_populate populate = object.populate();
	const auto in_cma = chunks_in_cma(cma.areas, object.layout());

	ktap.diagnostic(fmt::format("chunks by order: {}, in the area: {}",
				    format_orders(populate.chunks), format_orders(in_cma)));
	if (!std::equal(in_cma.begin(), in_cma.end(), std::begin(populate.chunks)))
		throw Error("not every chunk is in the device's own area");
}

/* Otherwise the IOMMU is there and nothing goes through it. */
void expect_translated(const VttmLayout &layout)
{
	if (std::all_of(layout.chunks.begin(), layout.chunks.end(),
			[](const auto &chunk) { return chunk.dma_addr == chunk.pfn * page_bytes; }))
		throw Error("behind an IOMMU, but the bus addresses are the physical ones");
}

/* The pool's memory is mapped in a real bus address space, where there is VT-d. */
void pci_function(KtapWriter &ktap, std::uint64_t bytes)
{
	const CmaState cma = read_cma_state();
	const VttmPciFunction function;
	const DrmDevice device = function.open();
	ChunkOrders in_cma{};

	{
		const VttmObject object(device, bytes, DRM_VTTM_CACHING_CACHED);
		const drm_vttm_populate populate = object.populate();
		const VttmLayout layout = object.layout();

		ktap.diagnostic(fmt::format("{}, chunks by order: {}",
					    function.translated() ? "translated" : "not translated",
					    format_orders(populate.chunks)));
		expect_layout(layout, bytes, 64);
		if (function.translated())
			expect_translated(layout);
		in_cma = chunks_in_cma(cma.areas, layout);
		expect_zero(object.bytes());
		write_pattern(object.bytes(), 1);
		expect_pattern(object.bytes(), 1);
	}
	expect_no_leak(device);
	vttm_drain(device);
	expect_areas_as_before(cma.areas);
	expect_none_in_cma(ktap, cma, in_cma);
}

void eviction_keeps_contents(KtapWriter &ktap)
{
	constexpr unsigned int tt_mib = 8;
	constexpr std::uint64_t bytes = 3 << 20;
	constexpr std::size_t count = 5;
	const VttmInstance instance({.tt_mib = tt_mib});
	const DrmDevice device = instance.open();
	std::vector<VttmObject> objects;

	for (std::size_t i = 0; i < count; i++) {
		objects.emplace_back(device, bytes, DRM_VTTM_CACHING_WRITE_COMBINED);
		objects.back().populate();
		write_pattern(objects.back().bytes(), i);
	}
	const drm_vttm_device info = vttm_device_info(device);
	ktap.diagnostic(fmt::format("{} evictions", static_cast<std::uint64_t>(info.evictions)));
	if (info.evictions < count - tt_mib / 3)
		throw Error(fmt::format("{} objects of 3 MiB in a table of {} MiB, {} evictions",
					count, tt_mib, static_cast<std::uint64_t>(info.evictions)));
	if (objects.front().layout().info.domain != DRM_VTTM_DOMAIN_SYSTEM)
		throw Error("the object used least recently was not evicted");
	for (std::size_t i = 0; i < count; i++)
		expect_pattern(objects[i].bytes(), i);
	for (std::size_t i = 0; i < count; i++) {
		objects[i].populate();
		expect_pattern(objects[i].bytes(), i);
	}
	objects.clear();
	expect_no_leak(device);
}

void swapout_keeps_contents(KtapWriter &ktap)
{
	constexpr std::uint64_t bytes = 4 << 20;
	constexpr std::array<std::uint32_t, 3> cachings = {DRM_VTTM_CACHING_CACHED,
							   DRM_VTTM_CACHING_WRITE_COMBINED,
							   DRM_VTTM_CACHING_UNCACHED};

	if (find_counter(read_meminfo(), "SwapTotal").value_or(0) == 0)
		throw SkipError("no swap: needs a swap device of 16 MiB");
	const VttmInstance instance({});
	const DrmDevice device = instance.open();
	std::vector<VttmObject> objects;

	for (const std::uint32_t caching : cachings) {
		objects.emplace_back(device, bytes, caching);
		objects.back().populate();
		write_pattern(objects.back().bytes(), caching);
	}
	/* Runs the shrinkers; one of them is the device's. */
	write_existing("/proc/sys/vm/drop_caches", "2");
	const drm_vttm_device info = vttm_device_info(device);
	ktap.diagnostic(fmt::format("{} swap-outs, {} pages left",
				    static_cast<std::uint64_t>(info.swapouts),
				    static_cast<std::uint64_t>(info.pages)));
	if (info.swapouts != cachings.size())
		throw Error(fmt::format("{} of {} objects were swapped out",
					static_cast<std::uint64_t>(info.swapouts),
					cachings.size()));
	for (std::size_t i = 0; i < objects.size(); i++) {
		if (!objects[i].layout().swapped())
			throw Error("counted as swapped out, but is not");
		/* One way back is a page fault, the other a populate. */
		if (i % 2 == 0)
			objects[i].populate();
		expect_pattern(objects[i].bytes(), cachings.at(i));
	}
	objects.clear();
	expect_no_leak(device);
}

/* Device gone, file open, object mapped: all of its memory is back, and nobody crashes. */
void removal_while_mapped(KtapWriter &ktap)
{
	constexpr std::uint64_t bytes = 4 << 20;
	const Areas areas = read_cma_areas();
	const VttmInstance instance({});
	const DrmDevice device = instance.open();
	const VttmObject object(device, bytes, DRM_VTTM_CACHING_WRITE_COMBINED);
	const Toucher toucher;

	object.populate();
	write_pattern(object.bytes(), 1);
	instance.remove();
	expect_areas_as_before(areas);
	expect_gone(object);
	/* Since 5.12 a page of zeroes, before it SIGBUS, of which the kernel tells us. */
	try {
		toucher.touch(object.bytes().front());
		ktap.diagnostic("the mapping has a page in place of the device's");
	} catch (const SystemError &error) {
		if (error.error() != EFAULT)
			throw;
		ktap.diagnostic("the mapping has no page");
	}
}

void drain_needs_an_idle_pool(KtapWriter & /*ktap*/)
{
	const VttmInstance instance({});
	const DrmDevice device = instance.open();
	const VttmObject object(device, page_bytes, DRM_VTTM_CACHING_CACHED);

	vttm_drain(device);
	object.populate();
	try {
		vttm_drain(device);
	} catch (const SystemError &error) {
		if (error.error() != EBUSY)
			throw;
		object.unpopulate();
		vttm_drain(device);
		return;
	}
	throw Error("the pool was drained under an object");
}

std::string cell_name(const Cell &cell, std::string_view size)
{
	constexpr std::array<std::string_view, 3> cachings = {"cached", "wc", "uc"};

	return fmt::format("vttm-{}-{}bit-{}-{}-{}", cell.coherent ? "coherent" : "plain",
			   cell.dma_bits, cachings.at(cell.caching), size,
			   cell.warm ? "warm" : "cold");
}

/*
 * Below 16 MiB there is little memory, which a plain pool does not ask for and the bounce
 * buffers do not have: such a mask goes with coherent memory and small objects.
 */
bool is_possible(const Cell &cell)
{
	return cell.dma_bits >= 32 || (cell.coherent && cell.bytes <= 65536);
}

void add_cells(std::vector<VttmCase> &cases)
{
	struct Size {
		std::string_view name;
		std::uint64_t bytes;
	};
	constexpr std::array<Size, 7> sizes = {{
		{"4KiB", 4096},
		{"12KiB", 12288},
		{"64KiB", 65536},
		{"2MiB", 2 << 20},
		{"2052KiB", (2 << 20) + 4096},
		{"8294400B", 8294400},
		{"64MiB", 64 << 20},
	}};

	for (const bool coherent : {true, false})
		for (const unsigned int bits : {24U, 32U, 64U})
			for (const std::uint32_t caching : {0U, 1U, 2U})
				for (const Size &size : sizes)
					for (const bool warm : {false, true}) {
						const Cell cell{coherent, bits, caching, size.bytes,
								warm};

						if (is_possible(cell))
							cases.push_back(
								{cell_name(cell, size.name),
								 [cell](KtapWriter &ktap) {
									 populate_cell(ktap, cell);
								 }});
					}
}

} // namespace

std::vector<VttmCase> vttm_cases()
{
	std::vector<VttmCase> cases;

	add_cells(cases);
	for (const std::uint64_t kib : {4U, 64U, 2048U})
		cases.push_back({fmt::format("vttm-pci-{}KiB", kib), [kib](KtapWriter &ktap) {
					 pci_function(ktap, kib << 10);
				 }});
	cases.push_back({"vttm-own-area-is-used", own_area_is_used});
	cases.push_back({"vttm-eviction-keeps-contents", eviction_keeps_contents});
	cases.push_back({"vttm-swapout-keeps-contents", swapout_keeps_contents});
	cases.push_back({"vttm-removal-while-mapped", removal_while_mapped});
	cases.push_back({"vttm-drain-needs-an-idle-pool", drain_needs_an_idle_pool});
	cases.push_back({"vttm-random-ioctls", vttm_fuzz});
	for (auto *const more :
	     {vttm_user_cases, vttm_device_cases, vttm_unload_cases, vttm_fault_cases})
		for (VttmCase &test : more())
			cases.push_back(std::move(test));
	return cases;
}

} // namespace nocma::cli

// SPDX-License-Identifier: GPL-2.0-only
#include "cli/vttm_cases.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

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

constexpr std::uint64_t page_bytes = 4096;

struct Cell {
	bool coherent;
	unsigned int dma_bits;
	std::uint32_t caching;
	std::uint64_t bytes;
	bool warm;
};

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

/* The chunks that lie in a contiguous memory area, by order. */
std::array<std::uint32_t, DRM_VTTM_ORDERS> chunks_in_cma(const Areas &areas,
							 const VttmLayout &layout)
{
	std::array<std::uint32_t, DRM_VTTM_ORDERS> orders{};

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

/* The chunks are the object, no more and no less, and the device can reach them. */
void expect_layout(const VttmLayout &layout, const Cell &cell)
{
	const std::uint64_t pages = (cell.bytes + page_bytes - 1) / page_bytes;
	const std::uint64_t mask =
		cell.dma_bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << cell.dma_bits) - 1;

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
				chunk.order, static_cast<std::uint64_t>(chunk.dma_addr),
				cell.dma_bits));
}

void expect_zero(std::span<const std::byte> data)
{
	if (data.front() != std::byte{0} ||
	    std::memcmp(data.data(), data.data() + 1, data.size() - 1) != 0)
		throw Error("a page of a new object is not zero");
}

std::uint64_t pattern_of(std::size_t offset, std::uint64_t salt)
{
	return (offset + 1) * 0x9e3779b97f4a7c15ULL ^ salt;
}

/* Marks the first and the last word of each page. */
template <typename Visit> void for_each_mark(std::span<std::byte> data, Visit visit)
{
	constexpr std::size_t last = page_bytes - sizeof(std::uint64_t);

	for (std::size_t page = 0; page + page_bytes <= data.size(); page += page_bytes)
		for (const std::size_t offset : {page, page + last})
			visit(offset, data.data() + offset);
}

void write_pattern(std::span<std::byte> data, std::uint64_t salt)
{
	for_each_mark(data, [salt](std::size_t offset, std::byte *word) {
		const std::uint64_t value = pattern_of(offset, salt);

		std::memcpy(word, &value, sizeof(value));
	});
}

void expect_pattern(std::span<std::byte> data, std::uint64_t salt)
{
	for_each_mark(data, [salt](std::size_t offset, const std::byte *word) {
		std::uint64_t value = 0;

		std::memcpy(&value, word, sizeof(value));
		if (value != pattern_of(offset, salt))
			throw Error(fmt::format("byte {}: reads {:#x}, {:#x} was written", offset,
						value, pattern_of(offset, salt)));
	});
}

/* A pool that keeps nothing would make every populate a cold one. */
std::unique_ptr<SavedParameter> let_pool_keep_pages()
{
	const std::filesystem::path file = parameter_file("ttm", "page_pool_size");

	if (!try_read_file(file))
		return nullptr;
	return std::make_unique<SavedParameter>(file, "1000000");
}

/* With the flag no chunk is in an area; without it some are, and the test fails. */
void expect_none_in_cma(KtapWriter &ktap, const CmaState &cma,
			const std::array<std::uint32_t, DRM_VTTM_ORDERS> &in_cma)
{
	if (const auto reason = why_no_cma(cma))
		throw SkipError("contents and addresses are right, but " + *reason);
	ktap.diagnostic("cma_alloc by order: " + format_orders(in_cma));
	if (std::any_of(in_cma.begin(), in_cma.end(), [](std::uint32_t n) { return n != 0; }))
		throw Error("chunks in a contiguous memory area, by order: " +
			    format_orders(in_cma));
}

void populate_cell(KtapWriter &ktap, const Cell &cell)
{
	const std::unique_ptr<SavedParameter> kept = cell.warm ? let_pool_keep_pages() : nullptr;
	const CmaState cma = read_cma_state();
	const VttmInstance instance(
		{.dma_bits = cell.dma_bits, .coherent = cell.coherent, .tt_mib = 128});
	const DrmDevice device = instance.open();
	std::array<std::uint32_t, DRM_VTTM_ORDERS> in_cma{};

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
		expect_layout(layout, cell);
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
	std::array<std::uint32_t, DRM_VTTM_ORDERS> in_cma{};

	{
		const Cell cell{true, 64, DRM_VTTM_CACHING_CACHED, bytes, false};
		const VttmObject object(device, bytes, cell.caching);
		const drm_vttm_populate populate = object.populate();
		const VttmLayout layout = object.layout();

		ktap.diagnostic(fmt::format("{}, chunks by order: {}",
					    function.translated() ? "translated" : "not translated",
					    format_orders(populate.chunks)));
		expect_layout(layout, cell);
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
	try {
		object.populate();
		throw Error("an object of a device that is gone was populated");
	} catch (const SystemError &error) {
		if (error.error() != ENODEV)
			throw;
	}
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

/* Without CAP_SYS_ADMIN for a while. */
class Unprivileged
{
public:
	Unprivileged()
	{
		header_.version = _LINUX_CAPABILITY_VERSION_3;
		if (::syscall(SYS_capget, &header_, saved_.data()) != 0)
			throw SystemError("capget", "", errno);
		Data data = saved_;
		data[0].effective &= ~(1U << CAP_SYS_ADMIN);
		set(data);
	}
	Unprivileged(const Unprivileged &) = delete;
	Unprivileged &operator=(const Unprivileged &) = delete;
	Unprivileged(Unprivileged &&) = delete;
	Unprivileged &operator=(Unprivileged &&) = delete;
	~Unprivileged() { ::syscall(SYS_capset, &header_, saved_.data()); }

private:
	using Data = std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3>;

	void set(Data &data)
	{
		if (::syscall(SYS_capset, &header_, data.data()) != 0)
			throw SystemError("capset", "", errno);
	}

	__user_cap_header_struct header_{};
	Data saved_{};
};

void unprivileged_user(KtapWriter & /*ktap*/)
{
	constexpr std::uint64_t bytes = 1 << 20;
	const VttmInstance instance({});
	const DrmDevice device = instance.open();
	const Unprivileged guard;
	const VttmObject object(device, bytes, DRM_VTTM_CACHING_CACHED);

	object.populate();
	expect_zero(object.bytes());
	const VttmLayout layout = object.layout();
	if (pages_of(layout) != bytes / page_bytes)
		throw Error("the chunks are not the object");
	if ((layout.info.flags & DRM_VTTM_INFO_ADDRESSES) != 0 || layout.info.dma_low != 0 ||
	    layout.info.dma_high != 0)
		throw Error("bus addresses are shown without CAP_SYS_ADMIN");
	for (const drm_vttm_chunk &chunk : layout.chunks)
		if (chunk.pfn != 0 || chunk.dma_addr != 0)
			throw Error("page frames are shown without CAP_SYS_ADMIN");
	try {
		const VttmObject dirty(device, bytes, DRM_VTTM_CACHING_CACHED, 0);
	} catch (const SystemError &error) {
		if (error.error() != EPERM)
			throw;
		return;
	}
	throw Error("pages that are not cleared were given without CAP_SYS_ADMIN");
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
	cases.push_back({"vttm-unprivileged-user", unprivileged_user});
	cases.push_back({"vttm-drain-needs-an-idle-pool", drain_needs_an_idle_pool});
	cases.push_back({"vttm-random-ioctls", vttm_fuzz});
	for (auto *const more : {vttm_unload_cases, vttm_fault_cases})
		for (VttmCase &test : more())
			cases.push_back(std::move(test));
	return cases;
}

} // namespace nocma::cli

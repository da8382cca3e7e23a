// SPDX-License-Identifier: GPL-2.0-only
#include "pressure/user_pages.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <fmt/format.h>

#include "kernel/counters.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma
{

namespace
{

/* Stop filling at this share of free CMA; the effect counts from the second share on. */
constexpr std::uint64_t fill_percent = 3;
constexpr std::uint64_t effect_percent = 10;
constexpr std::uint64_t least_user_percent = 75;

/* Pages touched between two looks at /proc/meminfo: 1 MiB of 4 KiB pages. */
constexpr std::size_t pages_per_look = 256;

Counters meminfo_now()
{
	return parse_meminfo(read_file("/proc/meminfo"));
}

std::uint64_t counter_or_zero(const Counters &counters, std::string_view name)
{
	return find_counter(counters, name).value_or(0);
}

/*
 * Filling ends at this much of MemAvailable, which unlike MemFree leaves out what the kernel keeps
 * for itself: going on from there ends with the out-of-memory killer.
 */
std::uint64_t reserve_bytes(const Counters &meminfo)
{
	return counter_or_zero(meminfo, "MemTotal") / 100;
}

std::uint64_t sum_pages(const std::vector<CmaArea> &areas, std::uint64_t CmaArea::*member)
{
	std::uint64_t pages = 0;

	for (const CmaArea &area : areas)
		pages += area.*member;
	return pages;
}

} // namespace

bool choose_pinned(std::uint64_t pfn, std::uint64_t seed, std::uint64_t stride) noexcept
{
	/* One round of multiply and shift spreads neighbouring frames over all remainders. */
	std::uint64_t mixed = (pfn + seed + 1) * 0x9e3779b97f4a7c15;

	mixed ^= mixed >> 32U;
	mixed *= 0xd6e8feb86659fd93;
	mixed ^= mixed >> 32U;
	return mixed % stride == 0;
}

AnonymousMemory::AnonymousMemory(std::size_t bytes)
{
	void *const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (address == MAP_FAILED)
		throw SystemError("mmap", "", errno);
	memory_ = Mapping({static_cast<std::byte *>(address), bytes});
	/* Fails only where there are no huge pages at all. */
	::madvise(address, bytes, MADV_NOHUGEPAGE);
	/* A child would share the pages: what is released here would not become free. */
	::madvise(address, bytes, MADV_DONTFORK);
}

void AnonymousMemory::populate(std::size_t first_page, std::size_t pages) const
{
	const std::span<std::byte> part =
		memory_.bytes().subspan(first_page * page_size(), pages * page_size());

	if (::madvise(part.data(), part.size(), MADV_POPULATE_WRITE) == 0)
		return;
	for (std::size_t at = 0; at < part.size(); at += page_size())
		const_cast<volatile std::byte &>(part[at]) = std::byte{1};
}

void AnonymousMemory::release(std::size_t first_page, std::size_t pages) const
{
	std::byte *const begin = memory_.bytes().data() + first_page * page_size();

	if (::madvise(begin, pages * page_size(), MADV_DONTNEED) != 0)
		throw SystemError("madvise", "MADV_DONTNEED", errno);
}

void PagePins::pin(const std::vector<std::byte *> &pages)
{
	/* What root and others may set by default; one page takes one slot of the pipe. */
	constexpr int pipe_bytes = 1 << 20;
	std::size_t done = 0;

	while (done < pages.size()) {
		Pipe pipe = make_pipe();
		const int size = ::fcntl(pipe.write.get(), F_SETPIPE_SZ, pipe_bytes);

		if (size < 0)
			throw SystemError("fcntl", "F_SETPIPE_SZ", errno);
		std::size_t room = static_cast<std::size_t>(size) / page_size();
		while (room != 0 && done < pages.size()) {
			std::array<iovec, 64> parts{};
			const std::size_t count =
				std::min({parts.size(), room, pages.size() - done});

			for (std::size_t i = 0; i < count; i++)
				parts.at(i) = {pages[done + i], page_size()};
			const ssize_t got = ::vmsplice(pipe.write.get(), parts.data(), count,
						       SPLICE_F_NONBLOCK);
			if (got < static_cast<ssize_t>(page_size()))
				throw SystemError("vmsplice", "", got < 0 ? errno : EAGAIN);
			done += static_cast<std::size_t>(got) / page_size();
			room -= static_cast<std::size_t>(got) / page_size();
		}
		pipes_.push_back(std::move(pipe));
	}
}

UserPages::UserPages(std::uint64_t seed, std::uint64_t stride)
	: seed_(seed), stride_(stride), cma_(read_cma_state()),
	  memory_(counter_or_zero(meminfo_now(), "MemTotal") / page_size() * page_size()),
	  touched_(memory_.bytes().size() / page_size()), pinned_(touched_.size())
{
	if (!cma_.present())
		return;
	if (!cma_.areas)
		throw SkipError("no /sys/kernel/debug/cma: needs CONFIG_CMA_DEBUGFS and root");
	areas_ = *cma_.areas;
}

bool UserPages::in_area(std::uint64_t pfn) const noexcept
{
	return std::any_of(areas_.begin(), areas_.end(),
			   [pfn](const CmaArea &area) { return area.contains(pfn); });
}

Effect UserPages::apply()
{
	fill();
	keep_area();
	if (stride_ != 0)
		pin_chosen();
	return measure();
}

void UserPages::fill()
{
	const std::uint64_t reserve = reserve_bytes(meminfo_now());
	const std::uint64_t enough = cma_.total_bytes.value_or(0) * fill_percent / 100;

	for (;;) {
		const auto begin = std::find(touched_.begin(), touched_.end(), false);
		const auto end = std::find(begin, touched_.end(), true);
		const std::size_t pages =
			std::min(static_cast<std::size_t>(end - begin), pages_per_look);
		const Counters meminfo = meminfo_now();

		InterruptGuard::check();
		if (pages == 0 || counter_or_zero(meminfo, "MemAvailable") < reserve)
			return;
		if (cma_.present() && counter_or_zero(meminfo, "CmaFree") < enough)
			return;
		memory_.populate(static_cast<std::size_t>(begin - touched_.begin()), pages);
		std::fill_n(begin, pages, true);
	}
}

void UserPages::find_substitute_area(const std::vector<std::optional<std::uint64_t>> &frames)
{
	std::vector<std::uint64_t> sorted;

	for (const std::optional<std::uint64_t> &frame : frames)
		if (frame)
			sorted.push_back(*frame);
	const std::size_t wanted = touched_.size() / 2;
	if (sorted.size() <= wanted)
		throw Error(fmt::format("{} of {} pages of memory could be filled, too few to "
					"leave half of them",
					sorted.size(), touched_.size()));
	const auto first = sorted.end() - static_cast<std::ptrdiff_t>(wanted);
	std::nth_element(sorted.begin(), first, sorted.end());
	areas_ = {{.name = "substitute",
		   .base_pfn = *first,
		   .count = std::numeric_limits<std::uint64_t>::max() - *first}};
}

void UserPages::keep_area()
{
	const std::vector<std::optional<std::uint64_t>> frames = pagemap_.lookup(memory_.bytes());
	std::size_t run = 0; /* pages just before `page` that are to be released */

	if (areas_.empty())
		find_substitute_area(frames);
	pages_in_area_ = 0;
	for (std::size_t page = 0; page <= frames.size(); page++) {
		const bool stray = page < frames.size() && touched_[page] &&
				   (!frames[page].has_value() || !in_area(*frames[page]));

		if (stray) {
			touched_[page] = false;
			run++;
			continue;
		}
		if (run != 0)
			memory_.release(page - run, run);
		run = 0;
		if (page < frames.size() && touched_[page])
			pages_in_area_++;
	}
}

void UserPages::pin_chosen()
{
	const std::vector<std::optional<std::uint64_t>> frames = pagemap_.lookup(memory_.bytes());
	std::vector<std::byte *> pages;

	for (std::size_t page = 0; page < frames.size(); page++) {
		if (!touched_[page] || pinned_[page] || !frames[page].has_value() ||
		    !choose_pinned(*frames[page], seed_, stride_))
			continue;
		pinned_[page] = true;
		pages.push_back(&memory_.bytes()[page * page_size()]);
	}
	pins_.pin(pages);
	pages_pinned_ += pages.size();
}

Effect UserPages::measure() const
{
	const CmaState now = read_cma_state();
	const std::uint64_t free_bytes = now.free_bytes.value_or(0);
	Effect effect{.asserted = cma_.present(),
		      .text = fmt::format("{} KiB of user pages {}",
					  pages_in_area_ * page_size() / 1024,
					  cma_.present() ? "in the area" : "and no CMA area"),
		      .values = {{"user_pages_in_area", pages_in_area_},
				 {"user_pages_pinned", pages_pinned_}}};

	if (stride_ != 0)
		effect.text += fmt::format(", {} pinned", pages_pinned_);
	if (stride_ != 0 && pages_pinned_ < pages_in_area_ / (2 * stride_))
		throw Error(fmt::format("pinned: only {} of {} pages could be pinned",
					pages_pinned_, pages_in_area_));
	if (!cma_.present())
		return effect;

	effect.values["cma_free_bytes"] = free_bytes;
	effect.text +=
		fmt::format(", {} of {} KiB CMA free", free_bytes / 1024, *now.total_bytes / 1024);
	const std::uint64_t available =
		sum_pages(areas_, &CmaArea::count) - sum_pages(areas_, &CmaArea::used);
	if (free_bytes > *now.total_bytes * effect_percent / 100 ||
	    pages_in_area_ < available * least_user_percent / 100)
		throw Error(fmt::format("user pages do not fill the CMA area ({}); it must be a "
					"large share of memory, half of it say: boot with another "
					"cma=SIZE",
					effect.text));
	return effect;
}

} // namespace nocma

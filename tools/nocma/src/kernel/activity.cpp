// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/activity.hpp"

#include <algorithm>
#include <bit>

#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

/* Orders are below 32 everywhere. */
constexpr std::uint64_t max_order_mask = 31;

std::uint64_t pages_asked(const ProbeHit &hit)
{
	const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));

	switch (hit.function) {
	case Traced::ttm: /* in a structure, out of a probe's reach */
	case Traced::own:
		return 0;
	case Traced::compaction:
	case Traced::reclaim:
		return std::uint64_t{1} << (hit.value & max_order_mask);
	case Traced::dma:
		return (hit.value + page - 1) / page;
	case Traced::cma:
		break;
	}
	return hit.value;
}

/* ttm returns an errno, the others a pointer. */
bool succeeded(const ProbeHit &hit)
{
	return hit.function == Traced::ttm ? hit.value == 0 : hit.value != 0;
}

} // namespace

unsigned int order_of_pages(std::uint64_t pages)
{
	return pages <= 1 ? 0 : static_cast<unsigned int>(std::bit_width(pages - 1));
}

std::vector<TracedCall> pair_hits(const std::vector<ProbeHit> &hits)
{
	std::vector<TracedCall> calls;
	std::vector<std::size_t> open; /* indices into calls */

	for (const ProbeHit &hit : hits) {
		if (hit.entry) {
			const bool from_ttm =
				std::any_of(open.begin(), open.end(), [&](std::size_t index) {
					return calls[index].function == Traced::ttm;
				});

			open.push_back(calls.size());
			calls.push_back({.function = hit.function,
					 .order = order_of_pages(pages_asked(hit)),
					 .ok = false,
					 .from_ttm = from_ttm,
					 .begin = hit.time,
					 .end = {}});
			continue;
		}
		if (open.empty() || calls[open.back()].function != hit.function)
			throw Error("trace: a return without its entry, events are missing");
		calls[open.back()].ok = succeeded(hit);
		calls[open.back()].end = hit.time;
		open.pop_back();
	}
	if (!open.empty())
		throw Error("trace: an entry without its return, events are missing");
	return calls;
}

CallsByOrder count_by_order(const std::vector<TracedCall> &calls, Traced function)
{
	CallsByOrder counts;

	for (const TracedCall &call : calls)
		if (call.function == function)
			counts[{call.order, call.ok}]++;
	return counts;
}

std::string format_by_order(const CallsByOrder &calls)
{
	std::string text;

	/* clang 14, which clang-tidy is, cannot read this library's views. */
	for (const auto &[key, count] :
	     std::vector<CallsByOrder::value_type>(calls.rbegin(), calls.rend()))
		text += fmt::format("{}{}:{}{}", text.empty() ? "" : " ", key.first, count,
				    key.second ? "" : "!");
	return text.empty() ? "none" : text;
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "drm/populate.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "kernel/pagemap.hpp"
#include "stats/histogram.hpp"
#include "util/error.hpp"

namespace nocma
{

PagesFrom pages_from(const std::vector<TracedCall> &calls, std::uint64_t bytes)
{
	const std::uint64_t wanted = (bytes + page_size() - 1) / page_size();
	std::uint64_t pages = 0;

	for (const TracedCall &call : calls)
		if (call.function == Traced::dma && call.ok && call.from_ttm)
			pages += std::uint64_t{1} << call.order;
	if (pages == 0)
		return PagesFrom::elsewhere;
	/* Before v5.11 TTM fills its pool by some pages more than it is asked for. */
	return pages >= wanted ? PagesFrom::dma_api : PagesFrom::mixed;
}

void expect_one_populate(const std::vector<TracedCall> &calls, std::uint64_t bytes)
{
	const auto populates =
		std::count_if(calls.begin(), calls.end(), [](const TracedCall &call) {
			return call.function == Traced::ttm && call.ok;
		});

	if (populates != 1)
		throw Error(fmt::format("first touch of {} bytes: {} calls of TTM's pool function "
					"succeeded, expected one",
					bytes, populates));
}

std::vector<TracedCall> cma_calls_of_ttm(const std::vector<TracedCall> &calls)
{
	std::vector<TracedCall> selected;

	std::copy_if(calls.begin(), calls.end(), std::back_inserter(selected),
		     [](const TracedCall &call) {
			     return call.function == Traced::cma && call.from_ttm;
		     });
	return selected;
}

namespace
{

/* Traces in detail as long as it exists, a populate that throws included. */
class DetailedTrace
{
public:
	explicit DetailedTrace(AllocationTrace &trace) : trace_(trace)
	{
		trace_.trace_details(true);
	}
	DetailedTrace(const DetailedTrace &) = delete;
	DetailedTrace &operator=(const DetailedTrace &) = delete;
	DetailedTrace(DetailedTrace &&) = delete;
	DetailedTrace &operator=(DetailedTrace &&) = delete;
	~DetailedTrace()
	{
		try {
			trace_.trace_details(false);
		} catch (const Error &) {
			/* It only costs time then. */
		}
	}

private:
	AllocationTrace &trace_;
};

} // namespace

PopulateRig::PopulateRig(std::string_view backend)
	: backend_(make_backend(backend)), device_(DrmDevice::open(backend_->driver()))
{
}

Populate PopulateRig::populate(std::uint64_t bytes, bool dma)
{
	BufferObject object(device_, *backend_, bytes);

	pool_.drain();
	if (dma)
		trace_.trace_dma(true);
	Populate result = populate_traced(std::move(object), bytes);
	if (dma) {
		trace_.trace_dma(false);
		switch (pages_from(result.calls, bytes)) {
		case PagesFrom::dma_api:
			break;
		case PagesFrom::elsewhere:
			throw SkipError(fmt::format("{}: TTM's pool for this device does not "
						    "allocate through the DMA API",
						    device_.path().native()));
		case PagesFrom::mixed:
			throw Error(fmt::format("{}: part of an object of {} bytes was in TTM's "
						"pool: not a cold pool",
						device_.path().native(), bytes));
		}
	}
	return result;
}

Populate PopulateRig::populate_in_detail(std::uint64_t bytes)
{
	BufferObject object(device_, *backend_, bytes);

	pool_.drain();
	const DetailedTrace detailed(trace_);
	return populate_traced(std::move(object), bytes);
}

void PopulateRig::warm_up(std::uint64_t bytes) const
{
	static_cast<void>(BufferObject(device_, *backend_, bytes).populate(toucher_));
}

Populate PopulateRig::populate_warm(std::uint64_t bytes)
{
	return populate_traced(BufferObject(device_, *backend_, bytes), bytes);
}

Populate PopulateRig::populate_warm_in_detail(std::uint64_t bytes)
{
	const DetailedTrace detailed(trace_);
	Populate result = populate_warm(bytes);

	if (pages_from(result.calls, bytes) != PagesFrom::elsewhere)
		throw Error(fmt::format("{}: an object of {} bytes was not in TTM's pool, though "
					"one had just been freed: the pool is not warm",
					device_.path().native(), bytes));
	return result;
}

Populate PopulateRig::populate_traced(BufferObject object, std::uint64_t bytes)
{
	trace_.collect();
	const Interval time = object.populate(toucher_);
	std::vector<TracedCall> calls = trace_.collect();

	expect_one_populate(calls, bytes);
	return {.object = std::move(object), .time = time, .calls = std::move(calls)};
}

Nanoseconds PopulateRig::timing_cost() const
{
	constexpr int samples = 1000;
	Histogram times;
	std::byte present{};

	for (int i = 0; i < samples; i++) {
		const Nanoseconds begin = monotonic_now();

		toucher_.touch(present);
		times.add(static_cast<std::uint64_t>((monotonic_now() - begin).count()));
	}
	return Nanoseconds(times.percentile(50));
}

} // namespace nocma

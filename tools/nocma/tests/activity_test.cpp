// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/activity.hpp"

#include <gtest/gtest.h>

#include "drm/populate.hpp"
#include "util/error.hpp"

using namespace nocma;

namespace
{

using std::chrono::nanoseconds;

ProbeHit enter(Traced function, std::int64_t time, std::uint64_t value = 0)
{
	return {.function = function, .entry = true, .time = nanoseconds(time), .value = value};
}

ProbeHit leave(Traced function, std::int64_t time, std::uint64_t value)
{
	return {.function = function, .entry = false, .time = nanoseconds(time), .value = value};
}

constexpr std::uint64_t pointer = 0xffff888000000000;

/* 4 MiB + 4 KiB: order 10 fails in CMA but the page allocator has it, then one page. */
std::vector<ProbeHit> populate_hits()
{
	return {enter(Traced::ttm, 100),	  enter(Traced::dma, 110, 4 << 20),
		enter(Traced::cma, 120, 1024),	  leave(Traced::cma, 520, 0),
		leave(Traced::dma, 600, pointer), enter(Traced::dma, 610, 4096),
		leave(Traced::dma, 620, pointer), leave(Traced::ttm, 700, 0)};
}

} // namespace

TEST(Activity, CallsNestAndAreAttributed)
{
	const std::vector<TracedCall> calls = pair_hits(populate_hits());

	ASSERT_EQ(calls.size(), 4U);
	EXPECT_EQ(calls[0].function, Traced::ttm);
	EXPECT_TRUE(calls[0].ok);
	EXPECT_EQ(calls[2].function, Traced::cma);
	EXPECT_EQ(calls[2].order, 10U);
	EXPECT_FALSE(calls[2].ok);
	EXPECT_TRUE(calls[2].from_ttm);
	EXPECT_EQ(calls[2].length(), nanoseconds(400));
	EXPECT_EQ(format_by_order(count_by_order(calls, Traced::cma)), "10:1!");
	EXPECT_EQ(format_by_order(count_by_order(calls, Traced::dma)), "10:1 0:1");
}

TEST(Activity, ACallOutsideOfTtmIsNotTtms)
{
	const std::vector<TracedCall> calls =
		pair_hits({enter(Traced::cma, 1, 4), leave(Traced::cma, 2, pointer),
			   enter(Traced::ttm, 3), leave(Traced::ttm, 4, 0),
			   enter(Traced::cma, 5, 4), leave(Traced::cma, 6, pointer)});

	EXPECT_TRUE(cma_calls_of_ttm(calls).empty());
	EXPECT_EQ(count_by_order(calls, Traced::cma), (CallsByOrder{{{2, true}, 2}}));
}

TEST(Activity, AMissingHitIsAnErrorNotALowerCount)
{
	const std::vector<ProbeHit> complete = populate_hits();

	for (std::size_t missing = 0; missing < complete.size(); missing++) {
		std::vector<ProbeHit> hits = complete;

		hits.erase(hits.begin() + static_cast<std::ptrdiff_t>(missing));
		EXPECT_THROW(pair_hits(hits), Error) << "without hit " << missing;
	}
}

TEST(Activity, OrdersRoundUp)
{
	EXPECT_EQ(order_of_pages(0), 0U);
	EXPECT_EQ(order_of_pages(1), 0U);
	EXPECT_EQ(order_of_pages(2), 1U);
	EXPECT_EQ(order_of_pages(3), 2U);
	EXPECT_EQ(order_of_pages(1024), 10U);
	EXPECT_EQ(order_of_pages(1025), 11U);
}

TEST(Activity, NoCallsReadAsNone)
{
	EXPECT_EQ(format_by_order({}), "none");
	EXPECT_EQ(format_by_order({{{4, true}, 2}, {{9, true}, 1}, {{9, false}, 3}}),
		  "9:1 9:3! 4:2");
}

TEST(Populate, ColdPoolThroughTheDmaApi)
{
	EXPECT_EQ(pages_from(pair_hits(populate_hits()), (4 << 20) + 4096), PagesFrom::dma_api);
}

TEST(Populate, MoreThanAskedForIsColdToo)
{
	EXPECT_EQ(pages_from(pair_hits(populate_hits()), 4 << 20), PagesFrom::dma_api);
}

TEST(Populate, PartFromThePoolIsNotCold)
{
	EXPECT_EQ(pages_from(pair_hits(populate_hits()), 8 << 20), PagesFrom::mixed);
}

TEST(Populate, NoDmaAllocationIsNoTestOfIt)
{
	EXPECT_EQ(pages_from(pair_hits({enter(Traced::ttm, 1), leave(Traced::ttm, 2, 0)}), 4096),
		  PagesFrom::elsewhere);
}

TEST(Populate, MustHaveGoneThroughTtmOnce)
{
	const auto no_memory = static_cast<std::uint64_t>(-12); /* -ENOMEM */

	EXPECT_NO_THROW(expect_one_populate(pair_hits(populate_hits()), 4096));
	EXPECT_THROW(expect_one_populate({}, 4096), Error);
	EXPECT_THROW(
		expect_one_populate(
			pair_hits({enter(Traced::ttm, 1), leave(Traced::ttm, 2, no_memory)}), 4096),
		Error);
}

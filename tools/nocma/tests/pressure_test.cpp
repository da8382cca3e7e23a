// SPDX-License-Identifier: GPL-2.0-only
#include <cstring>

#include <gtest/gtest.h>

#include "kernel/pagemap.hpp"
#include "pressure/pressure.hpp"
#include "pressure/user_pages.hpp"
#include "util/error.hpp"

using namespace nocma;

TEST(Pagemap, FrameOfAnEntry)
{
	constexpr std::uint64_t present = std::uint64_t{1} << 63U;
	constexpr std::uint64_t soft_dirty = std::uint64_t{1} << 55U;

	EXPECT_EQ(pagemap_pfn(present | soft_dirty | 0x12345), 0x12345U);
	EXPECT_EQ(pagemap_pfn(present), 0U);
	EXPECT_FALSE(pagemap_pfn(0));
	EXPECT_FALSE(pagemap_pfn(std::uint64_t{1} << 62U)); /* in swap */
}

TEST(Pressure, UnknownModeIsAUsageError)
{
	EXPECT_THROW(make_pressure("gentle", 1), UsageError);
}

TEST(Pressure, PinsTheStrideOfFramesByTheSeed)
{
	constexpr std::uint64_t frames = 70000;
	std::uint64_t chosen = 0;
	std::uint64_t same = 0;

	for (std::uint64_t pfn = 0; pfn < frames; pfn++) {
		const bool here = choose_pinned(pfn, 1, 7);

		chosen += here ? 1 : 0;
		same += here && choose_pinned(pfn, 2, 7) ? 1 : 0;
	}
	EXPECT_NEAR(static_cast<double>(chosen), frames / 7.0, frames / 7.0 / 10);
	/* Another seed picks others: what both pick is about a stride's share again. */
	EXPECT_NEAR(static_cast<double>(same), frames / 49.0, frames / 49.0 / 4);
}

TEST(Pressure, NoRangeOfAnOrder10IsFreeOfPins)
{
	for (std::uint64_t range = 0; range < 64; range++) {
		bool pinned = false;

		for (std::uint64_t page = 0; page < 1024; page++)
			pinned |= choose_pinned(range * 1024 + page, 1, pinned_stride);
		EXPECT_TRUE(pinned) << "range " << range;
	}
}

TEST(AnonymousMemory, PopulatesAndReleases)
{
	const AnonymousMemory memory(8 * page_size());

	memory.populate(2, 4);
	memory.bytes()[3 * page_size()] = std::byte{9};
	memory.release(3, 1);
	EXPECT_EQ(memory.bytes()[3 * page_size()], std::byte{0});
}

TEST(PagePins, HoldsPagesInPipes)
{
	const AnonymousMemory memory(600 * page_size());
	std::vector<std::byte *> pages;
	PagePins pins;

	memory.populate(0, 600);
	for (std::size_t page = 0; page < 600; page++)
		pages.push_back(&memory.bytes()[page * page_size()]);
	EXPECT_NO_THROW(pins.pin(pages)); /* more than one pipe holds */
	EXPECT_THROW(pins.pin({nullptr}), SystemError);
}

// SPDX-License-Identifier: GPL-2.0-only
#include "stats/rank_test.hpp"

#include <initializer_list>

#include <gtest/gtest.h>

using namespace nocma;

namespace
{

Histogram make(std::initializer_list<std::uint64_t> values)
{
	Histogram histogram;

	for (const std::uint64_t value : values)
		histogram.add(value);
	return histogram;
}

} // namespace

TEST(RankTest, SeparatedSamples)
{
	const RankTest test = mann_whitney(make({1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
					   make({11, 12, 13, 14, 15, 16, 17, 18, 19, 20}));

	EXPECT_DOUBLE_EQ(test.superiority, 1);
	/* U = 100, mean 50, sd sqrt(175): z = 3.7796, two-sided p = 0.000157. */
	EXPECT_NEAR(test.p_value, 1.57e-4, 1e-6);
}

TEST(RankTest, DirectionAndSymmetry)
{
	const Histogram low = make({1, 2, 3});
	const Histogram high = make({2, 3, 4});

	EXPECT_DOUBLE_EQ(mann_whitney(low, high).superiority, 7.0 / 9);
	EXPECT_DOUBLE_EQ(mann_whitney(high, low).superiority, 2.0 / 9);
	EXPECT_DOUBLE_EQ(mann_whitney(low, high).p_value, mann_whitney(high, low).p_value);
}

TEST(RankTest, TiesShrinkTheVariance)
{
	/* U = 6 of 8, variance 8/12 * (7 - 66/30) = 3.2, z = 2/1.7889. */
	const RankTest test = mann_whitney(make({1, 1, 2, 2}), make({2, 2}));

	EXPECT_DOUBLE_EQ(test.superiority, 0.75);
	EXPECT_NEAR(test.p_value, 0.2636, 1e-4);
}

TEST(RankTest, EqualSamplesAreNotDifferent)
{
	const RankTest test = mann_whitney(make({5, 5, 5}), make({5, 5}));

	EXPECT_DOUBLE_EQ(test.superiority, 0.5);
	EXPECT_DOUBLE_EQ(test.p_value, 1);
}

TEST(RankTest, NothingToCompare)
{
	EXPECT_DOUBLE_EQ(mann_whitney(Histogram(), make({1})).superiority, 0.5);
	EXPECT_DOUBLE_EQ(mann_whitney(make({1}), Histogram()).p_value, 1);
}

TEST(RankTest, OverflowRanksAboveEverything)
{
	EXPECT_DOUBLE_EQ(mann_whitney(make({1, 2}), make({Histogram::limit + 1})).superiority, 1);
}

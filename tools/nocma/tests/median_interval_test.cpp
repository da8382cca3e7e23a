// SPDX-License-Identifier: GPL-2.0-only
#include "stats/median_interval.hpp"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "util/error.hpp"

using namespace nocma;

TEST(MedianInterval, OfFewValuesIsAllOfThemAndSaysWhatThatIsWorth)
{
	const MedianInterval one = median_interval({7});

	EXPECT_EQ(one.median, 7);
	EXPECT_EQ(one.confidence, 0);
	const MedianInterval two = median_interval({3, 1});
	EXPECT_EQ(two.median, 2);
	EXPECT_EQ(two.low, 1);
	EXPECT_EQ(two.high, 3);
	EXPECT_DOUBLE_EQ(two.confidence, 0.5);
	EXPECT_THROW(median_interval({}), Error);
}

/* The ranks and confidences of the tables for the sign test. */
TEST(MedianInterval, AgreesWithTheTables)
{
	struct Row {
		std::size_t count;
		double low; /* rank from below */
		double confidence;
	};

	for (const Row &row :
	     {Row{6, 1, 0.96875}, Row{8, 1, 0.9921875}, Row{9, 2, 0.9609375},
	      Row{10, 2, 0.978515625}, Row{12, 3, 0.961425781}, Row{20, 6, 0.958610535}}) {
		std::vector<double> values;

		for (std::size_t i = row.count; i > 0; i--)
			values.push_back(static_cast<double>(i));
		const MedianInterval found = median_interval(values);
		EXPECT_EQ(found.low, row.low) << row.count;
		EXPECT_EQ(found.high, static_cast<double>(row.count) + 1 - row.low) << row.count;
		EXPECT_NEAR(found.confidence, row.confidence, 1e-8) << row.count;
	}
}

/* What it promises: of many samples of a skewed distribution, that share holds the true median. */
TEST(MedianInterval, HoldsTheTrueMedianAsOftenAsItSays)
{
	constexpr int trials = 4000;
	std::uint64_t state = 1;
	int held = 0;

	for (int i = 0; i < trials; i++) {
		std::vector<double> values;

		for (int j = 0; j < 10; j++) {
			state = state * 6364136223846793005 + 1442695040888963407;
			const double uniform =
				static_cast<double>(state >> 11U) / 9007199254740992.0;
			values.push_back(uniform * uniform * uniform);
		}
		const MedianInterval found = median_interval(values);
		held += static_cast<int>(found.low <= 0.125 && 0.125 <= found.high);
	}
	EXPECT_NEAR(static_cast<double>(held) / trials, 0.978515625, 0.01);
}

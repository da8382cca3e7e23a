// SPDX-License-Identifier: GPL-2.0-only
#include "stats/histogram.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "util/error.hpp"

using namespace nocma;

TEST(Histogram, SmallValuesAreExact)
{
	for (std::uint64_t value = 0; value < 256; value++) {
		EXPECT_EQ(Histogram::bin_lowest(value), value);
		EXPECT_EQ(Histogram::bin_highest(value), value);
	}
}

TEST(Histogram, BinsTouchAndKeepThePromisedPrecision)
{
	std::uint64_t value = 0;

	while (value < (std::uint64_t{1} << 41U)) {
		const std::uint64_t highest = Histogram::bin_highest(value);

		ASSERT_EQ(Histogram::bin_lowest(value), value);
		ASSERT_EQ(Histogram::bin_lowest(highest), value);
		ASSERT_LE(highest - value, value >> Histogram::precision_bits);
		value = highest + 1;
	}
}

TEST(Histogram, EmptyHasNoPercentile)
{
	const Histogram histogram;

	EXPECT_EQ(histogram.count(), 0U);
	EXPECT_EQ(histogram.min(), 0U);
	EXPECT_EQ(histogram.percentile(50), 0U);
}

TEST(Histogram, PercentilesAreNearestRank)
{
	Histogram histogram;

	for (std::uint64_t value = 1; value <= 100; value++)
		histogram.add(value);
	EXPECT_EQ(histogram.percentile(50), 50U);
	EXPECT_EQ(histogram.percentile(90), 90U);
	EXPECT_EQ(histogram.percentile(99), 99U);
	EXPECT_EQ(histogram.percentile(99.9), 100U);
	EXPECT_EQ(histogram.percentile(0.1), 1U);
	EXPECT_EQ(histogram.sum(), 5050U);
}

TEST(Histogram, PercentileIsNeverAboveTheMaximum)
{
	Histogram histogram;

	histogram.add(1000001);
	EXPECT_EQ(histogram.percentile(50), 1000001U);
	EXPECT_EQ(histogram.max(), 1000001U);
}

TEST(Histogram, WhatIsPastTheLimitIsCountedNotClipped)
{
	Histogram histogram;

	histogram.add(7);
	histogram.add(Histogram::limit);
	histogram.add(Histogram::limit + 5);
	EXPECT_EQ(histogram.count(), 3U);
	EXPECT_EQ(histogram.overflow(), 1U);
	EXPECT_EQ(histogram.max(), Histogram::limit + 5);
	EXPECT_EQ(histogram.percentile(100), Histogram::limit + 5);
	EXPECT_EQ(histogram.bins().size(), 2U);
}

TEST(Histogram, MergeEqualsAddingEverythingToOne)
{
	Histogram left;
	Histogram right;
	Histogram whole;

	for (std::uint64_t value = 1; value < 5000000; value = value * 3 / 2 + 1) {
		(value % 2 == 0 ? left : right).add(value);
		whole.add(value);
	}
	right.add(Histogram::limit + 1);
	whole.add(Histogram::limit + 1);
	left.merge(right);
	EXPECT_EQ(left.to_json(), whole.to_json());
	left.merge(Histogram());
	EXPECT_EQ(left.to_json(), whole.to_json());
}

TEST(Histogram, SurvivesJson)
{
	Histogram histogram;

	histogram.add(0);
	histogram.add(123456789);
	histogram.add(Histogram::limit + 1);
	EXPECT_EQ(Histogram::from_json(histogram.to_json()).to_json(), histogram.to_json());
	EXPECT_EQ(Histogram::from_json(Histogram().to_json()).to_json(), Histogram().to_json());
}

TEST(Histogram, JsonThatDoesNotAddUpIsRefused)
{
	Histogram histogram;

	histogram.add(4);
	nlohmann::json json = histogram.to_json();
	json["count"] = 2;
	EXPECT_THROW(Histogram::from_json(json), Error);

	json = histogram.to_json();
	json["precision_bits"] = 5;
	EXPECT_THROW(Histogram::from_json(json), Error);

	json = histogram.to_json();
	json["bins"][0][0] = 1000001; /* inside a bin, not at its start */
	EXPECT_THROW(Histogram::from_json(json), Error);
}

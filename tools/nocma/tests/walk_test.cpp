// SPDX-License-Identifier: GPL-2.0-only
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/walk_result.hpp"

namespace nocma
{

namespace
{

using testing::HasSubstr;
using testing::Not;

constexpr std::uint64_t mib = 1 << 20;

std::vector<std::uint64_t> offsets(std::uint64_t bytes, std::uint64_t stride)
{
	std::vector<std::uint64_t> visited;

	visit_pages(bytes, stride, [&](std::uint64_t offset) { visited.push_back(offset); });
	return visited;
}

TEST(WalkTest, EachPageIsVisitedOnceWhateverTheStride)
{
	for (const std::uint64_t stride : {std::uint64_t{4096}, 2 * mib}) {
		const std::vector<std::uint64_t> visited = offsets(8 * mib, stride);
		std::set<std::uint64_t> pages;

		for (const std::uint64_t offset : visited)
			pages.insert(offset / 4096);
		EXPECT_EQ(visited.size(), 8 * mib / 4096);
		EXPECT_EQ(pages.size(), visited.size());
		EXPECT_EQ(*pages.rbegin(), 8 * mib / 4096 - 1);
	}
}

TEST(WalkTest, StepsAreOfTheStride)
{
	const std::vector<std::uint64_t> near = offsets(8 * mib, 4096);
	const std::vector<std::uint64_t> far = offsets(8 * mib, 2 * mib);

	EXPECT_EQ(near.at(1) / 4096, 1U);
	EXPECT_EQ(far.at(1) / (2 * mib), 1U);
	EXPECT_EQ(far.at(4) / 4096, 1U); /* the next page, after one step over all of it */
}

/* 32 pages 2 MiB apart at one place in the page would be in one set of an L1 cache. */
TEST(WalkTest, NeighboursInAWalkAreInDifferentLines)
{
	std::set<std::uint64_t> lines;
	const std::vector<std::uint64_t> far = offsets(64 * mib, 2 * mib);

	for (std::size_t i = 0; i < 32; i++)
		lines.insert(far.at(i) % 4096);
	EXPECT_EQ(lines.size(), 32U);
}

WalkResult result_of(const std::string &accelerator)
{
	WalkResult result;
	WalkCase one{.huge = true, .mapped = 4 * mib, .stride = 2 * mib, .tlb_misses = 512};

	result.machine.accelerator = accelerator;
	result.object_bytes = 4 * mib;
	one.walk_ns.add(2048);
	result.cases.push_back(one);
	one.huge = false;
	one.tlb_misses.reset();
	result.cases.push_back(one);
	return result;
}

TEST(WalkTest, AGuestSaysThatItsTimesMeanNothing)
{
	EXPECT_THAT(describe(result_of("tcg")), HasSubstr("(tcg): its times mean nothing"));
	EXPECT_THAT(describe(result_of("none")), Not(HasSubstr("mean nothing")));
	EXPECT_TRUE(to_json(result_of("none")).at("times_mean_something"));
	EXPECT_FALSE(to_json(result_of("kvm")).at("times_mean_something"));
}

TEST(WalkTest, FiguresArePerAccess)
{
	const std::string text = describe(result_of("none"));

	EXPECT_THAT(text, HasSubstr("huge pages, 2 MiB strides: 1 walks, 2.00 ns an access"));
	EXPECT_THAT(text, HasSubstr("0.5000 dTLB load misses"));
	EXPECT_THAT(text, HasSubstr("small pages, 2 MiB strides"));
}

TEST(WalkTest, EventsThatAreNotCountedAreNull)
{
	const nlohmann::json json = to_json(result_of("none"));

	EXPECT_EQ(json.at("accesses_per_walk"), 1024);
	EXPECT_EQ(json.at("cases").at(0).at("dtlb_load_misses"), 512);
	EXPECT_TRUE(json.at("cases").at(1).at("dtlb_load_misses").is_null());
}

} // namespace

} // namespace nocma

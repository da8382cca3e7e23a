// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/counters.hpp"

#include <gtest/gtest.h>

#include "util/error.hpp"

using namespace nocma;

TEST(Counters, MeminfoInBytesAndBareNumbers)
{
	const Counters counters = parse_meminfo("MemTotal:         471932 kB\n"
						"CmaTotal:         262144 kB\n"
						"CmaFree:               0 kB\n"
						"HugePages_Total:       3\n");

	EXPECT_EQ(find_counter(counters, "CmaTotal"), 262144U * 1024);
	EXPECT_EQ(find_counter(counters, "CmaFree"), 0U);
	EXPECT_EQ(find_counter(counters, "HugePages_Total"), 3U);
}

TEST(Counters, AbsentIsNotZero)
{
	EXPECT_FALSE(find_counter(parse_meminfo("MemTotal: 1 kB\n"), "CmaTotal"));
	EXPECT_FALSE(find_counter(parse_vmstat("pgfault 1\n"), "cma_alloc_success"));
}

TEST(Counters, GarbageNamesTheLine)
{
	EXPECT_THROW(parse_meminfo("CmaTotal: lots kB\n"), Error);
	EXPECT_THROW(parse_vmstat("cma_alloc_success x\n"), Error);
}

TEST(Counters, DeltasOfWhatBothHave)
{
	const auto deltas = counter_deltas(parse_vmstat("a 5\nb 7\nold 1\n"),
					   parse_vmstat("a 9\nb 4\nnew 1\n"));

	EXPECT_EQ(deltas.size(), 2U);
	EXPECT_EQ(deltas.at("a"), 4);
	EXPECT_EQ(deltas.at("b"), -3);
}

TEST(Counters, PerCpuPagesOfAllZones)
{
	EXPECT_EQ(parse_per_cpu_pages("Node 0, zone      DMA\n"
				      "  pages free     3840\n"
				      "  pagesets\n"
				      "    cpu: 0\n"
				      "              count:    0\n"
				      "              high_min: 0\n"
				      "Node 0, zone    DMA32\n"
				      "  pagesets\n"
				      "    cpu: 0\n"
				      "              count:    805\n"
				      "              batch:    63\n"
				      "    cpu: 1\n"
				      "              count:    7\n"),
		  812U);
}

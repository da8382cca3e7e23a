// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/numa.hpp"

#include <gtest/gtest.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

/* Of a guest with two nodes of 512 MiB, v6.12; a zone without pages says no start_pfn. */
constexpr std::string_view two_nodes = "Node 0, zone      DMA\n"
				       "  pages free     3840\n"
				       "        spanned  4095\n"
				       "        present  3998\n"
				       "  start_pfn:           1\n"
				       "Node 0, zone    DMA32\n"
				       "        spanned  126976\n"
				       "  start_pfn:           4096\n"
				       "Node 0, zone   Normal\n"
				       "        spanned  0\n"
				       "Node 1, zone    DMA32\n"
				       "        spanned  131038\n"
				       "  start_pfn:           131072\n";

TEST(NumaNodes, CountsThoseWithMemory)
{
	const NumaNodes nodes(two_nodes);

	EXPECT_EQ(nodes.count(), 2U);
	EXPECT_TRUE(nodes.has(1));
	EXPECT_FALSE(nodes.has(2));
	EXPECT_EQ(NumaNodes("").count(), 0U);
}

TEST(NumaNodes, FindsTheNodeOfAPage)
{
	const NumaNodes nodes(two_nodes);

	EXPECT_EQ(nodes.node_of(0), -1);
	EXPECT_EQ(nodes.node_of(1), 0);
	EXPECT_EQ(nodes.node_of(4096 + 126976 - 1), 0);
	EXPECT_EQ(nodes.node_of(131072), 1);
	EXPECT_EQ(nodes.node_of(131072 + 131038), -1);
}

TEST(NumaNodes, ALineWithoutANumberIsAnError)
{
	EXPECT_THROW(NumaNodes("Node x, zone DMA\n"), Error);
	EXPECT_THROW(NumaNodes("Node 0, zone DMA\n  spanned  many\n"), Error);
}

} // namespace

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "util/number.hpp"

#include <gtest/gtest.h>

namespace nocma
{

namespace
{

TEST(NumberTest, IsAllOfTheText)
{
	EXPECT_EQ(parse_number("0"), 0U);
	EXPECT_EQ(parse_number("18446744073709551615"), ~std::uint64_t{0});
	EXPECT_EQ(parse_number("ff", 16), 255U);
	for (const char *text : {"", " 1", "1 ", "-1", "+1", "0x1", "ff", "18446744073709551616"})
		EXPECT_FALSE(parse_number(text)) << text;
	EXPECT_FALSE(parse_number({}));
}

} // namespace

} // namespace nocma

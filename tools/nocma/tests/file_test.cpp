// SPDX-License-Identifier: GPL-2.0-only
#include "util/file.hpp"

#include <gtest/gtest.h>

#include "util/error.hpp"

using namespace nocma;

TEST(File, SplitLinesDropsOnlyTheLastEmptyLine)
{
	EXPECT_EQ(split_lines("a\n\nb\n"), (std::vector<std::string>{"a", "", "b"}));
	EXPECT_TRUE(split_lines("").empty());
}

TEST(File, ReadNumberNamesTheFile)
{
	const TempDir dir("nocma-test");
	const auto path = dir.path() / "value";

	write_atomic(path, "0x10\n");
	EXPECT_EQ(read_number(path), 16U);
	write_atomic(path, "12 MB\n");
	EXPECT_THROW(
		{
			try {
				read_number(path);
			} catch (const Error &error) {
				EXPECT_NE(std::string(error.what()).find("value"),
					  std::string::npos);
				throw;
			}
		},
		Error);
}

TEST(File, WriteExistingNeverCreates)
{
	const TempDir dir("nocma-test");

	EXPECT_THROW(write_existing(dir.path() / "absent", "1"), SystemError);
	EXPECT_FALSE(std::filesystem::exists(dir.path() / "absent"));
}

// SPDX-License-Identifier: GPL-2.0-only
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "cli/contents.hpp"
#include "cli/igdstub_cases.hpp"
#include "cli/shmem_pages.hpp"
#include "cli/tmpfs_cases.hpp"
#include "util/error.hpp"

namespace nocma::cli
{

namespace
{

TEST(ShmemPagesTest, MarksAreFoundWhereTheyWereWritten)
{
	std::vector<std::byte> data(8 * page_bytes);

	write_new_pages(data);
	EXPECT_NO_THROW(expect_pattern(data));
	EXPECT_NO_THROW(expect_pattern(std::span(data).subspan(3 * page_bytes), 0, 3 * page_bytes));
	EXPECT_THROW(expect_pattern(std::span(data).subspan(3 * page_bytes)), Error);
	for (const std::size_t offset : {5 * page_bytes, 8 * page_bytes - 1}) {
		data.at(offset) ^= std::byte{1};
		EXPECT_THROW(expect_pattern(data), Error) << offset;
		data.at(offset) ^= std::byte{1};
	}
	EXPECT_NO_THROW(expect_pattern(data));
	EXPECT_THROW(expect_pattern(data, 1), Error);
	write_pattern(data, 1);
	EXPECT_NO_THROW(expect_pattern(data, 1));
}

TEST(ShmemPagesTest, NewPagesAreZero)
{
	std::vector<std::byte> data(2 * page_bytes);

	EXPECT_NO_THROW(expect_zero(data));
	data.back() = std::byte{1};
	EXPECT_THROW(expect_zero(data), Error);
	data.at(page_bytes) = std::byte{1};
	EXPECT_THROW(write_new_pages(data), Error);
}

TEST(ShmemPagesTest, NamesOfCasesAreUnique)
{
	std::set<std::string> names;

	for (const std::vector<TestCase> &cases : {tmpfs_cases(), igdstub_cases()})
		for (const TestCase &test : cases)
			EXPECT_TRUE(names.insert(test.name).second) << test.name;
	EXPECT_TRUE(names.contains("tmpfs-2MiB+4KiB-pages"));
	EXPECT_TRUE(names.contains("igdstub-refuses-bare-metal"));
}

} // namespace

} // namespace nocma::cli

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

constexpr std::size_t page_bytes = 4096;

TEST(ShmemPagesTest, MarksAreFoundWhereTheyWereWritten)
{
	std::vector<std::byte> data(8 * page_bytes);

	write_marks(data);
	EXPECT_NO_THROW(expect_marks(data));
	EXPECT_NO_THROW(expect_marks(std::span(data).subspan(3 * page_bytes), 3 * page_bytes));
	EXPECT_THROW(expect_marks(std::span(data).subspan(3 * page_bytes)), Error);
	data.at(5 * page_bytes) ^= std::byte{1};
	EXPECT_THROW(expect_marks(data), Error);
}

TEST(ShmemPagesTest, NewPagesAreZero)
{
	std::vector<std::byte> data(2 * page_bytes);

	EXPECT_NO_THROW(expect_zero(data));
	data.back() = std::byte{1};
	EXPECT_THROW(expect_zero(data), Error);
	data.at(page_bytes) = std::byte{1};
	EXPECT_THROW(write_marks(data), Error);
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

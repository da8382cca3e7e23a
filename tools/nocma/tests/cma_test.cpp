// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/cma.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "pressure/checkerboard.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;

namespace
{

/* A debugfs and a proc with what read_cma_state() looks at. */
class CmaTest : public testing::Test
{
protected:
	void put(const std::filesystem::path &file, const std::string &text) const
	{
		std::filesystem::create_directories((root_.path() / file).parent_path());
		std::ofstream(root_.path() / file) << text;
	}

	void put_area(const std::string &name, int base, int count, int used, int maxchunk) const
	{
		const std::filesystem::path folder = std::filesystem::path("debug/cma") / name;

		put(folder / "base_pfn", std::to_string(base) + "\n");
		put(folder / "count", std::to_string(count) + "\n");
		put(folder / "used", std::to_string(used) + "\n");
		put(folder / "maxchunk", std::to_string(maxchunk) + "\n");
	}

	[[nodiscard]] CmaState read() const
	{
		return read_cma_state(root_.path() / "proc", root_.path() / "debug");
	}

private:
	TempDir root_{"nocma-cma-test"};
};

} // namespace

TEST_F(CmaTest, AreasInTheOrderOfTheirNames)
{
	put("proc/meminfo", "CmaTotal: 262144 kB\nCmaFree: 1024 kB\n");
	put_area("reserved", 0x10000, 65536, 12, 60000);
	put_area("pernuma0", 0x8000, 4096, 0, 4096);
	put("debug/cma/reserved/ranges/0/base_pfn", "65536\n"); /* as 6.15 has it */

	const CmaState state = read();
	ASSERT_TRUE(state.areas);
	ASSERT_EQ(state.areas->size(), 2U);
	EXPECT_EQ(state.areas->at(0).name, "pernuma0");
	EXPECT_EQ(state.areas->at(1).used, 12U);
	EXPECT_EQ(state.areas->at(1).maxchunk, 60000U);
	EXPECT_TRUE(state.present());
	EXPECT_FALSE(why_no_cma(state));
}

TEST_F(CmaTest, NoDebugfsIsNotNoArea)
{
	put("proc/meminfo", "CmaTotal: 65536 kB\nCmaFree: 0 kB\n");
	EXPECT_FALSE(read().areas);
	EXPECT_TRUE(read().present());
}

TEST_F(CmaTest, EachReasonForNoCmaIsSaid)
{
	put("proc/meminfo", "MemTotal: 65536 kB\n");
	EXPECT_NE(why_no_cma(read()).value_or("").find("CONFIG_CMA"), std::string::npos);
	put("proc/meminfo", "CmaTotal: 0 kB\nCmaFree: 0 kB\n");
	EXPECT_NE(why_no_cma(read()).value_or("").find("CmaTotal is 0"), std::string::npos);
}

TEST_F(CmaTest, ANumberThatIsNoneIsAnError)
{
	put("proc/meminfo", "CmaTotal: 0 kB\n");
	put_area("reserved", 1, 1, 1, 1);
	put("debug/cma/reserved/used", "many\n");
	EXPECT_THROW(static_cast<void>(read()), Error);
}

TEST(CmaArea, ContainsItsFramesOnly)
{
	const CmaArea area{.name = "x", .base_pfn = 100, .count = 10, .used = 0, .maxchunk = 10};

	EXPECT_FALSE(area.contains(99));
	EXPECT_TRUE(area.contains(100));
	EXPECT_TRUE(area.contains(109));
	EXPECT_FALSE(area.contains(110));
}

TEST(Checkerboard, PiecesAreA1024thOfTheAreaButAtLeastAPage)
{
	EXPECT_EQ(Checkerboard::piece_pages({.name = "", .base_pfn = 0, .count = 65536}), 64U);
	EXPECT_EQ(Checkerboard::piece_pages({.name = "", .base_pfn = 0, .count = 500}), 1U);
}

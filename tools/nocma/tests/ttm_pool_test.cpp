// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ttm_pool.hpp"

#include <fstream>

#include <gtest/gtest.h>

#include "kernel/machine.hpp"
#include "kernel/parameters.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;

TEST(TtmPool, TotalOfTheTable)
{
	EXPECT_EQ(parse_pool_total("\t  --- 0--- --- 1---\n"
				   "wc\t:        1        2\n"
				   "\n"
				   "total\t:     1029 of    62981\n"),
		  1029U);
	EXPECT_THROW(parse_pool_total("wc\t:        1        2\n"), Error);
	EXPECT_THROW(parse_pool_total("total\t: many of 3\n"), Error);
}

TEST(TtmPool, TotalOfAllNodes)
{
	EXPECT_EQ(parse_pool_total("total node0\t:        3 of       16\n"
				   "total node1\t:        4 of       16\n"),
		  7U);
}

TEST(TtmPool, PagesKeptBeforeTheNewPool)
{
	EXPECT_EQ(parse_old_pools("No pool allocator running.\n"), 0U);
	EXPECT_EQ(
		parse_old_pools(
			"         pool      refills   pages freed    inuse available     name\n"
			"           wc            5            12       20        3 radeon "
			"0000:00:02.0\n"
			"    wc dma 32            0            12        0        0 radeon "
			"0000:00:02.0\n"
			"  cached huge            2             1        1        4 vttm vttm0\n"),
		7U);
	EXPECT_EQ(parse_old_pools("   pool      refills   pages freed     size\n"
				  "     wc            4             0       64\n"
				  " wc dma            1             0        8\n"),
		  72U);
}

TEST(TtmPool, BeforeTheNewPoolTheDriverHasTheTable)
{
	const TempDir debugfs("nocma-pool-test");
	const TempDir proc("nocma-pool-test");

	std::filesystem::create_directories(debugfs.path() / "dri/0");
	std::filesystem::create_directories(proc.path() / "sys/vm");
	std::ofstream(debugfs.path() / "dri/0/ttm_dma_page_pool") << "cached 1 2 3 5 radeon x\n";
	std::ofstream(proc.path() / "sys/vm/drop_caches") << "0\n";
	const ColdPool pool(debugfs.path(), proc.path());
	EXPECT_EQ(pool.pages(), 5U);
	EXPECT_THROW(pool.drain(), Error);
	EXPECT_TRUE(read_file(proc.path() / "sys/vm/drop_caches").starts_with("2"));
}

TEST(TtmPool, WithoutATableTheTestIsSkipped)
{
	const TempDir debugfs("nocma-pool-test");

	EXPECT_THROW(ColdPool{debugfs.path()}, SkipError);
}

TEST(TtmPool, ADrainThatDoesNotDrainIsAnError)
{
	const TempDir debugfs("nocma-pool-test");

	std::filesystem::create_directory(debugfs.path() / "ttm");
	std::ofstream(debugfs.path() / "ttm/page_pool") << "total\t: 0 of 1\n";
	std::ofstream(debugfs.path() / "ttm/page_pool_shrink") << "0/0\n";
	const ColdPool pool(debugfs.path());
	EXPECT_NO_THROW(pool.drain());
	std::ofstream(debugfs.path() / "ttm/page_pool") << "total\t: 1 of 1\n";
	EXPECT_THROW(pool.drain(), Error);
}

TEST(SavedParameter, SetsAndRestores)
{
	const TempDir folder("nocma-parameter-test");
	const std::filesystem::path file = folder.path() / "page_pool_size";

	std::ofstream(file) << "62981\n";
	{
		const SavedParameter saved(file, "0");
		EXPECT_EQ(read_file(file), "0");
	}
	EXPECT_EQ(read_file(file), "62981\n");
	EXPECT_THROW(SavedParameter(folder.path() / "other", "0"), SystemError);
}

TEST(Parameters, OnlyLoadedModulesHaveThem)
{
	const TempDir sys("nocma-parameter-test");

	std::filesystem::create_directories(sys.path() / "module/ttm/parameters");
	std::ofstream(sys.path() / "module/ttm/parameters/pages_limit") << "7\n";
	EXPECT_EQ(read_parameters("ttm", sys.path()),
		  (std::map<std::string, std::string>{{"pages_limit", "7"}}));
	EXPECT_TRUE(read_parameters("radeon", sys.path()).empty());
}

TEST(Machine, HashIsFnv1a)
{
	/* Published vectors of FNV-1a, 64 bits. */
	EXPECT_EQ(fnv1a64(""), "cbf29ce484222325");
	EXPECT_EQ(fnv1a64("a"), "af63dc4c8601ec8c");
	EXPECT_EQ(fnv1a64("foobar"), "85944171f73967e8");
}

TEST(Machine, AcceleratorBySignature)
{
	EXPECT_EQ(accelerator_name("TCGTCGTCGTCG"), "tcg");
	EXPECT_EQ(accelerator_name(std::string_view("KVMKVMKVM\0\0\0", 12)), "kvm");
	EXPECT_EQ(accelerator_name("Microsoft Hv"), "Microsoft Hv");
	EXPECT_EQ(accelerator_name(std::string_view("\0\0\0\0", 4)), "unknown");
}

TEST(Machine, NoConfigurationReadsAsAbsent)
{
	const TempDir proc("nocma-machine-test");

	std::ofstream(proc.path() / "meminfo") << "MemTotal: 4 kB\n";
	std::ofstream(proc.path() / "cmdline") << "console=ttyS0 cma=64M\n";
	const Machine machine = read_machine(proc.path());
	EXPECT_EQ(machine.config_hash, "absent");
	EXPECT_EQ(machine.command_line, "console=ttyS0 cma=64M");
	EXPECT_EQ(machine.memory_bytes, 4096U);

	std::ofstream(proc.path() / "config.gz") << "foobar";
	EXPECT_EQ(read_machine(proc.path()).config_hash, "fnv1a64:85944171f73967e8");
}

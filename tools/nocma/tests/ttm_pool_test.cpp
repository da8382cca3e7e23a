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

// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "guest/kernel_build.hpp"
#include "guest/qemu.hpp"
#include "guest/runner.hpp"
#include "guest/shell.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::guest
{

namespace
{

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(ShellLine, LeavesPlainWordsAlone)
{
	EXPECT_EQ(shell_line({"nocma", "test", "--backend", "radeon", "file:/dev/fd/3"}),
		  "nocma test --backend radeon file:/dev/fd/3");
}

TEST(ShellLine, IsReadBackByAShell)
{
	const std::vector<std::string> words = {"printf", "<%s>", "a b", "it's", "", "$HOME;`x`*"};

	EXPECT_EQ(run_or_throw({"sh", "-c", shell_line(words)}), "<a b><it's><><$HOME;`x`*>");
}

/* What follows `option` on a command line. */
std::string value_of(const std::vector<std::string> &command, const std::string &option)
{
	const auto found = std::find(command.begin(), command.end(), option);

	return found == command.end() || found + 1 == command.end() ? "(none)" : found[1];
}

std::vector<std::string> command_for(const Machine &machine, const fs::path &initramfs = {})
{
	return qemu_command("qemu", {"v6.12", "", "/cache/out/v6.12", "6.12.0"}, initramfs, machine,
			    {.console = 5, .verdict = 6, .data = 7});
}

TEST(QemuCommand, HasThePortsInTheOrderOfTheGuest)
{
	const std::vector<std::string> command = command_for({});
	std::vector<std::string> ports;

	std::copy_if(command.begin(), command.end(), std::back_inserter(ports),
		     [](const std::string &word) { return word.starts_with("file:"); });
	EXPECT_THAT(ports, ElementsAre("file:/dev/fd/5", "file:/dev/fd/6", "file:/dev/fd/7"));
	EXPECT_THAT(value_of(command, "-append"), HasSubstr("console=ttyS0"));
}

TEST(QemuCommand, TurnsAPanicIntoTheEndOfQemu)
{
	EXPECT_THAT(command_for({}), Contains("-no-reboot"));
	EXPECT_THAT(value_of(command_for({}), "-append"), HasSubstr("panic=-1"));
}

TEST(QemuCommand, TakesTheSizes)
{
	const std::vector<std::string> command = command_for({.memory = "6G", .cma = "64M"});

	EXPECT_EQ(value_of(command, "-m"), "6G");
	EXPECT_THAT(value_of(command, "-append"), HasSubstr(" cma=64M "));
}

/* QEMU refuses nodes whose memory is not the machine's. */
TEST(QemuCommand, SharesTheMemoryBetweenTheNodes)
{
	const std::vector<std::string> command = command_for({.memory = "1025M", .nodes = 2});

	EXPECT_THAT(command, Contains("memory-backend-ram,size=536870912,id=node0"));
	EXPECT_THAT(command, Contains("memory-backend-ram,size=537919488,id=node1"));
	EXPECT_THAT(command, Contains("node,nodeid=0,memdev=node0,cpus=0"));
	EXPECT_THAT(command, Contains("node,nodeid=1,memdev=node1"));
	EXPECT_THAT(command_for({}), Not(Contains("-numa")));
}

TEST(QemuCommand, HasAnInitramfsOnlyWhenThereIsOne)
{
	EXPECT_THAT(command_for({}), Not(Contains("-initrd")));
	EXPECT_EQ(value_of(command_for({}, "/tmp/i.cpio"), "-initrd"), "/tmp/i.cpio");
}

TEST(QemuCommand, KnowsBothAccelerators)
{
	EXPECT_THAT(value_of(command_for({.accelerator = Accelerator::kvm}), "-accel"),
		    HasSubstr("kvm"));
	EXPECT_THAT(value_of(command_for({.accelerator = Accelerator::tcg}), "-accel"),
		    HasSubstr("tcg"));
}

/* QEMU takes the last CPU it is told, and gives a device the slot asked for if that is free. */
TEST(QemuCommand, WhatIsAddedStandsBehindTheCpuAndBeforeTheDevices)
{
	const std::vector<std::string> command =
		command_for({.qemu = {"-cpu", "max", "-device", "x"}});
	const auto added = std::find(command.begin(), command.end(), "max");

	EXPECT_LT(std::find(command.begin(), command.end(), "qemu64"), added);
	EXPECT_LT(added, std::find(command.begin(), command.end(), "pci-testdev"));
}

class BuiltKernel : public testing::Test
{
protected:
	void SetUp() override
	{
		for (const fs::path &file :
		     {fs::path("bzImage"), fs::path("lib/modules/6.12.0/modules.dep"),
		      fs::path("ttm/nocma/ttm.ko"), fs::path("ttm/stock/ttm.ko")}) {
			fs::create_directories((out / file).parent_path());
			write_atomic(out / file, "");
		}
		write_atomic(out / "release", "6.12.0\n");
	}

	std::string complaint()
	{
		try {
			find_kernel_build(cache.path(), "v6.12");
		} catch (const Error &error) {
			return error.what();
		}
		return "";
	}

	const TempDir cache{"nocma-test"};
	const fs::path out = cache.path() / "out" / "v6.12";
};

TEST_F(BuiltKernel, IsFound)
{
	const KernelBuild kernel = find_kernel_build(cache.path(), "v6.12");

	EXPECT_EQ(kernel.release, "6.12.0");
	EXPECT_EQ(kernel.ttm(TtmVariant::stock), out / "ttm/stock/ttm.ko");
	EXPECT_EQ(kernel.modules(), out / "lib/modules/6.12.0");
}

TEST_F(BuiltKernel, MustBeWhole)
{
	fs::remove(out / "ttm/nocma/ttm.ko");
	EXPECT_THAT(complaint(), HasSubstr("ttm/nocma/ttm.ko is missing"));
	EXPECT_THAT(complaint(), HasSubstr("scripts/kernel build v6.12"));
}

TEST_F(BuiltKernel, MustSayItsRelease)
{
	write_atomic(out / "release", "\n");
	EXPECT_THAT(complaint(), HasSubstr("release is missing"));
}

TEST_F(BuiltKernel, MustBeThere)
{
	EXPECT_THROW(find_kernel_build(cache.path(), "v6.1"), Error);
}

TEST_F(BuiltKernel, IsNotLookedForOutsideTheCache)
{
	for (const char *name : {"../v6.12", "", ".", "v6.12/lib"})
		EXPECT_THROW(find_kernel_build(cache.path(), name), UsageError) << name;
}

TEST(Outcome, IsSoundOnlyWithAStatusAndWithoutTrouble)
{
	Outcome outcome;

	EXPECT_FALSE(outcome.sound());
	outcome.status = 1;
	EXPECT_TRUE(outcome.sound());
	outcome.trouble = "its kernel died";
	EXPECT_FALSE(outcome.sound());
}

} // namespace

} // namespace nocma::guest

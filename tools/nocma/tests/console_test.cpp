// SPDX-License-Identifier: GPL-2.0-only
#include "guest/console.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace nocma::guest
{

namespace
{

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::StartsWith;

Console heard(std::string_view text)
{
	Console console;

	console.feed(text);
	return console;
}

TEST(LineReader, JoinsWhatComesInPieces)
{
	LineReader reader;

	EXPECT_THAT(reader.feed("KTAP ver"), IsEmpty());
	EXPECT_THAT(reader.feed("sion 1\n1..2\nok"), ElementsAre("KTAP version 1", "1..2"));
	EXPECT_EQ(reader.rest(), "ok");
}

TEST(LineReader, DropsCarriageReturnsAndKeepsEmptyLines)
{
	LineReader reader;

	EXPECT_THAT(reader.feed("a\r\n\r\n"), ElementsAre("a", ""));
	EXPECT_EQ(reader.rest(), "");
}

/* Forms of the kernels served, each the line by which its trouble begins. */
class FatalLine : public testing::TestWithParam<const char *>
{
};

TEST_P(FatalLine, IsKnown)
{
	const Console console = heard(fmt::format("[    1.000000] fine\n{}\nmore\n", GetParam()));

	EXPECT_THAT(console.fatal(), Optional(std::string(GetParam())));
}

INSTANTIATE_TEST_SUITE_P(
	Kernels, FatalLine,
	testing::Values(
		"[    1.000000] Kernel panic - not syncing: VFS: Unable to mount root fs",
		"[    1.000000] BUG: kernel NULL pointer dereference, address: 0000000000000008",
		"[    1.000000] BUG: unable to handle kernel paging request at ffffc90000000000",
		"[    1.000000] kernel BUG at mm/page_alloc.c:1!",
		"[    1.000000] Oops: general protection fault, maybe for address 0x1: 0000 [#1] "
		"SMP",
		"[    1.000000] general protection fault: 0000 [#1] SMP",
		"[    1.000000] divide error: 0000 [#1] SMP",
		"[    1.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [nocma:45]",
		"[    1.000000][    T1] BUG: KASAN: use-after-free in ttm_pool_free+0x1/0x2",
		"[    1.000000] rcu: INFO: rcu_preempt self-detected stall on CPU",
		"[    1.000000] INFO: rcu_sched self-detected stall on CPU",
		"[    1.000000] INFO: task nocma:45 blocked for more than 120 seconds."));

TEST(Console, KeepsTheFirstFatalLine)
{
	const Console console = heard("BUG: first\nKernel panic - not syncing: second\n");

	EXPECT_THAT(console.fatal(), Optional(std::string("BUG: first")));
}

TEST(Console, WaitsForTheEndOfALine)
{
	Console console = heard("[    1.000000] Kernel pan");

	EXPECT_FALSE(console.fatal());
	console.feed("ic - not syncing: x\r\n");
	EXPECT_TRUE(console.fatal());
}

TEST(Console, CountsWarnings)
{
	const Console console = heard(
		"[    1.000000] WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1 f+0x1/0x2\n"
		"[    1.000000][    T1] WARNING: mm/page_alloc.c:1 at f+0x1/0x2, CPU#0: init/1\n"
		"[    1.000000] WARNING: suspicious RCU usage\n"
		"[    1.000000] UBSAN: array-index-out-of-bounds in drivers/gpu/drm/x.c:1:2\n");

	EXPECT_EQ(console.warnings().size(), 4);
	EXPECT_FALSE(console.fatal());
}

/* What a debug kernel says, by what looked. */
class DebugKernelReport : public testing::TestWithParam<const char *>
{
};

TEST_P(DebugKernelReport, IsHeard)
{
	const Console console = heard(fmt::format("{}\n", GetParam()));

	EXPECT_TRUE(console.fatal() || console.warnings().size() == 1);
}

INSTANTIATE_TEST_SUITE_P(
	Kernels, DebugKernelReport,
	testing::Values(
		"[  126.530009] Oops: general protection fault, probably for non-canonical address "
		"0xdffffc0000000006: 0000 [#1] SMP KASAN",
		"[    1.000000] BUG: KASAN: slab-use-after-free in vttm_tt_unpopulate+0x1/0x2 "
		"[vttm]",
		"[    1.000000] WARNING: possible circular locking dependency detected",
		"[    1.000000] WARNING: inconsistent lock state",
		"[    1.000000] BUG: sleeping function called from invalid context at "
		"mm/page_alloc.c:1",
		"[    1.000000] BUG kmalloc-64 (Not tainted): Poison overwritten",
		"[    1.000000] INFO: lockdep is turned off.",
		"[    1.000000] INFO: trying to register non-static key.",
		"[    1.000000] DMA-API: debugging out of memory - disabling",
		"[    1.000000] kmemleak: Kernel memory leak detector disabled",
		"[    3.862689] WARNING: CPU: 0 PID: 28 at check_unmap+0x1425/0x22f0"));

TEST(Console, TakesOrdinaryTalkForNoFault)
{
	const Console console =
		heard("[    0.000000] Spectre V2 : WARNING: this CPU is old\n"
		      "[    0.000000] Command line: panic=-1\n"
		      "[    2.000000] [drm] Initialized radeon 2.50.0 for 0000:00:01.0 on minor 0\n"
		      "[    2.000000] radeon 0000:00:01.0: failed initializing CP (-22).\n"
		      "[    2.000000] DMA-API: debugging enabled by kernel config\n"
		      "[    3.236057] kmemleak: Kernel memory leak detector initialized\n");

	EXPECT_THAT(console.warnings(), IsEmpty());
	EXPECT_FALSE(console.fatal());
}

TEST(Console, TailHasTheLastLinesAndTheUnfinishedOne)
{
	Console console;

	for (std::size_t i = 0; i < Console::tail_lines + 1; i++)
		console.feed(fmt::format("line {}\n", i));
	console.feed("cut o");
	EXPECT_THAT(console.tail(), StartsWith("  | line 1\n"));
	EXPECT_THAT(console.tail(), HasSubstr("  | line 30\n  | cut o\n"));
}

TEST(Console, TailIsFitForATerminal)
{
	const Console console = heard("\x1b[2Jtext\n" + std::string(10000, 'x') + "\n");

	EXPECT_THAT(console.tail(), StartsWith("  | ?[2Jtext\n"));
	EXPECT_LT(console.tail().size(), 1000);
	EXPECT_THAT(console.tail(), Not(HasSubstr("\x1b")));
}

TEST(Console, TailSaysWhenThereIsNothing)
{
	EXPECT_THAT(heard("").tail(), HasSubstr("the console stayed silent"));
}

} // namespace

} // namespace nocma::guest

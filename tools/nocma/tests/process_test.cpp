// SPDX-License-Identifier: GPL-2.0-only
#include "util/process.hpp"

#include <gtest/gtest.h>

#include "util/error.hpp"

using namespace nocma;

TEST(Process, CollectsBothStreamsAndStatus)
{
	const ProcessResult result =
		run({"sh", "-c", "cat; echo err >&2; exit 3"}, {.input = "in"});

	EXPECT_EQ(result.status, 3);
	EXPECT_EQ(result.out, "in");
	EXPECT_EQ(result.err, "err\n");
}

TEST(Process, LargeInputDoesNotDeadlock)
{
	const std::string text(4U << 20U, 'x');

	EXPECT_EQ(run_or_throw({"cat"}, {.input = text}), text);
}

TEST(Process, MissingProgramIsASystemError)
{
	EXPECT_THROW(run({"no-such-program-here"}), SystemError);
}

TEST(Process, TimeoutKillsTheWholeGroup)
{
	EXPECT_THROW(
		run({"sh", "-c", "sleep 60 & wait"}, {.timeout = std::chrono::milliseconds(200)}),
		Error);
}

TEST(Process, EnvironmentReplaces)
{
	EXPECT_EQ(run_or_throw({"sh", "-c", "echo $HOME"}, {.environment = {"HOME=/x"}}), "/x\n");
}

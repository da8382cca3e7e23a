// SPDX-License-Identifier: GPL-2.0-only
#include "util/forked.hpp"

#include <cerrno>
#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

TEST(Forked, ReturnsWhenTheFunctionDoes)
{
	EXPECT_EQ(Forked([] {}).wait(), 0);
}

TEST(Forked, RunsInAProcessOfItsOwn)
{
	int here = 1;

	EXPECT_EQ(Forked([&here] { here = 2; }).wait(), 0);
	EXPECT_EQ(here, 1);
}

TEST(Forked, HandsErrorsOver)
{
	try {
		Forked([] { throw SystemError("open", "/nowhere", ENOENT); }).wait();
		FAIL() << "the error was lost";
	} catch (const Error &error) {
		EXPECT_THAT(error.what(), testing::HasSubstr("open /nowhere"));
	}
	EXPECT_THROW(Forked([] { throw SkipError("no root"); }).wait(), SkipError);
}

TEST(Forked, TellsTheSignalThatEndedIt)
{
	EXPECT_EQ(Forked([] { ::raise(SIGKILL); }).wait(), SIGKILL);
}

TEST(Forked, IsKilledWithTheObject)
{
	const Forked forked([] { ::pause(); });
}

} // namespace

} // namespace nocma

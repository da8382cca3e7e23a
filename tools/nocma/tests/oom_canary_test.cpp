// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/oom_canary.hpp"

#include <csignal>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "kernel/pagemap.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;

namespace
{

std::string read_of(pid_t pid, std::string_view file)
{
	return read_file(fmt::format("/proc/{}/{}", pid, file));
}

} // namespace

TEST(OomCanary, HoldsItsMemoryAndIsTheFirstToGo)
{
	constexpr std::uint64_t bytes = 4 << 20;
	const OomCanary canary(bytes);
	/* The second figure: pages that are there. */
	const std::string pages = split(read_of(canary.pid(), "statm"), ' ').at(1);

	EXPECT_GE(std::stoull(pages) * page_size(), bytes);
	EXPECT_EQ(trim(read_of(canary.pid(), "oom_score_adj")), "1000");
}

TEST(OomCanary, IsSeenToDieAndLeavesNoProcess)
{
	pid_t pid = 0;

	{
		OomCanary canary(1 << 20);

		pid = canary.pid();
		EXPECT_TRUE(canary.alive());
		::kill(pid, SIGKILL);
		for (int i = 0; i < 1000 && canary.alive(); i++)
			::usleep(10000);
		EXPECT_FALSE(canary.alive());
		EXPECT_FALSE(canary.alive());
	}
	{
		const OomCanary canary(1 << 20);

		pid = canary.pid();
	}
	EXPECT_EQ(::kill(pid, 0), -1);
}

TEST(OomCanary, RefusesMoreThanThereIs)
{
	EXPECT_THROW(OomCanary(std::uint64_t{1} << 60U), Error);
}

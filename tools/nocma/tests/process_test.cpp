// SPDX-License-Identifier: GPL-2.0-only
#include "util/process.hpp"

#include <cerrno>
#include <csignal>

#include <gtest/gtest.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.hpp"

using namespace nocma;

namespace
{

void do_nothing(int /*signal*/) {}

} // namespace

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

TEST(Process, SignalsDoNotKeepAChildFromBeingReaped)
{
	struct sigaction interrupt {
	};
	struct sigaction before {
	};
	const itimerval timer = {.it_interval = {}, .it_value = {.tv_sec = 0, .tv_usec = 20000}};

	interrupt.sa_handler = do_nothing; /* without SA_RESTART */
	ASSERT_EQ(::sigaction(SIGALRM, &interrupt, &before), 0);
	const pid_t pid = ::fork();
	if (pid == 0) {
		::usleep(200000);
		::_exit(3);
	}
	ASSERT_GT(pid, 0);
	ASSERT_EQ(::setitimer(ITIMER_REAL, &timer, nullptr), 0);
	const std::optional<int> status = reap(pid);
	::sigaction(SIGALRM, &before, nullptr);
	ASSERT_TRUE(status);
	EXPECT_TRUE(WIFEXITED(*status));
	EXPECT_EQ(WEXITSTATUS(*status), 3);
	EXPECT_FALSE(reap(pid));
	EXPECT_EQ(errno, ECHILD);
}

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "util/fd.hpp"

namespace nocma
{

struct ProcessResult {
	int status = 0; /* exit code, or 128 + signal number */
	std::string out;
	std::string err;

	[[nodiscard]] bool ok() const noexcept { return status == 0; }
};

struct ProcessOptions {
	std::optional<std::filesystem::path> directory; /* working directory of the child */
	std::vector<std::string> environment;		/* NAME=VALUE added to our own */
	std::string input;				/* standard input */
	std::chrono::milliseconds timeout = std::chrono::hours(1);
};

/*
 * Runs argv[0], found in PATH, and collects what it prints. Throws SystemError when it cannot
 * be started and Error when the time is over (the whole process group is then killed).
 */
ProcessResult run(const std::vector<std::string> &argv, const ProcessOptions &options = {});

/* As run(), but a non-zero status is an Error that quotes the last line of standard error. */
std::string run_or_throw(const std::vector<std::string> &argv, const ProcessOptions &options = {});

/* Where PATH has the program, or nothing. */
std::optional<std::filesystem::path> find_program(const std::string &name);

/*
 * Waits for the end of a child, signals in between or not, and returns its status as wait(2) gives
 * it. Nothing, and why in errno, when there is no such child, as after an earlier call.
 */
std::optional<int> reap(pid_t pid) noexcept;

/*
 * A child process in a process group of its own, killed and reaped with the object; it also dies
 * when the thread that made it does (SIGKILL of this process included). Extra descriptors listed in
 * `keep` stay open in the child under the same numbers.
 */
class Child
{
public:
	struct Spawn {
		std::vector<std::string> argv;
		std::optional<std::filesystem::path> directory;
		std::vector<std::string> environment;
		int stdin_fd = -1; /* -1: /dev/null */
		int stdout_fd = -1;
		int stderr_fd = -1;
		std::vector<int> keep;
	};

	explicit Child(const Spawn &spawn);
	Child(const Child &) = delete;
	Child &operator=(const Child &) = delete;
	Child(Child &&other) noexcept;
	Child &operator=(Child &&) = delete;
	~Child();

	/* Exit status as in ProcessResult, or nothing while the child runs. */
	std::optional<int> poll();
	int wait();
	void kill(int signal) noexcept;
	[[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
	pid_t pid_ = -1;
	std::optional<int> status_;
};

struct Pipe {
	UniqueFd read;
	UniqueFd write;
};

/* pipe2(O_CLOEXEC). Throws SystemError. */
Pipe make_pipe();

} // namespace nocma

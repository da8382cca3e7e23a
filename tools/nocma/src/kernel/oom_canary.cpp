// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/oom_canary.hpp"

#include <cerrno>
#include <csignal>
#include <exception>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma
{

namespace
{

/* Locked, for neither swap nor a look at whether it is used may take the memory away. */
[[noreturn]] void sit(const UniqueFd &ready, std::uint64_t bytes)
{
	::prctl(PR_SET_NAME, "nocma-canary");
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		write_existing("/proc/self/oom_score_adj", "1000");
	} catch (const std::exception &) {
		::_exit(1);
	}
	if (::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE | MAP_LOCKED, -1, 0) == MAP_FAILED ||
	    ::write(ready.get(), "", 1) != 1)
		::_exit(1);
	for (;;)
		::pause();
}

} // namespace

OomCanary::OomCanary(std::uint64_t bytes)
{
	Pipe pipe = make_pipe();
	char byte = 0;
	ssize_t got = 0;

	pid_ = ::fork();
	if (pid_ < 0)
		throw SystemError("fork", "", errno);
	if (pid_ == 0)
		sit(pipe.write, bytes);
	pipe.write.reset();
	do
		got = ::read(pipe.read.get(), &byte, 1);
	while (got < 0 && errno == EINTR);
	if (got != 1) {
		reap(pid_);
		throw Error(fmt::format(
			"{} bytes cannot be held, to be given up when memory is out", bytes));
	}
}

OomCanary::~OomCanary()
{
	if (reaped_)
		return;
	::kill(pid_, SIGKILL);
	reap(pid_);
}

bool OomCanary::alive()
{
	if (!reaped_ && ::waitpid(pid_, nullptr, WNOHANG) == pid_)
		reaped_ = true;
	return !reaped_;
}

} // namespace nocma

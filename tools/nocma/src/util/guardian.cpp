// SPDX-License-Identifier: GPL-2.0-only
#include "util/guardian.hpp"

#include <cerrno>
#include <csignal>
#include <exception>

#include <sys/prctl.h>
#include <unistd.h>

#include "util/error.hpp"
#include "util/process.hpp"

namespace nocma
{

namespace
{

[[noreturn]] void guard(const UniqueFd &end, const std::function<void()> &undo)
{
	char byte = 0;

	::prctl(PR_SET_NAME, "nocma-guardian");
	/* What ends the process group of the guarded one must not end this one, too. */
	::setsid();
	for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE})
		::signal(signal, SIG_IGN);
	while (::read(end.get(), &byte, 1) < 0 && errno == EINTR)
		;
	try {
		undo();
	} catch (const std::exception &) {
		::_exit(1);
	}
	::_exit(0);
}

} // namespace

Guardian::Guardian(const std::function<void()> &undo)
{
	Pipe pipe = make_pipe();

	pid_ = ::fork();
	if (pid_ < 0)
		throw SystemError("fork", "", errno);
	if (pid_ == 0) {
		pipe.write.reset();
		guard(pipe.read, undo);
	}
	alive_ = std::move(pipe.write);
}

Guardian::~Guardian()
{
	alive_.reset();
	reap(pid_);
}

} // namespace nocma

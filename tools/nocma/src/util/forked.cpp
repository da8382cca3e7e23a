// SPDX-License-Identifier: GPL-2.0-only
#include "util/forked.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "util/error.hpp"
#include "util/process.hpp"

namespace nocma
{

namespace
{

[[noreturn]] void leave(const UniqueFd &message, std::string_view what, ExitCode code)
{
	/* With nobody to read it, the exit status has to do. */
	[[maybe_unused]] const ssize_t written = ::write(message.get(), what.data(), what.size());

	::_exit(static_cast<int>(code));
}

[[noreturn]] void work_and_leave(const std::function<void()> &work, const UniqueFd &message)
{
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	try {
		work();
	} catch (const Error &error) {
		leave(message, error.what(), error.code());
	} catch (const std::exception &error) {
		leave(message, error.what(), ExitCode::fail);
	}
	::_exit(0);
}

std::string read_all(const UniqueFd &fd)
{
	std::string text;
	std::array<char, 1024> buffer{};

	for (;;) {
		const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());

		if (got > 0)
			text.append(buffer.data(), static_cast<std::size_t>(got));
		else if (got == 0 || errno != EINTR)
			return text;
	}
}

} // namespace

Forked::Forked(const std::function<void()> &work)
{
	Pipe pipe = make_pipe();

	pid_ = ::fork();
	if (pid_ < 0)
		throw SystemError("fork", "", errno);
	if (pid_ == 0) {
		pipe.read.reset();
		work_and_leave(work, pipe.write);
	}
	message_ = std::move(pipe.read);
}

Forked::~Forked()
{
	if (pid_ < 0)
		return;
	::kill(pid_, SIGKILL);
	reap(pid_);
}

int Forked::wait()
{
	const std::string message = read_all(message_);
	const std::optional<int> status = reap(std::exchange(pid_, -1));

	if (!status)
		throw SystemError("waitpid", "", errno);
	if (WIFSIGNALED(*status))
		return WTERMSIG(*status);
	if (WEXITSTATUS(*status) == static_cast<int>(ExitCode::skip))
		throw SkipError(message);
	if (WEXITSTATUS(*status) != 0)
		throw Error(message);
	return 0;
}

} // namespace nocma

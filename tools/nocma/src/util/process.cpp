// SPDX-License-Identifier: GPL-2.0-only
#include "util/process.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

using Clock = std::chrono::steady_clock;

int decode_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<char *> pointers(std::vector<std::string> &strings)
{
	std::vector<char *> result;

	for (std::string &string : strings)
		result.push_back(string.data());
	result.push_back(nullptr);
	return result;
}

std::vector<std::string> child_environment(const std::vector<std::string> &extra)
{
	std::vector<std::string> environment;

	for (char **entry = environ; *entry != nullptr; entry++) {
		const std::string_view name =
			std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
		bool replaced = false;

		for (const std::string &assignment : extra)
			replaced |= assignment.starts_with(fmt::format("{}=", name));
		if (!replaced)
			environment.emplace_back(*entry);
	}
	environment.insert(environment.end(), extra.begin(), extra.end());
	return environment;
}

/* Runs between fork and exec: async-signal-safe calls only. */
[[noreturn]] void exec_child(pid_t parent, const char *file, const char *directory,
			     char *const *argv, char *const *environment,
			     std::array<int, 3> standard, const std::vector<int> &keep,
			     int error_fd)
{
	sigset_t none;

	::setpgid(0, 0);
	/* A child must not outlive us even if we are killed without a chance to clean up. */
	::prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (::getppid() != parent) /* killed before the line above */
		::_exit(127);
	sigemptyset(&none);
	::sigprocmask(SIG_SETMASK, &none, nullptr);
	::signal(SIGPIPE, SIG_DFL);
	for (int target = 0; target < 3; target++) {
		int &source = standard.at(static_cast<std::size_t>(target));

		if (source < 0)
			source = ::open("/dev/null", target == 0 ? O_RDONLY : O_WRONLY);
		if (source != target)
			::dup2(source, target);
		else
			::fcntl(target, F_SETFD, 0);
	}
	for (const int fd : keep)
		::fcntl(fd, F_SETFD, 0);
	if (directory == nullptr || ::chdir(directory) == 0)
		::execve(file, argv, environment);
	const int error = errno;
	[[maybe_unused]] const ssize_t written = ::write(error_fd, &error, sizeof(error));
	::_exit(127);
}

/* Reads what is there; false at end of file. */
bool drain(const UniqueFd &fd, std::string &text)
{
	std::array<char, 65536> buffer{};
	const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	text.append(buffer.data(), static_cast<std::size_t>(got));
	return got > 0;
}

/* Writes what the pipe takes; false when done or when the reader has gone. */
bool feed(const UniqueFd &fd, std::string_view &input)
{
	const ssize_t written = ::write(fd.get(), input.data(), input.size());

	if (written < 0)
		return errno == EINTR || errno == EAGAIN;
	input.remove_prefix(static_cast<std::size_t>(written));
	return !input.empty();
}

} // namespace

Pipe make_pipe()
{
	std::array<int, 2> fds{};

	if (::pipe2(fds.data(), O_CLOEXEC) < 0)
		throw SystemError("pipe2", "", errno);
	return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::optional<std::filesystem::path> find_program(const std::string &name)
{
	if (name.find('/') != std::string::npos)
		return ::access(name.c_str(), X_OK) == 0 ? std::optional(name) : std::nullopt;

	const char *path = std::getenv("PATH"); // NOLINT(concurrency-mt-unsafe)
	for (const std::string &directory : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
		const std::filesystem::path file = std::filesystem::path(directory) / name;

		if (!directory.empty() && ::access(file.c_str(), X_OK) == 0)
			return file;
	}
	return std::nullopt;
}

std::optional<int> reap(pid_t pid) noexcept
{
	int status = 0;

	while (::waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return std::nullopt;
	return status;
}

Child::Child(const Spawn &spawn)
{
	const std::optional<std::filesystem::path> file = find_program(spawn.argv.at(0));

	if (!file)
		throw SystemError("run", spawn.argv[0], ENOENT);

	std::vector<std::string> arguments = spawn.argv;
	std::vector<std::string> environment = child_environment(spawn.environment);
	const std::vector<char *> argv = pointers(arguments);
	const std::vector<char *> envp = pointers(environment);
	Pipe failure = make_pipe();

	const pid_t parent = ::getpid();
	pid_ = ::fork();
	if (pid_ < 0)
		throw SystemError("fork", "", errno);
	if (pid_ == 0)
		exec_child(parent, file->c_str(),
			   spawn.directory ? spawn.directory->c_str() : nullptr, argv.data(),
			   envp.data(), {spawn.stdin_fd, spawn.stdout_fd, spawn.stderr_fd},
			   spawn.keep, failure.write.get());
	/* In both, so that neither runs before the group exists. */
	::setpgid(pid_, pid_);
	failure.write.reset();

	int error = 0;
	if (::read(failure.read.get(), &error, sizeof(error)) == sizeof(error)) {
		wait();
		throw SystemError("run", spawn.argv[0], error);
	}
}

Child::Child(Child &&other) noexcept : pid_(std::exchange(other.pid_, -1)), status_(other.status_)
{
}

Child::~Child()
{
	if (pid_ < 0 || status_)
		return;
	kill(SIGKILL);
	reap(pid_);
}

std::optional<int> Child::poll()
{
	int status = 0;

	if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_)
		status_ = decode_status(status);
	return status_;
}

int Child::wait()
{
	if (!status_) {
		const std::optional<int> status = reap(pid_);

		if (!status)
			throw SystemError("waitpid", "", errno);
		status_ = decode_status(*status);
	}
	return *status_;
}

void Child::kill(int signal) noexcept
{
	if (pid_ > 0 && !status_)
		::kill(-pid_, signal);
}

ProcessResult run(const std::vector<std::string> &argv, const ProcessOptions &options)
{
	Pipe in = make_pipe();
	Pipe out = make_pipe();
	Pipe err = make_pipe();
	Child child({.argv = argv,
		     .directory = options.directory,
		     .environment = options.environment,
		     .stdin_fd = in.read.get(),
		     .stdout_fd = out.write.get(),
		     .stderr_fd = err.write.get(),
		     .keep = {}});
	ProcessResult result;
	std::string_view input = options.input;
	const Clock::time_point deadline = Clock::now() + options.timeout;

	in.read.reset();
	out.write.reset();
	err.write.reset();
	::fcntl(in.write.get(), F_SETFL, O_NONBLOCK);
	if (input.empty())
		in.write.reset();
	while (out.read || err.read || in.write) {
		std::array<pollfd, 3> fds{{{out.read.get(), POLLIN, 0},
					   {err.read.get(), POLLIN, 0},
					   {in.write.get(), POLLOUT, 0}}};
		const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
			deadline - Clock::now());

		if (left.count() <= 0)
			throw Error(fmt::format(
				"{}: no end after {} s, killed", argv[0],
				std::chrono::duration_cast<std::chrono::seconds>(options.timeout)
					.count()));
		if (::poll(fds.data(), fds.size(), static_cast<int>(left.count())) <= 0)
			continue;
		if (fds[0].revents != 0 && !drain(out.read, result.out))
			out.read.reset();
		if (fds[1].revents != 0 && !drain(err.read, result.err))
			err.read.reset();
		if (fds[2].revents != 0 && !feed(in.write, input))
			in.write.reset();
	}
	result.status = child.wait();
	return result;
}

std::string run_or_throw(const std::vector<std::string> &argv, const ProcessOptions &options)
{
	ProcessResult result = run(argv, options);

	if (!result.ok()) {
		const std::vector<std::string> lines = split_lines(trim(result.err));

		throw Error(fmt::format("{}: exit status {}{}", fmt::join(argv, " "), result.status,
					lines.empty() ? "" : ": " + lines.back()));
	}
	return std::move(result.out);
}

} // namespace nocma

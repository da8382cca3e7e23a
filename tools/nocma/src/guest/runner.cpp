// SPDX-License-Identifier: GPL-2.0-only
#include "guest/runner.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <string_view>

#include <fcntl.h>
#include <poll.h>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/process.hpp"

namespace nocma::guest
{

namespace
{

using Clock = std::chrono::steady_clock;

/* An oops is followed by its register dump, which belongs in the log. */
constexpr std::chrono::seconds grace_after_fatal(2);
constexpr int poll_milliseconds = 100;
constexpr std::string_view last_line = "# nocma-guest: exit ";

/* What a guest in its right mind may write on one port: a benchmark's JSON is some 100 KiB. */
constexpr std::size_t port_limit = 64 << 20;

/* Read at a time, so that a flood cannot keep us from the clock; more than a pipe holds. */
constexpr std::size_t read_limit = 1 << 20;

/* One serial port: the end QEMU writes to, the end we read, the log. */
class Port
{
public:
	Port(std::string name, const std::filesystem::path &log)
		: name_(std::move(name)), pipe_(make_pipe()), log_(log)
	{
		if (!log_)
			throw SystemError("create", log.native(), errno);
		::fcntl(pipe_.read.get(), F_SETFL, O_NONBLOCK);
	}

	[[nodiscard]] const std::string &name() const noexcept { return name_; }
	[[nodiscard]] bool flooded() const noexcept { return total_ > port_limit; }
	[[nodiscard]] int write_end() const noexcept { return pipe_.write.get(); }
	[[nodiscard]] int read_end() const noexcept { return pipe_.read.get(); }
	void started() noexcept { pipe_.write.reset(); }

	/* What has arrived, up to read_limit; empty when there is nothing. */
	std::string take()
	{
		std::string text;
		std::array<char, 65536> buffer{};

		while (text.size() < read_limit) {
			const ssize_t got = ::read(pipe_.read.get(), buffer.data(), buffer.size());

			if (got < 0 && errno == EINTR)
				continue;
			if (got <= 0)
				break;
			text.append(buffer.data(), static_cast<std::size_t>(got));
		}
		log_ << text << std::flush;
		total_ += text.size();
		return text;
	}

private:
	std::string name_;
	Pipe pipe_;
	std::ofstream log_;
	std::size_t total_ = 0;
};

/* A test that did not pass, at any level of nesting. */
bool explains(std::string_view line)
{
	return trim(line).starts_with("not ok ") || line.find("# SKIP") != std::string_view::npos;
}

class Session
{
public:
	explicit Session(const GuestRun &run)
		: run_(run), console_("console", run.logs / "console.log"),
		  verdict_("verdict", run.logs / "verdict.log"),
		  data_("data", run.logs / "data.log"),
		  qemu_({.argv = qemu_command(
				 qemu_program(), run.kernel, run.initramfs, run.machine,
				 {console_.write_end(), verdict_.write_end(), data_.write_end()}),
			 .directory = {},
			 .environment = {},
			 /* Why QEMU does not start belongs among the last lines shown. */
			 .stdout_fd = console_.write_end(),
			 .stderr_fd = console_.write_end(),
			 .keep = {console_.write_end(), verdict_.write_end(), data_.write_end()}})
	{
		outcome_.console = Console(run.known_warnings);
		for (Port *port : {&console_, &verdict_, &data_})
			port->started();
	}

	Outcome run()
	{
		std::optional<int> ended;

		while (!ended && !over()) {
			InterruptGuard::check();
			wait_for_input();
			/* Asked before reading: what QEMU wrote before its end is then there. */
			ended = qemu_.poll();
			read_ports();
		}
		outcome_.elapsed = std::chrono::duration_cast<std::chrono::milliseconds>(
			Clock::now() - began_);
		judge(ended);
		return std::move(outcome_);
	}

private:
	[[nodiscard]] const Port *flooded() const
	{
		for (const Port *port : {&console_, &verdict_, &data_})
			if (port->flooded())
				return port;
		return nullptr;
	}

	/* Time is over, it never stops talking, or it has died and has had time to say why. */
	bool over()
	{
		if (outcome_.console.fatal() && !fatal_since_)
			fatal_since_ = Clock::now();
		return Clock::now() - began_ >= run_.timeout || flooded() != nullptr ||
		       (fatal_since_ && Clock::now() - *fatal_since_ >= grace_after_fatal);
	}

	void wait_for_input()
	{
		std::array<pollfd, 3> fds{{{console_.read_end(), POLLIN, 0},
					   {verdict_.read_end(), POLLIN, 0},
					   {data_.read_end(), POLLIN, 0}}};

		/* A port at its end is always ready: then only the clock paces us. */
		::poll(fds.data(), fds.size(), poll_milliseconds);
		if (std::any_of(fds.begin(), fds.end(),
				[](const pollfd &fd) { return fd.revents == POLLHUP; }))
			::poll(nullptr, 0, poll_milliseconds);
	}

	void read_ports()
	{
		outcome_.console.feed(console_.take());
		outcome_.data += data_.take();
		for (const std::string &line : verdict_lines_.feed(verdict_.take()))
			verdict_line(line);
	}

	void verdict_line(const std::string &line)
	{
		outcome_.explained |= explains(line);
		if (line.starts_with(last_line)) {
			const std::string_view digits =
				std::string_view(line).substr(last_line.size());
			int status = 0;

			if (std::from_chars(digits.data(), digits.data() + digits.size(), status)
				    .ec == std::errc())
				outcome_.status = status;
		} else if (run_.on_verdict) {
			run_.on_verdict(line);
		}
	}

	void judge(std::optional<int> ended)
	{
		const Console &console = outcome_.console;

		if (console.fatal())
			outcome_.trouble = fmt::format("its kernel died: {}", *console.fatal());
		else if (const Port *port = flooded())
			outcome_.trouble =
				fmt::format("it wrote more than {} MiB to its {} port, killed",
					    port_limit >> 20, port->name());
		else if (!outcome_.status && !ended)
			outcome_.trouble =
				fmt::format("no verdict within {} s, killed", run_.timeout.count());
		else if (!outcome_.status)
			outcome_.trouble = fmt::format(
				"it ended before its verdict (QEMU's exit status {})", *ended);
		else if (!ended)
			outcome_.trouble = fmt::format("it did not power off within {} s, killed",
						       run_.timeout.count());
		else if (!console.warnings().empty())
			outcome_.trouble =
				fmt::format("its kernel warned {} times, first: {}",
					    console.warnings().size(), console.warnings().front());
	}

	const GuestRun &run_;
	Port console_;
	Port verdict_;
	Port data_;
	Child qemu_;
	LineReader verdict_lines_;
	Outcome outcome_;
	Clock::time_point began_ = Clock::now();
	std::optional<Clock::time_point> fatal_since_;
};

} // namespace

Outcome run_guest(const GuestRun &run)
{
	return Session(run).run();
}

} // namespace nocma::guest

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace nocma
{

/* Exit codes: kselftest's, and 2 for a wrong call (Documentation/dev-tools/nocma.rst). */
enum class ExitCode : int { pass = 0, fail = 1, usage = 2, skip = 4 };

/*
 * A failure that ends the command. what() is the one line the user reads: it names the
 * input, what is wrong with it and, where there is one, the way out.
 */
class Error : public std::runtime_error
{
public:
	explicit Error(const std::string &message, ExitCode code = ExitCode::fail)
		: std::runtime_error(message), code_(code)
	{
	}

	[[nodiscard]] ExitCode code() const noexcept { return code_; }

private:
	ExitCode code_;
};

/* The call itself was wrong: nothing has been changed. Exits with 2. */
class UsageError : public Error
{
public:
	explicit UsageError(const std::string &message) : Error(message, ExitCode::usage) {}
};

/*
 * A system call failed. The message is "call path: errno's text"; errno stays available for
 * callers that treat some errors as "not there".
 */
class SystemError : public Error
{
public:
	SystemError(std::string_view call, std::string_view path, int error);

	[[nodiscard]] int error() const noexcept { return error_; }

private:
	int error_;
};

/* Something a test needs is missing on this machine: a skip with its reason, not a failure. */
class SkipError : public Error
{
public:
	explicit SkipError(const std::string &reason) : Error(reason, ExitCode::skip) {}
};

/* errno's text, without strerror()'s thread-unsafe buffer. */
std::string errno_text(int error);

} // namespace nocma

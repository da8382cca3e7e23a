/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <array>
#include <csignal>

namespace nocma
{

/*
 * While it lives, SIGINT, SIGTERM and SIGHUP only set a flag, so that what was changed on the
 * machine is undone by destructors. check() turns the flag into an Error.
 */
class InterruptGuard
{
public:
	InterruptGuard();
	InterruptGuard(const InterruptGuard &) = delete;
	InterruptGuard &operator=(const InterruptGuard &) = delete;
	InterruptGuard(InterruptGuard &&) = delete;
	InterruptGuard &operator=(InterruptGuard &&) = delete;
	~InterruptGuard();

	static void check();

private:
	std::array<struct sigaction, 3> saved_{};
};

} // namespace nocma

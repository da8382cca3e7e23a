/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <csignal>

namespace nocma::series
{

/*
 * While it lives SIGINT, SIGTERM and SIGHUP only leave a note, which interrupt_point() turns
 * into an Error: so that destructors run and a half-made change is rolled back.
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

private:
	struct sigaction old_int_ {
	};
	struct sigaction old_term_ {
	};
	struct sigaction old_hup_ {
	};
};

/* Throws Error when a signal came since the guard was made. Call where stopping is safe. */
void interrupt_point();

} // namespace nocma::series

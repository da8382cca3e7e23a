// SPDX-License-Identifier: GPL-2.0-only
#include "util/interrupt.hpp"

#include <cstddef>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

constexpr std::array<int, 3> caught_signals = {SIGINT, SIGTERM, SIGHUP};

volatile std::sig_atomic_t pending_signal = 0;

void remember(int signal)
{
	pending_signal = signal;
}

} // namespace

InterruptGuard::InterruptGuard()
{
	struct sigaction action = {};

	action.sa_handler = remember;
	action.sa_flags = SA_RESTART;
	pending_signal = 0;
	for (std::size_t i = 0; i < caught_signals.size(); i++)
		::sigaction(caught_signals.at(i), &action, &saved_.at(i));
}

InterruptGuard::~InterruptGuard()
{
	for (std::size_t i = 0; i < caught_signals.size(); i++)
		::sigaction(caught_signals.at(i), &saved_.at(i), nullptr);
}

void InterruptGuard::check()
{
	if (pending_signal != 0)
		throw Error(fmt::format("interrupted by signal {}; what was begun is undone",
					pending_signal));
}

} // namespace nocma

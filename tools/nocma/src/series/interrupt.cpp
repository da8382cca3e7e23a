// SPDX-License-Identifier: GPL-2.0-only
#include "series/interrupt.hpp"

#include "util/error.hpp"

namespace nocma::series
{

namespace
{

volatile std::sig_atomic_t interrupted = 0;

void note(int)
{
	interrupted = 1;
}

} // namespace

InterruptGuard::InterruptGuard()
{
	struct sigaction action {
	};

	/* Restart what was interrupted: the points at which to stop are chosen, not hit. */
	action.sa_handler = note;
	action.sa_flags = SA_RESTART;
	interrupted = 0;
	::sigaction(SIGINT, &action, &old_int_);
	::sigaction(SIGTERM, &action, &old_term_);
	::sigaction(SIGHUP, &action, &old_hup_);
}

InterruptGuard::~InterruptGuard()
{
	::sigaction(SIGINT, &old_int_, nullptr);
	::sigaction(SIGTERM, &old_term_, nullptr);
	::sigaction(SIGHUP, &old_hup_, nullptr);
}

void interrupt_point()
{
	if (interrupted != 0)
		throw Error("interrupted; the tree is as it was before");
}

} // namespace nocma::series

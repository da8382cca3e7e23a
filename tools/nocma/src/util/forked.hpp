/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>

#include <sys/types.h>

#include "util/fd.hpp"

namespace nocma
{

/*
 * A copy of this process that runs a function and ends: for what cannot be undone (another user)
 * or what may end it (a signal). It is killed and reaped with the object.
 */
class Forked
{
public:
	/* Throws SystemError. */
	explicit Forked(const std::function<void()> &work);
	Forked(const Forked &) = delete;
	Forked &operator=(const Forked &) = delete;
	Forked(Forked &&) = delete;
	Forked &operator=(Forked &&) = delete;
	~Forked();

	/*
	 * The signal that ended it, or 0 when the function returned. Throws Error, or SkipError,
	 * with the message of what the function threw. To be called once.
	 */
	int wait();

private:
	UniqueFd message_;
	pid_t pid_ = -1;
};

} // namespace nocma

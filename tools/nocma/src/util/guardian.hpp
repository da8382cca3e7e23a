/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <functional>

#include <sys/types.h>

#include "util/fd.hpp"

namespace nocma
{

/*
 * Undoes a change of the machine however this process ends, SIGKILL included: a process of its
 * own, in a session of its own, sees our end and calls `undo` then. Make it before the change.
 */
class Guardian
{
public:
	explicit Guardian(const std::function<void()> &undo);
	Guardian(const Guardian &) = delete;
	Guardian &operator=(const Guardian &) = delete;
	Guardian(Guardian &&) = delete;
	Guardian &operator=(Guardian &&) = delete;
	/* Has it undone now, and waits for that. */
	~Guardian();

private:
	UniqueFd alive_; /* closed when we end */
	pid_t pid_ = -1;
};

} // namespace nocma

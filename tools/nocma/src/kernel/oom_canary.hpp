/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>

#include <sys/types.h>

namespace nocma
{

/*
 * A process that the kernel kills before any other when memory is out, and that holds so much of it
 * that its death ends the want: who takes all memory on purpose sees so when to stop. TTM's pages
 * count for no process, so without it whoever is the largest would be killed, and then the next.
 */
class OomCanary
{
public:
	/* Waits until the memory is held. Throws SystemError. */
	explicit OomCanary(std::uint64_t bytes);
	OomCanary(const OomCanary &) = delete;
	OomCanary &operator=(const OomCanary &) = delete;
	OomCanary(OomCanary &&) = delete;
	OomCanary &operator=(OomCanary &&) = delete;
	~OomCanary();

	[[nodiscard]] bool alive();
	[[nodiscard]] pid_t pid() const noexcept { return pid_; }

private:
	pid_t pid_ = -1;
	bool reaped_ = false;
};

} // namespace nocma

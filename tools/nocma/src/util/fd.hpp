/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <utility>

#include <unistd.h>

namespace nocma
{

/* Owns a file descriptor and closes it. -1 is "none". */
class UniqueFd
{
public:
	UniqueFd() noexcept = default;
	explicit UniqueFd(int fd) noexcept : fd_(fd) {}
	UniqueFd(UniqueFd &&other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
	UniqueFd(const UniqueFd &) = delete;
	~UniqueFd() { reset(); }

	UniqueFd &operator=(UniqueFd &&other) noexcept
	{
		if (this != &other)
			reset(std::exchange(other.fd_, -1));
		return *this;
	}
	UniqueFd &operator=(const UniqueFd &) = delete;

	[[nodiscard]] int get() const noexcept { return fd_; }
	[[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }

	void reset(int fd = -1) noexcept
	{
		if (fd_ >= 0)
			::close(fd_);
		fd_ = fd;
	}

private:
	int fd_ = -1;
};

} // namespace nocma

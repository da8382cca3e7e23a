// SPDX-License-Identifier: GPL-2.0-only
#include "drm/buffer_object.hpp"

#include <cerrno>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

Toucher::Toucher() : zero_(::open("/dev/zero", O_RDONLY | O_CLOEXEC))
{
	if (!zero_)
		throw SystemError("open", "/dev/zero", errno);
}

void Toucher::touch(std::byte &byte) const
{
	if (::read(zero_.get(), &byte, 1) != 1)
		throw SystemError("first touch", "", errno);
}

Nanoseconds monotonic_now()
{
	timespec now{};

	::clock_gettime(CLOCK_MONOTONIC, &now);
	return std::chrono::seconds(now.tv_sec) + Nanoseconds(now.tv_nsec);
}

BufferObject::BufferObject(const DrmDevice &device, const Backend &backend, std::uint64_t bytes)
	: handle_(device, backend.create(device, bytes)),
	  mapping_(map_object(device, backend.map_offset(device, handle_.get(), bytes), bytes))
{
}

Interval BufferObject::populate(const Toucher &toucher) const
{
	const Nanoseconds begin = monotonic_now();

	try {
		toucher.touch(bytes().front());
	} catch (const SystemError &error) {
		throw PopulateFailed(
			fmt::format("object of {} bytes: TTM found no pages for it ({})",
				    mapping_.size(), errno_text(error.error())));
	}
	return {.begin = begin, .end = monotonic_now()};
}

} // namespace nocma

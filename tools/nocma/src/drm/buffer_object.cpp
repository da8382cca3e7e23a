// SPDX-License-Identifier: GPL-2.0-only
#include "drm/buffer_object.hpp"

#include <cerrno>
#include <ctime>
#include <utility>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fmt/format.h>
#include <xf86drm.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

void close_handle(int device, std::uint32_t handle) noexcept
{
	drm_gem_close request{};

	request.handle = handle;
	drmIoctl(device, DRM_IOCTL_GEM_CLOSE, &request);
}

} // namespace

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
	: device_(device.fd()), handle_(backend.create(device, bytes))
{
	try {
		const std::uint64_t offset = backend.map_offset(device, handle_, bytes);
		void *const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
					     device_, static_cast<off_t>(offset));

		if (address == MAP_FAILED)
			throw SystemError("mmap", device.path().native(), errno);
		mapping_ = {static_cast<std::byte *>(address), bytes};
	} catch (...) {
		close_handle(device_, handle_);
		throw;
	}
}

BufferObject::BufferObject(BufferObject &&other) noexcept
	: device_(other.device_), handle_(std::exchange(other.handle_, 0)),
	  mapping_(std::exchange(other.mapping_, {}))
{
}

BufferObject::~BufferObject()
{
	if (!mapping_.empty())
		::munmap(mapping_.data(), mapping_.size());
	if (handle_ != 0)
		close_handle(device_, handle_);
}

Interval BufferObject::populate(const Toucher &toucher) const
{
	const Nanoseconds begin = monotonic_now();

	try {
		toucher.touch(mapping_.front());
	} catch (const SystemError &error) {
		throw PopulateFailed(
			fmt::format("object of {} bytes: TTM found no pages for it ({})",
				    mapping_.size(), errno_text(error.error())));
	}
	return {.begin = begin, .end = monotonic_now()};
}

} // namespace nocma

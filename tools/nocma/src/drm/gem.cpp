// SPDX-License-Identifier: GPL-2.0-only
#include "drm/gem.hpp"

#include <cerrno>
#include <cstddef>
#include <utility>

#include <sys/mman.h>

#include <xf86drm.h>

#include "util/error.hpp"

namespace nocma
{

GemHandle::GemHandle(const DrmDevice &device, std::uint32_t handle) noexcept
	: device_(device.fd()), handle_(handle)
{
}

GemHandle::GemHandle(GemHandle &&other) noexcept
	: device_(other.device_), handle_(std::exchange(other.handle_, 0))
{
}

GemHandle::~GemHandle()
{
	drm_gem_close request{};

	if (handle_ == 0)
		return;
	request.handle = handle_;
	drmIoctl(device_, DRM_IOCTL_GEM_CLOSE, &request);
}

Mapping map_object(const DrmDevice &device, std::uint64_t offset, std::uint64_t bytes)
{
	void *const address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
				     device.fd(), static_cast<off_t>(offset));

	if (address == MAP_FAILED)
		throw SystemError("mmap", device.path().native(), errno);
	return Mapping({static_cast<std::byte *>(address), bytes});
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "drm/radeon.hpp"

#include <cerrno>

#include <radeon_drm.h>
#include <xf86drm.h>

#include "util/error.hpp"

namespace nocma
{

std::uint32_t RadeonBackend::create(const DrmDevice &device, std::uint64_t bytes) const
{
	drm_radeon_gem_create request{};

	request.size = bytes;
	request.initial_domain = RADEON_GEM_DOMAIN_CPU;
	if (drmIoctl(device.fd(), DRM_IOCTL_RADEON_GEM_CREATE, &request) != 0)
		throw SystemError("RADEON_GEM_CREATE", device.path().native(), errno);
	return request.handle;
}

std::uint64_t RadeonBackend::map_offset(const DrmDevice &device, std::uint32_t handle,
					std::uint64_t bytes) const
{
	drm_radeon_gem_mmap request{};

	request.handle = handle;
	request.size = bytes;
	if (drmIoctl(device.fd(), DRM_IOCTL_RADEON_GEM_MMAP, &request) != 0)
		throw SystemError("RADEON_GEM_MMAP", device.path().native(), errno);
	return request.addr_ptr;
}

} // namespace nocma

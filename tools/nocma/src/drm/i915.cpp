// SPDX-License-Identifier: GPL-2.0-only
#include "drm/i915.hpp"

#include <cerrno>

#include <i915_drm.h>
#include <xf86drm.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

Mapping map_file(const DrmDevice &device, std::uint32_t handle, std::uint64_t bytes)
{
	drm_i915_gem_mmap request{};

	request.handle = handle;
	request.size = bytes;
	if (drmIoctl(device.fd(), DRM_IOCTL_I915_GEM_MMAP, &request) != 0) {
		if (errno == EOPNOTSUPP || errno == ENODEV)
			throw SkipError("no I915_GEM_MMAP: the kernel has it for no GPU like this");
		throw SystemError("I915_GEM_MMAP", device.path().native(), errno);
	}
	/* The kernel maps it and returns the address as a number. */
	// NOLINTNEXTLINE(performance-no-int-to-ptr)
	return Mapping({reinterpret_cast<std::byte *>(request.addr_ptr), bytes});
}

} // namespace

bool has_mmap_offset(const DrmDevice &device)
{
	constexpr int with_offset = 4;
	int version = 0;
	drm_i915_getparam request{};

	request.param = I915_PARAM_MMAP_GTT_VERSION;
	request.value = &version;
	return drmIoctl(device.fd(), DRM_IOCTL_I915_GETPARAM, &request) == 0 &&
	       version >= with_offset;
}

std::uint32_t I915Backend::create(const DrmDevice &device, std::uint64_t bytes) const
{
	drm_i915_gem_create request{};

	request.size = bytes;
	if (drmIoctl(device.fd(), DRM_IOCTL_I915_GEM_CREATE, &request) != 0)
		throw SystemError("I915_GEM_CREATE", device.path().native(), errno);
	return request.handle;
}

std::uint64_t I915Backend::map_offset(const DrmDevice &device, std::uint32_t handle,
				      std::uint64_t /*bytes*/) const
{
	drm_i915_gem_mmap_offset request{};

	if (!has_mmap_offset(device))
		throw SkipError("no I915_GEM_MMAP_OFFSET: the kernel is older than 5.5");
	request.handle = handle;
	request.flags = I915_MMAP_OFFSET_WB;
	if (drmIoctl(device.fd(), DRM_IOCTL_I915_GEM_MMAP_OFFSET, &request) != 0)
		throw SystemError("I915_GEM_MMAP_OFFSET", device.path().native(), errno);
	return request.offset;
}

I915FileMapping::I915FileMapping(const DrmDevice &device, std::uint64_t bytes)
	: handle_(device, I915Backend().create(device, bytes)),
	  mapping_(map_file(device, handle_.get(), bytes))
{
}

} // namespace nocma

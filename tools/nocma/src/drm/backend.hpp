/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "drm/device.hpp"

namespace nocma
{

/*
 * What differs from driver to driver: how a buffer object is made that lives in system
 * memory and whose pages TTM allocates at the first touch, and how it is mapped. Handles are
 * GEM handles of the device; closing them is the same for all drivers.
 */
class Backend
{
public:
	Backend() = default;
	Backend(const Backend &) = delete;
	Backend &operator=(const Backend &) = delete;
	Backend(Backend &&) = delete;
	Backend &operator=(Backend &&) = delete;
	virtual ~Backend() = default;

	/* Name of the DRM driver, as DRM_IOCTL_VERSION says it. */
	[[nodiscard]] virtual std::string_view driver() const = 0;

	/* GEM handle of a new object without pages. Throws SystemError. */
	[[nodiscard]] virtual std::uint32_t create(const DrmDevice &device,
						   std::uint64_t bytes) const = 0;

	/* Offset for mmap(2) of the device node. Throws SystemError. */
	[[nodiscard]] virtual std::uint64_t
	map_offset(const DrmDevice &device, std::uint32_t handle, std::uint64_t bytes) const = 0;
};

/* Back-end of that name; UsageError lists the names there are. */
std::unique_ptr<Backend> make_backend(std::string_view name);

std::vector<std::string> backend_names();

} // namespace nocma

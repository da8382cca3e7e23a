/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>

#include "drm/device.hpp"
#include "util/mapping.hpp"

namespace nocma
{

/* Owns a GEM handle and closes it. The device must outlive it. */
class GemHandle
{
public:
	GemHandle(const DrmDevice &device, std::uint32_t handle) noexcept;
	GemHandle(GemHandle &&other) noexcept;
	GemHandle(const GemHandle &) = delete;
	GemHandle &operator=(GemHandle &&) = delete;
	GemHandle &operator=(const GemHandle &) = delete;
	~GemHandle();

	[[nodiscard]] std::uint32_t get() const noexcept { return handle_; }

	/* File descriptor of the device, for ioctls on the handle. */
	[[nodiscard]] int device() const noexcept { return device_; }

private:
	int device_;
	std::uint32_t handle_; /* 0 is none */
};

/* Maps what the driver gave that offset for. Throws SystemError. */
Mapping map_object(const DrmDevice &device, std::uint64_t offset, std::uint64_t bytes);

} // namespace nocma

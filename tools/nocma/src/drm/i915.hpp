/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drm/backend.hpp"
#include "drm/device.hpp"
#include "drm/gem.hpp"
#include "util/mapping.hpp"

namespace nocma
{

/* Objects in system memory; they live in i915's tmpfs, not in TTM's pool. */
class I915Backend : public Backend
{
public:
	[[nodiscard]] std::string_view driver() const override { return "i915"; }
	[[nodiscard]] std::uint32_t create(const DrmDevice &device,
					   std::uint64_t bytes) const override;

	/* GEM_MMAP_OFFSET, write-back. Throws SkipError where the kernel has no such call. */
	[[nodiscard]] std::uint64_t map_offset(const DrmDevice &device, std::uint32_t handle,
					       std::uint64_t bytes) const override;
};

/* Without it the ioctl's number is that of GEM_MMAP_GTT, a mapping through the aperture. */
bool has_mmap_offset(const DrmDevice &device);

/*
 * An object mapped by GEM_MMAP: the file in tmpfs itself, whose pages come one fault after the
 * other, and of huge pages if it has some. The device must outlive it.
 */
class I915FileMapping
{
public:
	/* Throws SystemError; SkipError where the kernel has no such call for this GPU. */
	I915FileMapping(const DrmDevice &device, std::uint64_t bytes);

	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return mapping_.bytes(); }

private:
	GemHandle handle_;
	Mapping mapping_; /* unmapped before the handle is closed */
};

} // namespace nocma

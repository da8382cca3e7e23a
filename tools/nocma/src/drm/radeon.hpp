/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "drm/backend.hpp"

namespace nocma
{

/*
 * Objects in the CPU domain: system memory of TTM's pool, populated by the first fault. They
 * need no GART, so a device whose acceleration failed to come up (QEMU's ati-vga) serves too.
 */
class RadeonBackend : public Backend
{
public:
	[[nodiscard]] std::string_view driver() const override { return "radeon"; }
	[[nodiscard]] std::uint32_t create(const DrmDevice &device,
					   std::uint64_t bytes) const override;
	[[nodiscard]] std::uint64_t map_offset(const DrmDevice &device, std::uint32_t handle,
					       std::uint64_t bytes) const override;
};

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <string>

namespace nocma
{

/*
 * Type of the domain of the device's IOMMU group, "DMA-FQ" for one; empty without a group. `device`
 * is its folder in sysfs.
 */
std::string iommu_domain_type(const std::filesystem::path &device);

/* An IOMMU stands between the device and memory, and not to pass addresses as they are. */
bool is_translated(const std::filesystem::path &device);

} // namespace nocma

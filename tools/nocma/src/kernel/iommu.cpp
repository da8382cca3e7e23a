// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/iommu.hpp"

#include "util/file.hpp"

namespace nocma
{

std::string iommu_domain_type(const std::filesystem::path &device)
{
	return std::string(trim(try_read_file(device / "iommu_group/type").value_or("")));
}

bool is_translated(const std::filesystem::path &device)
{
	return iommu_domain_type(device).starts_with("DMA");
}

} // namespace nocma

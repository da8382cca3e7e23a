// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/iommu.hpp"

#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "util/file.hpp"

namespace nocma
{

namespace
{

TEST(Iommu, OnlyADomainForDmaTranslates)
{
	const TempDir device("iommu-test");
	const std::filesystem::path group = device.path() / "iommu_group";

	EXPECT_FALSE(is_translated(device.path()));
	std::filesystem::create_directory(group);
	for (const auto &[type, translated] :
	     {std::pair("DMA", true), {"DMA-FQ", true}, {"identity", false}}) {
		write_atomic(group / "type", std::string(type) + "\n");
		EXPECT_EQ(iommu_domain_type(device.path()), type);
		EXPECT_EQ(is_translated(device.path()), translated) << type;
	}
}

} // namespace

} // namespace nocma

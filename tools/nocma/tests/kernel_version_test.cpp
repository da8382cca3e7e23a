// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kernel_version.hpp"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

TEST(KernelVersionTest, ReadsEveryKindOfRelease)
{
	EXPECT_EQ(parse_kernel_version("6.12.9-amd64"), (KernelVersion{6, 12, 9}));
	EXPECT_EQ(parse_kernel_version("6.12.94+deb13-amd64"), (KernelVersion{6, 12, 94}));
	EXPECT_EQ(parse_kernel_version("5.10.0-33-amd64\n"), (KernelVersion{5, 10, 0}));
	EXPECT_EQ(parse_kernel_version("4.15.0"), (KernelVersion{4, 15, 0}));
	EXPECT_EQ(parse_kernel_version("7.2-rc1"), (KernelVersion{7, 2, 0}));
	EXPECT_EQ(parse_kernel_version("7.2.0-rc1-next"), (KernelVersion{7, 2, 0}));
	EXPECT_EQ(parse_kernel_version("6.12"), (KernelVersion{6, 12, 0}));
}

TEST(KernelVersionTest, NeedsTwoNumbers)
{
	for (const char *release : {"", "linux", "6", "6.", "6-12", ".12", "v6.12", "6.x"}) {
		EXPECT_THROW(parse_kernel_version(release), Error) << release;
		EXPECT_FALSE(try_parse_kernel_version(release)) << release;
	}
	EXPECT_EQ(try_parse_kernel_version("6.12.x"), (KernelVersion{6, 12, 0}));
}

TEST(KernelVersionTest, LaterIsGreater)
{
	const std::vector<KernelVersion> versions = {{4, 15},	 {5, 9, 16},  {5, 10},
						     {5, 10, 9}, {5, 10, 10}, {6, 0}};

	EXPECT_TRUE(std::is_sorted(versions.begin(), versions.end()));
	/* A point release is never before what it is a release of. */
	EXPECT_GE(parse_kernel_version("6.12.94"), (KernelVersion{6, 12}));
	EXPECT_LT(parse_kernel_version("6.12.94"), (KernelVersion{6, 13}));
}

} // namespace

} // namespace nocma

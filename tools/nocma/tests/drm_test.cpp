// SPDX-License-Identifier: GPL-2.0-only
#include <fstream>

#include <sys/mman.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "drm/backend.hpp"
#include "drm/buffer_object.hpp"
#include "drm/device.hpp"
#include "kernel/pagemap.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;
using testing::HasSubstr;

TEST(DrmDevice, NoNodeAtAllIsASkipThatSaysSo)
{
	const TempDir folder("nocma-drm-test");

	try {
		DrmDevice::open("radeon", folder.path());
		FAIL() << "opened a device in an empty folder";
	} catch (const SkipError &reason) {
		EXPECT_THAT(reason.what(), HasSubstr("no card or render node"));
		EXPECT_EQ(reason.code(), ExitCode::skip);
	}
}

TEST(DrmDevice, EnumeratesNodesInOrderAndNothingElse)
{
	const TempDir folder("nocma-drm-test");

	for (const char *name : {"card10", "card2", "renderD129", "renderD128", "by-path", "cardX"})
		std::ofstream(folder.path() / name) << "";
	const std::vector<DrmNode> nodes = enumerate_drm(folder.path());

	ASSERT_EQ(nodes.size(), 4U);
	EXPECT_EQ(nodes[0].path.filename(), "renderD128");
	EXPECT_EQ(nodes[1].path.filename(), "renderD129");
	EXPECT_EQ(nodes[2].path.filename(), "card2");
	EXPECT_EQ(nodes[3].path.filename(), "card10");
	EXPECT_THAT(nodes[0].problem, HasSubstr("DRM_IOCTL_VERSION: "));
}

TEST(DrmDevice, ANodeThatCannotBeOpenedIsNamed)
{
	const TempDir folder("nocma-drm-test");

	std::filesystem::create_symlink("nowhere", folder.path() / "renderD128");
	EXPECT_EQ(describe_drm(enumerate_drm(folder.path()), folder.path()),
		  "renderD128: open: No such file or directory");
}

TEST(DrmDevice, OtherDriversAreListed)
{
	EXPECT_EQ(describe_drm({{"/dev/dri/card0", "i915", ""},
				{"/dev/dri/renderD128", "", "open: Permission denied"}},
			       "/dev/dri"),
		  "card0 is i915, renderD128: open: Permission denied");
}

TEST(Backend, UnknownNameListsTheKnown)
{
	EXPECT_EQ(make_backend("radeon")->driver(), "radeon");
	EXPECT_THROW(make_backend("voodoo"), UsageError);
}

TEST(Toucher, TouchesMemoryAndSurvivesAFaultThatCannotBeServed)
{
	const Toucher toucher;
	void *const memory = ::mmap(nullptr, page_size(), PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT_NE(memory, MAP_FAILED);
	auto &byte = *static_cast<std::byte *>(memory);
	byte = std::byte{7};
	toucher.touch(byte);
	EXPECT_EQ(byte, std::byte{0});
	ASSERT_EQ(::mprotect(memory, page_size(), PROT_NONE), 0);
	EXPECT_THROW(toucher.touch(byte), SystemError);
	::munmap(memory, page_size());
}

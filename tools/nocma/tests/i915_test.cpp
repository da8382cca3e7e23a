// SPDX-License-Identifier: GPL-2.0-only
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "cli/i915_cases.hpp"
#include "guest/console.hpp"
#include "kernel/gemfs.hpp"
#include "kernel/kernel_log.hpp"
#include "kernel/smaps.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

constexpr std::uint64_t mib = 1 << 20;

void put(const std::filesystem::path &file, const std::string &text)
{
	std::filesystem::create_directories(file.parent_path());
	std::ofstream(file) << text;
}

TEST(GemfsTest, TheWordInBracketsIsChosen)
{
	EXPECT_EQ(selected_word("always within_size [never] deny\n"), "never");
	EXPECT_EQ(selected_word("never"), "");
	EXPECT_EQ(selected_word("ne]ve[r"), "");
}

/* Seen in guests: 5.10 rounds the tail up, 6.12 does not. */
TEST(GemfsTest, PagesWithinSize)
{
	const KernelVersion old_kernel = {5, 10};
	const KernelVersion new_kernel = {6, 12};

	for (const KernelVersion kernel : {old_kernel, new_kernel}) {
		EXPECT_EQ(pages_within_size(kernel, 4096), (ObjectPages{0, 4096}));
		EXPECT_EQ(pages_within_size(kernel, 2 * mib), (ObjectPages{2 * mib, 2 * mib}));
	}
	EXPECT_EQ(pages_within_size(new_kernel, 2 * mib + 4096),
		  (ObjectPages{2 * mib, 2 * mib + 4096}));
	EXPECT_EQ(pages_within_size(old_kernel, 2 * mib + 4096), (ObjectPages{4 * mib, 4 * mib}));
}

TEST(GemfsTest, NewKernelsAskForTheGroupOldOnesForTheMachine)
{
	GemfsState state = {.kernel = {6, 12}, .iommu = true, .shmem_enabled = "never"};

	EXPECT_FALSE(state.gets_huge());
	state.group_type = "identity";
	EXPECT_TRUE(state.gets_huge());
	state.kernel = {5, 10};
	state.group_type = "";
	EXPECT_TRUE(state.gets_huge());
	state.graphics_exempt = true;
	EXPECT_FALSE(state.gets_huge());
	state.guest = true;
	EXPECT_TRUE(state.gets_huge());
}

TEST(GemfsTest, FromVersion11OnGpusNeedNoIommu)
{
	GemfsState state = {.kernel = {6, 12}, .graphics_version = 11, .shmem_enabled = "never"};

	EXPECT_TRUE(state.gets_huge());
	state.graphics_version = 9;
	EXPECT_FALSE(state.gets_huge());
	state.graphics_version = 11;
	state.kernel = {5, 10};
	EXPECT_FALSE(state.gets_huge());
}

TEST(GemfsTest, TheSwitchesOfTmpfsWin)
{
	GemfsState state = {.kernel = {6, 12}, .group_type = "DMA", .shmem_enabled = "deny"};

	EXPECT_TRUE(state.mounts_huge());
	EXPECT_FALSE(state.gets_huge());
	state.shmem_enabled = "";
	EXPECT_TRUE(state.wants_huge());
	EXPECT_FALSE(state.mounts_huge());
}

TEST(GemfsTest, StateIsReadFromTheMachine)
{
	const TempDir root("nocma-gemfs");
	const std::filesystem::path &path = root.path();

	put(path / "proc/sys/kernel/osrelease", "5.10.262\n");
	put(path / "proc/cmdline", "quiet intel_iommu=on,igfx_off\n");
	put(path / "sys/class/iommu/dmar0", "");
	put(path / "sys/kernel/mm/transparent_hugepage/shmem_enabled", "always [never]\n");
	put(path / "sys/kernel/debug/dri/0/i915_capabilities", "pch: 0\ngen: 5\n");
	put(path / "gpu/iommu_group/type", "DMA\n");
	const GemfsState state = read_gemfs_state(path / "gpu", "tcg", path);
	EXPECT_EQ(state.kernel, (KernelVersion{5, 10, 262}));
	EXPECT_EQ(state.graphics_version, 5U);
	EXPECT_EQ(state.group_type, "DMA");
	EXPECT_TRUE(state.iommu);
	EXPECT_TRUE(state.graphics_exempt);
	EXPECT_FALSE(state.guest);
	EXPECT_EQ(state.shmem_enabled, "never");
	EXPECT_TRUE(read_gemfs_state(path / "gpu", "kvm", path).guest);
}

TEST(KernelLogTest, RecordHasLevelSequenceAndText)
{
	const LogRecord record =
		parse_log_record("30,17,1234,-;i915 0000:00:02.0: hello; there\n SUBSYSTEM=pci\n");

	EXPECT_EQ(record.level, 6U);
	EXPECT_EQ(record.sequence, 17U);
	EXPECT_EQ(record.text, "i915 0000:00:02.0: hello; there");
	EXPECT_THROW(parse_log_record("hello"), Error);
	EXPECT_THROW(parse_log_record("a,b,c;hello"), Error);
}

TEST(SmapsTest, FieldsAreThoseOfTheMappingWithTheAddress)
{
	const std::string text = "1000-3000 rw-s 00000000 00:01 1 /a\nRss: 8 kB\n"
				 "ShmemPmdMapped:        0 kB\nVmFlags: rd wr\n"
				 "200000-600000 rw-s 00000000 00:01 2 /i915 (deleted)\n"
				 "Rss: 4096 kB\nShmemPmdMapped:     4096 kB\nTHPeligible: 1\n";

	EXPECT_EQ(find_counter(parse_smaps(text, 0x2fff), "Rss"), 8192U);
	EXPECT_EQ(find_counter(parse_smaps(text, 0x200000), "ShmemPmdMapped"), 4 * mib);
	EXPECT_TRUE(parse_smaps(text, 0x3000).empty());
}

TEST(ConsoleTest, KnownWarningsAreThoseOfTheFunctionAlone)
{
	guest::Console console({"ring_release"});

	console.feed("WARNING: CPU: 0 PID: 1 at ring_release+0x119/0x170 [i915]\n");
	EXPECT_TRUE(console.warnings().empty());
	console.feed("WARNING: CPU: 0 PID: 1 at string_release+0x119/0x170 [i915]\n");
	console.feed("WARNING: CPU: 0 PID: 1 at ring_released+0x119/0x170 [i915]\n");
	EXPECT_EQ(console.warnings().size(), 2U);
}

TEST(I915Test, NamesOfCasesAreUnique)
{
	std::set<std::string> names;

	for (const cli::TestCase &test : cli::i915_cases())
		EXPECT_TRUE(names.insert(test.name).second) << test.name;
	EXPECT_TRUE(names.contains("i915-mmap-2MiB+4KiB-pages"));
	EXPECT_TRUE(names.contains("i915-offset-64MiB-pages"));
}

} // namespace

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
/*
 * What doctor says of the machines in data/doctor, whose README.md tells where they come from, and
 * of what is left of them when a file is not there.
 */
#include "doctor/diagnosis.hpp"

#include <cctype>
#include <filesystem>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::doctor
{
namespace
{

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const fs::path records = fs::path(TEST_DATA_DIR) / "doctor";

struct Machine {
	std::string name;
	Status status;
	std::vector<std::string> says;			  /* all of it stands in the text */
	std::vector<std::pair<std::string, json>> fields; /* JSON pointer and value */
};

void PrintTo(const Machine &machine, std::ostream *out)
{
	*out << machine.name;
}

std::string test_name(std::string name)
{
	for (char &letter : name)
		if (std::isalnum(static_cast<unsigned char>(letter)) == 0)
			letter = '_';
	return name;
}

/* As the command has it. */
Status status_of(const fs::path &record)
{
	try {
		return diagnose(read_facts(record)).status();
	} catch (const SkipError &) {
		return Status::cannot_tell;
	}
}

class RecordedMachine : public testing::TestWithParam<Machine>
{
};

TEST_P(RecordedMachine, GetsItsVerdict)
{
	const Facts facts = read_facts(records / GetParam().name);
	const Diagnosis diagnosis = diagnose(facts);
	const std::string text = to_text(facts, diagnosis);
	const json told = to_json(facts, diagnosis);

	EXPECT_EQ(diagnosis.status(), GetParam().status);
	for (const std::string &sentence : GetParam().says)
		EXPECT_THAT(text, HasSubstr(sentence));
	for (const auto &[field, value] : GetParam().fields)
		EXPECT_EQ(told.at(json::json_pointer(field)), value) << field;
}

/* What cannot be read is not taken for an answer. */
TEST_P(RecordedMachine, IsNotTakenForItsOppositeWithoutAFile)
{
	const TempDir folder("nocma-doctor");
	const fs::path copy = folder.path() / "record";
	const fs::path aside = folder.path() / "aside";
	std::vector<fs::path> files;

	fs::copy(records / GetParam().name, copy, fs::copy_options::recursive);
	for (const fs::directory_entry &entry : fs::recursive_directory_iterator(copy))
		if (entry.is_regular_file())
			files.push_back(entry.path());
	ASSERT_FALSE(files.empty());
	const auto verdict_is_the_same_or_open =
		testing::AnyOf(GetParam().status, Status::cannot_tell);
	for (const fs::path &file : files) {
		fs::rename(file, aside);
		EXPECT_THAT(status_of(copy), verdict_is_the_same_or_open) << "without " << file;
		/* Reading a folder fails, for root as well. */
		fs::create_directory(file);
		EXPECT_THAT(status_of(copy), verdict_is_the_same_or_open) << file << ": unreadable";
		fs::remove(file);
		fs::rename(aside, file);
	}
}

INSTANTIATE_TEST_SUITE_P(
	Doctor, RecordedMachine,
	testing::Values(
		Machine{"debian-6.1-amd64",
			Status::not_affected,
			{"cma stall: not affected: the kernel is built without CONFIG_CMA",
			 "cma:      none: no CmaTotal in /proc/meminfo", "verdict: not affected\n"},
			{{"/status", "not affected"},
			 {"/kernel/release", "6.1.0-57-amd64"},
			 {"/kernel/architecture", "x86_64"},
			 {"/kernel/series", "v6.1"},
			 {"/cma/total_bytes", nullptr},
			 {"/devices/0/driver", "amdgpu"},
			 {"/devices/0/dma_mask_bits", 44}}},
		Machine{"debian-6.1-arm64",
			Status::affected,
			{"cma stall: affected: card0 (radeon): its pool allocates through the DMA "
			 "API (addresses up to 0x30000fffffff lie above the device's DMA mask of "
			 "40 bits), and this kernel takes chunks of 2 pages and more from the CMA "
			 "area of 64 MiB",
			 "series v6.1: mm, dma and drm/ttm keep it out",
			 "areas absent: /sys/kernel/debug/cma cannot be read", "verdict: affected"},
			{{"/status", "affected"},
			 {"/kernel/architecture", "arm64"},
			 {"/kernel/series", "v6.1"},
			 {"/cma/total_bytes", 64 << 20},
			 {"/cma/areas", nullptr},
			 {"/devices/0/pool_uses_dma_api", true},
			 {"/devices/0/iommu_domain", "DMA-FQ"},
			 {"/findings/0/topic", "cma stall"},
			 {"/findings/0/status", "affected"}}},
		Machine{"v4.15-16mib-radeon",
			Status::affected,
			{"cma area: cma-reserved: 4068 of 4096 pages used, longest free run 16",
			 "memory above 4 GiB, so swiotlb is in use), and this kernel takes every "
			 "single page from the CMA area of 16 MiB",
			 "series v4.15: mm, dma and drm/ttm keep it out"},
			{{"/kernel/series", "v4.15"},
			 {"/cma/total_bytes", 16 << 20},
			 {"/cma/areas/0/largest_free_run_pages", 16},
			 {"/devices/0/pci_id", "10026779"},
			 {"/devices/0/in_iommu_group", false},
			 {"/findings/0/device", "card0 (radeon)"}}},
		/* Debian's kernels spare the integrated GPU unless asked: nothing to gain. */
		Machine{"laptop-gen9-5.10",
			Status::not_affected,
			{"huge pages: not affected: card0 (i915): its objects get none, and need "
			 "none: VT-d is on, but the GPU's IOMMU domain is identity"},
			{{"/kernel/series", "v5.10"},
			 {"/huge_pages/offered", true},
			 {"/devices/0/iommu_domain", "identity"},
			 {"/findings/1/topic", "huge pages"}}},
		Machine{"laptop-gen9-5.10-vtd",
			Status::affected,
			{"huge pages: affected: card0 (i915): VT-d is on",
			 "this kernel never asks for them: each page costs an entry of the IOTLB",
			 "series v5.10: drm/i915 mounts its memory with huge pages"},
			{{"/kernel/command_line", "intel_iommu=on"},
			 {"/devices/0/pci_id", "80865916"},
			 {"/devices/0/pool_uses_dma_api", false},
			 {"/huge_pages/shmem_bytes", 0},
			 {"/findings/1/status", "affected"}}},
		Machine{"laptop-gen9-6.1",
			Status::not_affected,
			{"its objects may use them: the GPU is in an IOMMU group (identity)",
			 "ShmemHugePages 50 MiB"},
			{{"/kernel/series", "v6.1"}, {"/huge_pages/shmem_bytes", 50 << 20}}},
		Machine{"laptop-gen12-6.12",
			Status::not_affected,
			{"its objects may use them: the GPU is in an IOMMU group (DMA-FQ)"},
			{{"/kernel/series", "v6.12"}, {"/devices/0/pci_id", "80869a49"}}},
		Machine{"vm-6.18",
			Status::not_affected,
			{"devices: not affected: no DRM device, so no TTM and no i915"},
			{{"/kernel/series", nullptr},
			 {"/devices", json::array()},
			 {"/findings/0/why", "the kernel is built without CONFIG_CMA"}}}),
	[](const auto &tested) { return test_name(tested.param.name); });

struct Incomplete {
	std::string name;
	std::vector<std::string> missing; /* files, or folders with all that is in them */
	std::string says;
};

void PrintTo(const Incomplete &record, std::ostream *out)
{
	*out << record.name << " without " << testing::PrintToString(record.missing);
}

class IncompleteRecord : public testing::TestWithParam<Incomplete>
{
};

TEST_P(IncompleteRecord, SaysWhichFileWouldTell)
{
	const TempDir folder("nocma-doctor");
	const fs::path copy = folder.path() / "record";

	fs::copy(records / GetParam().name, copy, fs::copy_options::recursive);
	for (const std::string &name : GetParam().missing)
		ASSERT_NE(fs::remove_all(copy / name), 0U) << name;
	const Facts facts = read_facts(copy);
	const Diagnosis diagnosis = diagnose(facts);

	EXPECT_EQ(diagnosis.status(), Status::cannot_tell);
	EXPECT_THAT(to_text(facts, diagnosis), HasSubstr(GetParam().says));
}

INSTANTIATE_TEST_SUITE_P(
	Doctor, IncompleteRecord,
	testing::Values(Incomplete{"debian-6.1-amd64", {"proc/meminfo"}, "/proc/meminfo tells"},
			Incomplete{"debian-6.1-amd64", {"sys"}, "/sys/class/drm tells"},
			Incomplete{"debian-6.1-arm64",
				   {"boot"},
				   "/proc/config.gz or /boot/config-6.1.0-57-arm64 would tell"},
			Incomplete{"debian-6.1-arm64",
				   {"sys/class/drm/card0/device/dma_mask_bits"},
				   "card0: no dma_mask_bits in sysfs"},
			Incomplete{"debian-6.1-arm64",
				   {"sys/class/drm/card0/device/uevent"},
				   "/sys/class/drm/card0/device/uevent tells the driver"},
			/* Not root, and what everybody may read lies below the mask. */
			Incomplete{"debian-6.1-arm64",
				   {"proc/zoneinfo", "sys/bus"},
				   "DMA mask of 40 bits is in /proc/iomem, for root"},
			Incomplete{"v4.15-16mib-radeon",
				   {"proc/zoneinfo"},
				   "whether memory lies above 4 GiB is in /proc/zoneinfo"},
			Incomplete{"v4.15-16mib-radeon",
				   {"proc/sys/kernel/osrelease"},
				   "/proc/sys/kernel/osrelease tells no version"},
			Incomplete{"laptop-gen9-5.10",
				   {"proc/cpuinfo"},
				   "whether this is a guest is in /proc/cpuinfo"}));

TEST(Diagnosis, HasAnExitStatusForEachVerdict)
{
	EXPECT_EQ(exit_code(Status::not_affected), ExitCode{0});
	EXPECT_EQ(exit_code(Status::affected), ExitCode{1});
	EXPECT_EQ(exit_code(Status::cannot_tell), ExitCode{4});
}

} // namespace
} // namespace nocma::doctor

// SPDX-License-Identifier: GPL-2.0-only
#include "drm/vttm.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/vttm_cases.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

using ::testing::HasSubstr;

TEST(VttmTest, OrdersAreListedFromTheHighest)
{
	std::array<std::uint32_t, DRM_VTTM_ORDERS> chunks{};

	EXPECT_EQ(format_orders(chunks), "none");
	chunks[0] = 3;
	chunks[10] = 16;
	EXPECT_EQ(format_orders(chunks), "10:16 0:3");
}

TEST(VttmTest, WithoutConfigfsAnInstanceIsSkipped)
{
	const TempDir configfs("vttm-test");

	try {
		const VttmInstance instance({}, configfs.path());
		FAIL() << "an instance was made without vttm";
	} catch (const SkipError &error) {
		EXPECT_THAT(error.what(), HasSubstr((configfs.path() / "vttm").native()));
		EXPECT_THAT(error.what(), HasSubstr("module vttm"));
	}
}

/* A bus with a function that nobody drives, as sysfs shows it. */
void make_testdev(const std::filesystem::path &bus)
{
	const std::filesystem::path function = bus / "devices" / "0000:00:02.0";

	std::filesystem::create_directories(function);
	write_atomic(function / "vendor", "0x1b36\n");
	write_atomic(function / "device", "0x0005\n");
	write_atomic(function / "driver_override", "(null)\n");
}

TEST(VttmTest, WithoutATestDeviceThereIsNoPciFunction)
{
	const TempDir bus("vttm-test");

	try {
		const VttmPciFunction function(bus.path());
		FAIL() << "a function was bound that is not there";
	} catch (const SkipError &error) {
		EXPECT_THAT(error.what(), HasSubstr("-device pci-testdev"));
	}
}

TEST(VttmTest, WithoutTheModuleAPciFunctionIsLeftAlone)
{
	const TempDir bus("vttm-test");

	make_testdev(bus.path());
	EXPECT_THROW(VttmPciFunction(bus.path()), SkipError);
	EXPECT_EQ(read_file(bus.path() / "devices" / "0000:00:02.0" / "driver_override"),
		  "(null)\n");
}

TEST(VttmTest, APciFunctionThatIsNotTakenIsAnError)
{
	const TempDir bus("vttm-test");

	make_testdev(bus.path());
	std::filesystem::create_directories(bus.path() / "drivers" / "vttm");
	write_atomic(bus.path() / "drivers_probe", "");
	try {
		const VttmPciFunction function(bus.path());
		FAIL() << "bound by a plain folder";
	} catch (const SkipError &) {
		FAIL() << "skipped, but it is all there";
	} catch (const Error &error) {
		EXPECT_THAT(error.what(), HasSubstr("0000:00:02.0: vttm did not take it"));
	}
	EXPECT_EQ(read_file(bus.path() / "drivers_probe"), "0000:00:02.0");
	EXPECT_EQ(read_file(bus.path() / "devices" / "0000:00:02.0" / "driver_override"), "\n");
}

/* A plain folder has no attributes that could be written. */
TEST(VttmTest, AnInstanceThatFailsLeavesNoFolder)
{
	const TempDir configfs("vttm-test");
	const std::filesystem::path folder = configfs.path() / "vttm";

	std::filesystem::create_directory(folder);
	EXPECT_THROW(VttmInstance({}, configfs.path()), SystemError);
	EXPECT_TRUE(std::filesystem::is_empty(folder));
}

TEST(VttmTest, BackendIsKnownByName)
{
	EXPECT_EQ(make_backend("vttm")->driver(), "vttm");
	EXPECT_THAT(backend_names(), ::testing::Contains("vttm"));
}

/* Names are what CI systems know tests by. */
TEST(VttmTest, NamesOfCasesAreUnique)
{
	std::set<std::string> names;

	for (const cli::VttmCase &test : cli::vttm_cases())
		EXPECT_TRUE(names.insert(test.name).second) << test.name;
	EXPECT_TRUE(names.contains("vttm-coherent-24bit-wc-64KiB-cold"));
	EXPECT_TRUE(names.contains("vttm-node-1"));
	EXPECT_TRUE(names.contains("vttm-plain-64bit-cached-64MiB-warm"));
	EXPECT_FALSE(names.contains("vttm-plain-24bit-cached-4KiB-cold"));
}

} // namespace

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;
using testing::HasSubstr;

namespace
{

ExitCode call(std::vector<std::string> arguments)
{
	ExitCode result = ExitCode::pass;
	CLI::App app;

	cli::add_test(app, result);
	cli::add_bench(app, result);
	cli::add_report(app, result);
	std::reverse(arguments.begin(), arguments.end()); /* as CLI11 takes them */
	app.parse(arguments);
	return result;
}

} // namespace

TEST(TestCommand, ListNamesTheTestsInOrder)
{
	testing::internal::CaptureStdout();
	EXPECT_EQ(call({"test", "--list"}), ExitCode::pass);
	EXPECT_EQ(testing::internal::GetCapturedStdout(), "probe-sees-cma-alloc\n"
							  "populate-4KiB-takes-no-cma\n"
							  "populate-64KiB-takes-no-cma\n"
							  "populate-2MiB-takes-no-cma\n"
							  "populate-4MiB-takes-no-cma\n"
							  "populate-8294400B-takes-no-cma\n"
							  "populate-16MiB-takes-no-cma\n"
							  "contents-zeroed-and-kept\n");
}

TEST(TestCommand, FilterSelects)
{
	testing::internal::CaptureStdout();
	EXPECT_EQ(call({"test", "--list", "--filter", "*-4?iB-*"}), ExitCode::pass);
	EXPECT_EQ(testing::internal::GetCapturedStdout(), "populate-4KiB-takes-no-cma\n"
							  "populate-4MiB-takes-no-cma\n");
}

TEST(TestCommand, ZeroTestsAreNoPass)
{
	EXPECT_THROW(call({"test", "--filter", "no-such-test"}), UsageError);
}

TEST(TestCommand, AWrongBackendIsSaidBeforeAnyPlan)
{
	testing::internal::CaptureStdout();
	EXPECT_THROW(call({"test", "--backend", "voodoo"}), UsageError);
	EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
}

TEST(BenchCommand, WrongValuesAreRefusedBeforeAnythingIsDone)
{
	EXPECT_THROW(call({"bench", "--mode", "idle,gentle"}), UsageError);
	EXPECT_THROW(call({"bench", "--backend", "voodoo"}), UsageError);
	EXPECT_THROW(call({"bench", "--samples", "0"}), CLI::ParseError);
	EXPECT_THROW(call({"bench", "--duration", "-1"}), CLI::ParseError);
	EXPECT_THROW(call({"bench", "--pool", "tepid"}), CLI::ParseError);
	EXPECT_THROW(call({"bench", "--size", "2K"}), UsageError);
	EXPECT_THROW(call({"bench", "--size", "4M,128M"}), UsageError);
	EXPECT_THROW(call({"bench", "--exhaust", "--pool", "warm"}), UsageError);
	EXPECT_THROW(call({"bench", "--size", "4 apples"}), CLI::ParseError);
}

TEST(ReportCommand, NeedsFilesThatExist)
{
	EXPECT_THROW(call({"report"}), CLI::ParseError);
	EXPECT_THROW(call({"report", "/nonexistent.json"}), SystemError);
}

TEST(ReportCommand, ForeignJsonIsRefusedByName)
{
	const TempDir folder("nocma-report-test");
	const std::string file = folder.path() / "fio.json";

	std::ofstream(file) << R"({"fio version": "fio-3.33"})";
	try {
		call({"report", file});
		FAIL() << "accepted";
	} catch (const Error &error) {
		EXPECT_THAT(error.what(), HasSubstr(file + ": schema null version null"));
	}
}

// SPDX-License-Identifier: GPL-2.0-only
#include "report/ktap.hpp"

#include <memory>

#include <gtest/gtest.h>

#include "util/error.hpp"

using namespace nocma;

namespace
{

class KtapTest : public testing::Test
{
protected:
	[[nodiscard]] std::FILE *out() const { return file_.get(); }

	[[nodiscard]] std::string text() const
	{
		std::string text;

		std::rewind(file_.get());
		for (int c = std::fgetc(file_.get()); c != EOF; c = std::fgetc(file_.get()))
			text.push_back(static_cast<char>(c));
		return text;
	}

private:
	struct Close {
		void operator()(std::FILE *file) const { std::fclose(file); }
	};
	std::unique_ptr<std::FILE, Close> file_{std::tmpfile()};
};

} // namespace

TEST_F(KtapTest, PlanFirstThenResultsWithDiagnosticsBeforeThem)
{
	KtapWriter ktap(out(), {"one", "two", "three"});

	ktap.diagnostic("cma_alloc by order: 9:2\nsecond line");
	ktap.pass();
	ktap.fail("TTM called cma_alloc");
	ktap.skip("no device");
	EXPECT_EQ(ktap.finish(), ExitCode::fail);
	EXPECT_EQ(text(), "KTAP version 1\n"
			  "1..3\n"
			  "# cma_alloc by order: 9:2\n"
			  "# second line\n"
			  "ok 1 one\n"
			  "# two: TTM called cma_alloc\n"
			  "not ok 2 two\n"
			  "ok 3 three # SKIP no device\n"
			  "# Totals: pass:1 fail:1 xfail:0 xpass:0 skip:1 error:0\n");
}

TEST_F(KtapTest, AllSkippedIsASkip)
{
	KtapWriter ktap(out(), {"one"});

	ktap.skip("no device");
	EXPECT_EQ(ktap.finish(), ExitCode::skip);
}

TEST_F(KtapTest, OnePassAmongSkipsIsAPass)
{
	KtapWriter ktap(out(), {"one", "two"});

	ktap.skip("no device");
	ktap.pass();
	EXPECT_EQ(ktap.finish(), ExitCode::pass);
}

TEST_F(KtapTest, ATestWithoutResultIsAFailure)
{
	KtapWriter ktap(out(), {"one", "two"});

	ktap.pass();
	EXPECT_EQ(ktap.finish(), ExitCode::fail);
	EXPECT_NE(text().find("error:1"), std::string::npos);
}

TEST_F(KtapTest, NoTestsIsAnError)
{
	EXPECT_THROW(KtapWriter(out(), {}), Error);
}

TEST_F(KtapTest, MoreResultsThanPlannedIsAnError)
{
	KtapWriter ktap(out(), {"one"});

	ktap.pass();
	EXPECT_THROW(ktap.pass(), Error);
}

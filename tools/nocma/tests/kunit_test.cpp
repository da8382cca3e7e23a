// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kunit.hpp"

#include <cstdio>
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "util/file.hpp"

using namespace nocma;
using testing::ElementsAre;
using testing::HasSubstr;
using Verdict = KunitCase::Verdict;

namespace
{

/* The three forms that the kernels served leave in debugfs. */
constexpr std::string_view v5_10 = R"(    # Subtest: nocma
    1..3
    ok 1 - nocma_bit
    # nocma_mask: SKIP no memory above 4 GiB
    ok 2 - nocma_mask
    # nocma_dma: EXPECTATION FAILED at mm/nocma_test.c:1
    Expected hits == 0, but
    not ok 3 - nocma_dma
not ok 1 - nocma
)";

constexpr std::string_view v6_1 = R"(KTAP version 1
1..1
    KTAP version 1
    # Subtest: nocma
    1..2
    ok 1 nocma_bit
    ok 2 nocma_mask # SKIP no memory above 4 GiB
# nocma: pass:1 fail:0 skip:1 total:2
# Totals: pass:1 fail:0 skip:1 total:2
ok 1 nocma
)";

constexpr std::string_view v6_12 = R"(KTAP version 1
1..1
    KTAP version 1
    # Subtest: other
    # module: other_test
    1..2
        KTAP version 1
        # Subtest: by_order
        ok 1 order 0
        ok 2 order 1
    # by_order: pass:2 fail:0 skip:0 total:2
    ok 1 by_order
    ok 2 last # SKIP
# other: pass:3 fail:0 skip:1 total:4
ok 1 other
)";

std::string printed(const std::vector<KunitSuite> &suites, ExitCode &code)
{
	char *text = nullptr;
	std::size_t size = 0;
	std::FILE *out = open_memstream(&text, &size);

	code = print_kunit(out, suites);
	std::fclose(out);
	std::string result(text, size);
	std::free(text);
	return result;
}

KunitSuite suite_of(const std::vector<Verdict> &verdicts)
{
	KunitSuite suite{.name = "s", .planned = verdicts.size(), .cases = {}};

	for (const Verdict verdict : verdicts)
		suite.cases.push_back({.name = "c", .verdict = verdict});
	return suite;
}

void add_results(const TempDir &dir, std::string_view suite, std::string_view text)
{
	std::filesystem::create_directory(dir.path() / suite);
	write_atomic(dir.path() / suite / "results", text);
}

} // namespace

TEST(Kunit, ReadsTheFormWithDashesAndNoSkip)
{
	const KunitSuite suite = parse_kunit_results(v5_10);

	EXPECT_EQ(suite.name, "nocma");
	EXPECT_EQ(suite.planned, 3U);
	ASSERT_EQ(suite.cases.size(), 3U);
	EXPECT_EQ(suite.cases[0].name, "nocma_bit");
	EXPECT_EQ(suite.cases[0].verdict, Verdict::pass);
	EXPECT_EQ(suite.cases[1].verdict, Verdict::skip);
	EXPECT_EQ(suite.cases[1].reason, "no memory above 4 GiB");
	EXPECT_TRUE(suite.cases[1].diagnostics.empty());
	EXPECT_EQ(suite.cases[2].verdict, Verdict::fail);
	EXPECT_THAT(suite.cases[2].diagnostics,
		    ElementsAre("# nocma_dma: EXPECTATION FAILED at mm/nocma_test.c:1",
				"Expected hits == 0, but"));
	EXPECT_EQ(suite.verdict(), Verdict::fail);
}

TEST(Kunit, ReadsSkipDirectives)
{
	const KunitSuite suite = parse_kunit_results(v6_1);

	ASSERT_EQ(suite.cases.size(), 2U);
	EXPECT_EQ(suite.cases[1].name, "nocma_mask");
	EXPECT_EQ(suite.cases[1].verdict, Verdict::skip);
	EXPECT_EQ(suite.cases[1].reason, "no memory above 4 GiB");
	EXPECT_EQ(suite.verdict(), Verdict::pass);
}

TEST(Kunit, ParametersOfACaseAreNoCases)
{
	const KunitSuite suite = parse_kunit_results(v6_12);

	ASSERT_EQ(suite.cases.size(), 2U);
	EXPECT_EQ(suite.cases[0].name, "by_order");
	EXPECT_EQ(suite.cases[1].verdict, Verdict::skip);
	EXPECT_EQ(suite.cases[1].reason, "");
}

TEST(Kunit, AFailedCaseIsNotTurnedIntoASkipByItsLog)
{
	const KunitSuite suite = parse_kunit_results("    # Subtest: s\n    1..2\n"
						     "    # a: SKIP no area\n    not ok 1 - a\n"
						     "    # a: SKIP no area\n    ok 2 - b\n");

	EXPECT_EQ(suite.cases[0].verdict, Verdict::fail);
	EXPECT_EQ(suite.cases[1].verdict, Verdict::pass);
}

TEST(Kunit, OtherTextsAreRefused)
{
	EXPECT_THROW(parse_kunit_results(""), Error);
	EXPECT_THROW(parse_kunit_results("KTAP version 1\n1..1\nok 1 nocma\n"), Error);
	EXPECT_THROW(parse_kunit_results("    # Subtest: s\n    1..0\n"), Error);
	EXPECT_THROW(parse_kunit_results("    # Subtest: s\n    1..x\n"), Error);
}

TEST(Kunit, VerdictOfASuite)
{
	EXPECT_EQ(suite_of({Verdict::pass, Verdict::skip}).verdict(), Verdict::pass);
	EXPECT_EQ(suite_of({Verdict::skip, Verdict::skip}).verdict(), Verdict::skip);
	EXPECT_EQ(suite_of({Verdict::pass, Verdict::fail}).verdict(), Verdict::fail);

	KunitSuite unfinished = suite_of({Verdict::pass});
	unfinished.planned = 2;
	EXPECT_EQ(unfinished.verdict(), Verdict::fail);
}

TEST(Kunit, PrintsOneNestingLevelForEveryKernel)
{
	ExitCode code = ExitCode::pass;

	EXPECT_EQ(printed({parse_kunit_results(v5_10), parse_kunit_results(v6_1)}, code),
		  R"(KTAP version 1
1..2
    KTAP version 1
    # Subtest: nocma
    1..3
    ok 1 nocma_bit
    ok 2 nocma_mask # SKIP no memory above 4 GiB
    # nocma_dma: EXPECTATION FAILED at mm/nocma_test.c:1
    # Expected hits == 0, but
    not ok 3 nocma_dma
not ok 1 nocma
    KTAP version 1
    # Subtest: nocma
    1..2
    ok 1 nocma_bit
    ok 2 nocma_mask # SKIP no memory above 4 GiB
ok 2 nocma
)");
	EXPECT_EQ(code, ExitCode::fail);
}

TEST(Kunit, ExitCodes)
{
	ExitCode code = ExitCode::fail;

	printed({suite_of({Verdict::pass}), suite_of({Verdict::skip})}, code);
	EXPECT_EQ(code, ExitCode::pass);
	EXPECT_THAT(printed({suite_of({Verdict::skip})}, code), HasSubstr("ok 1 s # SKIP "));
	EXPECT_EQ(code, ExitCode::skip);
	printed({suite_of({Verdict::pass}), suite_of({Verdict::fail})}, code);
	EXPECT_EQ(code, ExitCode::fail);
}

TEST(Kunit, ReadsEverySuiteOfAFolderByName)
{
	const TempDir dir("nocma-test");

	add_results(dir, "other", v6_12);
	add_results(dir, "nocma", v6_1);
	const std::vector<KunitSuite> suites = read_kunit_suites(dir.path());
	ASSERT_EQ(suites.size(), 2U);
	EXPECT_EQ(suites[0].name, "nocma");
	EXPECT_EQ(suites[1].name, "other");
}

TEST(Kunit, NoFolderIsASkipAndNoSuiteAnError)
{
	const TempDir dir("nocma-test");

	EXPECT_THROW(read_kunit_suites(dir.path() / "absent"), SkipError);
	EXPECT_THROW(
		{
			try {
				read_kunit_suites(dir.path());
			} catch (const Error &error) {
				EXPECT_EQ(error.code(), ExitCode::fail);
				EXPECT_THAT(error.what(), HasSubstr("kunit.enable"));
				throw;
			}
		},
		Error);
}

TEST(Kunit, AnErrorNamesTheFile)
{
	const TempDir dir("nocma-test");

	add_results(dir, "broken", "ok 1 broken\n");
	EXPECT_THROW(
		{
			try {
				read_kunit_suites(dir.path());
			} catch (const Error &error) {
				EXPECT_THAT(error.what(), HasSubstr("broken/results: "));
				throw;
			}
		},
		Error);
}

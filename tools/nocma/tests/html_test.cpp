// SPDX-License-Identifier: GPL-2.0-only
#include "report/html.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "util/error.hpp"
#include "util/process.hpp"

using namespace nocma;
using testing::HasSubstr;
using testing::Not;

namespace
{

BenchResult make_run(std::string_view label, std::uint64_t time, std::uint64_t cma)
{
	CaseResult one;
	BenchResult run;

	one.key = {.mode = "movable", .object_bytes = 4 << 20};
	for (int i = 0; i < 20; i++)
		one.populate.add(time);
	if (cma != 0) {
		one.cma_alloc.add(cma);
		one.cma_calls[{10, true}] = 20;
	}
	one.split = {.populates = 2,
		     .total = 1000,
		     .parts = {{"cma_alloc", 900}, {"clearing", 75}, {"rest", 25}}};
	run.label = label;
	run.machine.kernel_release = "6.12-<script>";
	run.device_driver = "radeon";
	run.cases.push_back(one);
	return run;
}

Comparison make_comparison()
{
	Comparison comparison;

	comparison.add(make_run("nocma", 2000000, 0), "a.json");
	comparison.add(make_run("stock", 20000000, 18000000), "b.json");
	return comparison;
}

const CaseKey movable = {.mode = "movable", .object_bytes = 4 << 20};

} // namespace

TEST(Html, LatencyHasARowPerLabelOnOneAxis)
{
	const Figure figure = latency_figure(make_comparison(), movable);

	ASSERT_EQ(figure.boxes.size(), 2U);
	ASSERT_EQ(figure.y_ticks.size(), 2U);
	EXPECT_EQ(figure.y_ticks[0].text, "A nocma");
	EXPECT_EQ(figure.y_ticks[1].text, "B stock");
	EXPECT_GT(figure.boxes[0].bottom, figure.boxes[1].bottom); /* A over B */
	EXPECT_LE(figure.boxes[0].left, 2.0);
	EXPECT_GE(figure.boxes[0].right, 2.0);
	EXPECT_LE(figure.boxes[1].left, 20.0);
	EXPECT_GE(figure.boxes[1].right, 20.0);
	EXPECT_LT(figure.left, 2.0);
	EXPECT_GT(figure.right, 20.0);
}

TEST(Html, AnOverflowIsDrawnNotClipped)
{
	Comparison comparison;
	BenchResult run = make_run("stock", 1000, 0);

	run.cases[0].populate.add(Histogram::limit * 2);
	comparison.add(run, "b.json");
	const Figure figure = latency_figure(comparison, movable);
	EXPECT_EQ(figure.boxes.size(), 2U);
	EXPECT_GT(figure.right, static_cast<double>(Histogram::limit) * 2 / 1e6);
}

TEST(Html, SplitIsStackedToTheWhole)
{
	const Figure figure = split_figure(make_comparison(), movable);

	ASSERT_EQ(figure.boxes.size(), 6U);
	EXPECT_DOUBLE_EQ(figure.boxes[0].right, 90);
	EXPECT_DOUBLE_EQ(figure.boxes[1].left, 90);
	EXPECT_DOUBLE_EQ(figure.boxes[2].right, 100);
}

TEST(Html, CmaCallsAreGroupedByOrder)
{
	const Figure figure = order_figure(make_comparison());

	ASSERT_EQ(figure.x_ticks.size(), 1U);
	EXPECT_EQ(figure.x_ticks[0].text, "10");
	EXPECT_DOUBLE_EQ(figure.boxes.at(1).top, 20);
}

TEST(Plot, TextsCannotBreakOutOfTheirQuotes)
{
	Figure figure;

	figure.x_title = "it's\n'; system 'reboot";
	figure.boxes.push_back({0, 1, 0, 1, 0x123456});
	EXPECT_THAT(gnuplot_script(figure), HasSubstr("set xlabel 'it''s''; system ''reboot' "));
	EXPECT_THAT(gnuplot_script(figure), HasSubstr("\n0 0 0 1 0 1 1193046\nEND\n"));
}

TEST(Plot, SvgsAreMadeFitForOnePage)
{
	const std::vector<Figure> figures = {{.description = "a \"b\""}, {.description = "c"}};
	const std::string one = "<svg \n viewBox=\"0 0 4 2\"><title>t</title><defs>\n<use "
				"id='gpPt1'/></defs><g id=\"canvas\"><path d='M0'/></g></svg>\n";
	const std::vector<std::string> svgs = inline_svgs("<?xml?>\n" + one + one, figures);

	ASSERT_EQ(svgs.size(), 2U);
	EXPECT_EQ(svgs[0],
		  "<svg role=\"img\" aria-label=\"a &quot;b&quot;\" \n viewBox=\"0 0 4 2\">"
		  "<g><path d='M0'/></g></svg>");
	EXPECT_THROW(inline_svgs(one, figures), Error);
	EXPECT_THROW(inline_svgs("<svg>" + one.substr(0, 9), figures), Error);
}

TEST(Html, ThePageIsSelfContained)
{
	if (!find_program("gnuplot"))
		GTEST_SKIP() << "no gnuplot";
	const std::string page = html_report(make_comparison());

	EXPECT_THAT(page, HasSubstr("6.12-&lt;script&gt;"));
	EXPECT_THAT(page, Not(HasSubstr("<script")));
	EXPECT_THAT(page, Not(HasSubstr("src=")));
	EXPECT_THAT(page, Not(HasSubstr("href=\"http")));
	EXPECT_THAT(page, Not(HasSubstr("@import")));
	EXPECT_THAT(page, HasSubstr("10.0 times as long"));
	EXPECT_THAT(page, HasSubstr("10.0×"));
	EXPECT_THAT(page, HasSubstr("prefers-color-scheme: dark"));
}

TEST(Html, WithoutGnuplotOneLineSaysWhatToInstall)
{
	const std::string path = std::getenv("PATH");

	::setenv("PATH", "/nonexistent", 1);
	try {
		html_report(make_comparison());
		ADD_FAILURE() << "drawn without gnuplot";
	} catch (const Error &error) {
		EXPECT_THAT(error.what(), HasSubstr("install gnuplot-nox"));
	}
	::setenv("PATH", path.c_str(), 1);
}

TEST(Html, NothingMeasuredIsAnError)
{
	Comparison comparison;

	EXPECT_THROW(html_report(comparison), Error);
}

// SPDX-License-Identifier: GPL-2.0-only
#include "trace/analysis.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "kernel/graph_recorder.hpp"
#include "trace/functions.hpp"
#include "trace/input.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::trace
{
namespace
{

using std::chrono::nanoseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

/* A page by way of CMA as kernels up to 4.16 do it, in the tracer's own columns. */
std::string page(std::string_view cma_us, std::string_view page_us)
{
	return fmt::format(" 1)               |      __ttm_dma_alloc_page [ttm]() {{\n"
			   " 1)               |        dma_generic_alloc_coherent() {{\n"
			   " 1) ! {} us |          dma_alloc_from_contiguous();\n"
			   " 1) ! {} us |        }}\n"
			   " 1) ! {} us |      }}\n",
			   cma_us, page_us, page_us);
}

/* Two pages, 3000 us of 3010 in CMA. */
std::string old_trace()
{
	return "# tracer: function_graph\n"
	       "#\n"
	       "# CPU  DURATION                  FUNCTION CALLS\n"
	       "# |     |   |                     |   |   |   |\n"
	       " 1)               |  ttm_dma_pool_get_pages [ttm]() {\n" +
	       page("1000.000", "1002.000") + page("2000.000", "2003.000") +
	       " 1) # 3010.000 us |  }\n";
}

CallTree tree_of(std::string_view text)
{
	return std::get<CallTree>(read_input(text, "test"));
}

Analysis analysis_of(std::string_view text)
{
	return analyse(tree_of(text));
}

FunctionFigures figures_of(const Analysis &analysis, std::string_view name)
{
	const auto found = std::find_if(
		analysis.functions.begin(), analysis.functions.end(),
		[name](const FunctionFigures &function) { return function.name == name; });

	return found == analysis.functions.end() ? FunctionFigures() : *found;
}

std::string replaced(std::string text, std::string_view from, std::string_view to)
{
	for (std::size_t at = text.find(from); at != std::string::npos;
	     at = text.find(from, at + to.size()))
		text.replace(at, from.size(), to);
	return text;
}

/* What the old trace says, however a mail program has treated it. */
void expect_old_trace(std::string_view text)
{
	const Analysis analysis = analysis_of(text);
	const FunctionFigures cma = figures_of(analysis, "dma_alloc_from_contiguous");

	EXPECT_EQ(cma.calls, 2U) << text;
	EXPECT_EQ(cma.total, nanoseconds(3000000)) << text;
	ASSERT_TRUE(analysis.populate) << text;
	EXPECT_EQ(analysis.populate->calls, 2U) << text;
	EXPECT_EQ(analysis.populate->total, nanoseconds(3010000)) << text;
	EXPECT_EQ(analysis.populate->cma, nanoseconds(3000000)) << text;
	EXPECT_EQ(analysis.cause, Cause::cma) << text;
	EXPECT_EQ(analysis.series, "v4.15") << text;
}

TEST(GraphLine, ReadsEveryKind)
{
	const GraphRecord leaf = parse_graph_line(" 0)   0.171 us    |    f();").value();

	EXPECT_EQ(leaf.kind, GraphRecord::Kind::leaf);
	EXPECT_EQ(leaf.name, "f");
	EXPECT_EQ(leaf.cpu, 0U);
	EXPECT_EQ(leaf.duration, nanoseconds(171));
	EXPECT_EQ(parse_graph_line(" 0)               |  f [m]() {")->kind,
		  GraphRecord::Kind::enter);
	EXPECT_EQ(parse_graph_line(" 0)               |  f [m]() {")->name, "f");
	EXPECT_EQ(parse_graph_line(" 0) ! 1873.071 us |  } /* f [m] ret=0x0 */")->name, "f");
	EXPECT_EQ(parse_graph_line(" 3)   Xorg-12   =>  web-3 ")->kind, GraphRecord::Kind::change);
	EXPECT_EQ(parse_graph_line("CPU:1 [LOST 7 EVENTS]")->lost, 7U);
}

TEST(GraphLine, ReadsEveryMark)
{
	for (const char mark : {' ', '+', '!', '#', '*', '@', '$'}) {
		const std::string line = fmt::format(" 0) {} 1234567.891 us |  f();", mark);

		EXPECT_EQ(parse_graph_line(line)->duration, nanoseconds(1234567891)) << line;
	}
	/* From ten seconds on the kernel prints no fraction. */
	EXPECT_EQ(parse_graph_line(" 0) $ 12345678 us |  }")->duration, nanoseconds(12345678000));
}

TEST(GraphLine, ReadsWhateverColumnsWereChosen)
{
	for (const std::string_view line :
	     {"  0.500 us    |  f();",			  /* duration only */
	      " 12.345678 |   2)   0.500 us    |  f();",  /* abstime */
	      " 2)   Xorg-77    |   0.500 us    |  f();", /* proc */
	      " 2)   Xorg-77    |  d..1. |   0.500 us    |  f(a=1, b=0x2); /* ret=0x0 */",
	      " Xorg-77 [002] 12.345678: funcgraph_entry:        0.500 us   |  f();",
	      "2) 0.500 us | f();"}) {
		const std::optional<GraphRecord> record = parse_graph_line(line);

		ASSERT_TRUE(record) << line;
		EXPECT_EQ(record->name, "f") << line;
		EXPECT_EQ(record->duration, nanoseconds(500)) << line;
	}
	EXPECT_EQ(parse_graph_line(" 2)  kworker/2:1-77  |   0.5 us | f();")->task,
		  "kworker/2:1-77");
	EXPECT_EQ(parse_graph_line(" X-7 [002] 1.2: funcgraph_exit:  + 12.5 us |  }")->cpu, 2U);
}

TEST(GraphLine, LeavesTheRestAlone)
{
	for (const std::string_view line :
	     {"", "# tracer: function_graph", "# |     |   |                     |   |   |   |",
	      " 0)   ==========> |", " 0)               |  /* kmalloc: gfp=A|B */",
	      " ------------------------------------------", "I ran cat trace | head; then {",
	      "| a | table | (of prose) |", " 0)               |  half a li"})
		EXPECT_FALSE(parse_graph_line(line)) << line;
}

TEST(TraceText, AsTheKernelPrintsIt)
{
	expect_old_trace(old_trace());
}

/* Recorded by nocma trace --live in a v6.12 guest. */
TEST(TraceText, Of612)
{
	const Analysis analysis = analysis_of(read_file(TEST_DATA_DIR "/function_graph-6.12"));

	EXPECT_EQ(analysis.populate->calls, 1U);
	EXPECT_EQ(analysis.populate->total, nanoseconds(134600100));
	EXPECT_EQ(analysis.populate->cma, nanoseconds(33661250));
	EXPECT_EQ(analysis.populate->cma_function, "dma_alloc_contiguous");
	EXPECT_EQ(analysis.series, "v6.12");
	EXPECT_EQ(analysis.cause, Cause::part);
	EXPECT_EQ(analysis.populate->other_function, "dma_direct_alloc");
	EXPECT_TRUE(analysis.absent.empty());
}

/*
 * Recorded by nocma trace --live in a guest of Debian's 7.2.13+deb14-amd64, which has CMA where the
 * older ones have none: radeon, cma=256M.
 */
TEST(TraceText, Of72)
{
	const Analysis analysis = analysis_of(read_file(TEST_DATA_DIR "/function_graph-7.2"));

	EXPECT_EQ(analysis.populate->calls, 3U);
	EXPECT_EQ(analysis.populate->total, nanoseconds(132992390));
	EXPECT_EQ(analysis.populate->cma, nanoseconds(109044094));
	EXPECT_EQ(analysis.populate->cma_function, "dma_alloc_contiguous");
	EXPECT_EQ(figures_of(analysis, "cma_alloc").calls, 12U);
	EXPECT_EQ(analysis.series, "v7.2");
	EXPECT_EQ(analysis.cause, Cause::cma);
	EXPECT_TRUE(analysis.absent.empty());
}

/*
 * The tracer's own text while radeon comes up under Debian's 5.10.0-46, 6.1.0-57 and
 * 6.12.117+deb12-amd64, eight levels deep, with options funcgraph-tail, funcgraph-proc and
 * funcgraph-abstime. These kernels have no CMA. The times were added up by another program.
 */
TEST(TraceText, OfDebianKernelsWithNamedEndsTasksAndTimes)
{
	struct Recorded {
		const char *file;
		const char *populate; /* what allocates the pages */
		nanoseconds total;
		nanoseconds dma;
		std::size_t dma_calls;
	};

	for (const Recorded &recorded :
	     {Recorded{"5.10", "ttm_dma_populate", nanoseconds(7206196), nanoseconds(3324306), 4},
	      Recorded{"6.1", "ttm_pool_alloc", nanoseconds(10156298), nanoseconds(49203), 1},
	      Recorded{"6.12-tail", "ttm_pool_alloc", nanoseconds(2096672), nanoseconds(71644),
		       1}}) {
		const Analysis analysis = analysis_of(read_file(
			fmt::format("{}/function_graph-{}", TEST_DATA_DIR, recorded.file)));

		SCOPED_TRACE(recorded.file);
		EXPECT_EQ(analysis.populate->calls, 2U);
		EXPECT_EQ(analysis.populate->total, recorded.total);
		EXPECT_EQ(analysis.populate->cma, nanoseconds(0));
		EXPECT_EQ(figures_of(analysis, recorded.populate).calls, 1U);
		EXPECT_EQ(figures_of(analysis, "dma_alloc_attrs").calls, recorded.dma_calls);
		EXPECT_EQ(figures_of(analysis, "dma_alloc_attrs").total, recorded.dma);
		EXPECT_EQ(analysis.cause, Cause::other);
		EXPECT_TRUE(analysis.absent.empty());
	}
}

TEST(TraceText, WithoutIndentation)
{
	std::string text;

	for (const std::string &line : split_lines(old_trace())) {
		std::string words;

		for (const std::string &word : split(line, ' '))
			if (!word.empty())
				words += (words.empty() ? "" : " ") + word;
		text += words + "\n";
	}
	expect_old_trace(text);
}

TEST(TraceText, QuotedOnceAndTwice)
{
	for (const std::string_view mark : {"> ", ">> ", "> > ", ">"}) {
		std::string text = "On Tuesday somebody wrote:\n";

		for (const std::string &line : split_lines(old_trace()))
			text += fmt::format("{}{}\n", mark, line);
		expect_old_trace(text);
	}
}

TEST(TraceText, WithCarriageReturnsTabsAndHardSpaces)
{
	expect_old_trace(replaced(old_trace(), "\n", "\r\n"));
	expect_old_trace(replaced(old_trace(), "    ", "\t"));
	expect_old_trace(replaced(old_trace(), "  ", "\xc2\xa0 "));
}

/* At every blank in turn, quoted or not; the rest of a line that wraps is not quoted again. */
TEST(TraceText, WrappedAtAnyBlank)
{
	const std::string text = old_trace();

	for (std::size_t at = text.find(" 1)") + 1; at < text.size(); at++) {
		if (text[at] != ' ')
			continue;
		std::string wrapped = text;

		wrapped[at] = '\n';
		expect_old_trace(wrapped);
		wrapped = replaced(text, "\n", "\n> ");
		wrapped[at + static_cast<std::size_t>(
				     2 * std::count(text.begin(),
						    text.begin() + static_cast<std::ptrdiff_t>(at),
						    '\n'))] = '\n';
		expect_old_trace(wrapped);
	}
}

TEST(TraceText, OfTwoTasksOnOneCpu)
{
	const Analysis analysis =
		analysis_of(" 0)               |  ttm_pool_alloc [ttm]() {\n"
			    " ------------------------------------------\n"
			    " 0)   Xorg-10    =>   web-20   \n"
			    " ------------------------------------------\n"
			    "\n"
			    " 0)               |  ttm_pool_alloc [ttm]() {\n"
			    " 0) ! 400.000 us  |    cma_alloc();\n"
			    " 0) ! 500.000 us  |  }\n"
			    " ------------------------------------------\n"
			    " 0)   web-20     =>   Xorg-10  \n"
			    " ------------------------------------------\n"
			    "\n"
			    " 0)   1.000 us    |    dma_alloc_attrs();\n"
			    " 0) # 1500.000 us |  } /* ttm_pool_alloc [ttm] */\n");

	EXPECT_EQ(analysis.populate->calls, 2U);
	EXPECT_EQ(analysis.populate->total, nanoseconds(2000000));
	EXPECT_EQ(analysis.populate->cma, nanoseconds(400000));
	EXPECT_EQ(analysis.cause, Cause::part);
	EXPECT_TRUE(analysis.absent.empty());
}

TEST(TraceText, OfATaskThatChangesTheCpu)
{
	const Analysis analysis =
		analysis_of(" 0)   X-10    |               |  ttm_pool_alloc [ttm]() {\n"
			    " 1)   X-10    | ! 900.000 us  |    cma_alloc();\n"
			    " 0)   web-7   |   1.000 us    |  dma_alloc_attrs();\n"
			    " 1)   X-10    | # 1000.000 us |  }\n");

	EXPECT_EQ(analysis.populate->cma, nanoseconds(900000));
	EXPECT_EQ(analysis.populate->total, nanoseconds(1000000));
}

TEST(Analysis, CountsCmaBelowPopulateOnlyAndOnce)
{
	const Analysis analysis =
		analysis_of(" 0) ! 900.000 us  |  cma_alloc();\n"
			    " 0)               |  ttm_tt_populate [ttm]() {\n"
			    " 0)               |    ttm_pool_alloc [ttm]() {\n"
			    " 0)               |      cma_alloc() {\n"
			    " 0) ! 200.000 us  |        alloc_contig_range_noprof();\n"
			    " 0) ! 300.000 us  |      }\n"
			    " 0) ! 390.000 us  |    }\n"
			    " 0) ! 400.000 us  |  }\n");

	EXPECT_EQ(figures_of(analysis, "cma_alloc").calls, 2U);
	EXPECT_EQ(analysis.populate->calls, 1U);
	EXPECT_EQ(analysis.populate->cma_calls, 1U);
	EXPECT_EQ(analysis.populate->cma, nanoseconds(300000));
	EXPECT_EQ(analysis.populate->total, nanoseconds(400000));
	EXPECT_EQ(analysis.populate->per_mille(), 750U);
	EXPECT_EQ(analysis.series, "v6.12");
	EXPECT_EQ(analysis.verdict, "75.0 % of 1 populate call (400.000 us) was spent in "
				    "cma_alloc: the CMA stall; series v6.12 removes it");
}

TEST(Analysis, RoundsTheShareDown)
{
	const Analysis analysis = analysis_of(" 0)               |  ttm_pool_alloc [ttm]() {\n"
					      " 0) # 99999.990 us |    cma_alloc();\n"
					      " 0) # 100000.000 us |  }\n");

	EXPECT_EQ(analysis.populate->per_mille(), 999U);
}

TEST(Analysis, WithoutCmaSaysWhereTheTimeWent)
{
	const Analysis analysis = analysis_of(" 0)               |  ttm_pool_alloc [ttm]() {\n"
					      " 0) ! 200.000 us  |    __alloc_pages();\n"
					      " 0)   0.040 us    |    dma_alloc_contiguous();\n"
					      " 0) ! 210.000 us  |  }\n");

	EXPECT_EQ(analysis.cause, Cause::other);
	EXPECT_THAT(analysis.verdict, HasSubstr("not the CMA stall"));
	EXPECT_THAT(analysis.verdict, HasSubstr("__alloc_pages itself (200.000 us"));
}

TEST(Analysis, OfQuickCallsIsNoStall)
{
	const Analysis analysis = analysis_of(" 0)               |  ttm_pool_alloc [ttm]() {\n"
					      " 0)   2.000 us    |    cma_alloc();\n"
					      " 0)   3.000 us    |  }\n");

	EXPECT_EQ(analysis.cause, Cause::quick);
	EXPECT_THAT(analysis.verdict, HasSubstr("no stall"));
}

TEST(Analysis, NamesWhatIsAbsentAndPrintsNoZero)
{
	/* Cut at both ends: the populate's beginning and the end of the last call are missing. */
	const Analysis analysis =
		analysis_of("CPU:0 [LOST 12 EVENTS]\n"
			    " 0) ! 900.000 us  |    cma_alloc();\n"
			    " 0) # 1000.000 us |  } /* ttm_pool_alloc [ttm] */\n"
			    " 0)   1.000 us    |  }\n"
			    " 0)               |  ttm_pool_alloc_page [ttm]() {\n");

	EXPECT_EQ(analysis.cause, Cause::not_told);
	EXPECT_FALSE(analysis.populate);
	EXPECT_FALSE(figures_of(analysis, "ttm_pool_alloc_page").total);
	EXPECT_EQ(figures_of(analysis, "ttm_pool_alloc_page").unfinished, 1U);
	EXPECT_THAT(analysis.absent, Contains(HasSubstr("share of populate")));
	EXPECT_THAT(analysis.absent, Contains(HasSubstr("1 unfinished call")));
	EXPECT_THAT(analysis.absent, Contains(HasSubstr("1 cut call")));
	EXPECT_THAT(analysis.absent, Contains(HasSubstr("1 line '}'")));
	EXPECT_THAT(analysis.absent, Contains(HasSubstr("12 events")));

	const nlohmann::json json = to_json(analysis);
	EXPECT_TRUE(json["populate"].is_null());
	EXPECT_EQ(json["cause"], "not told");
	for (const nlohmann::json &function : json["functions"])
		EXPECT_EQ(function["total_ns"].is_null(), function["unfinished"] == 1);
	EXPECT_THAT(to_text(analysis), HasSubstr("-"));
}

TEST(Analysis, TellsTheMedianAndTheLongest)
{
	std::string text = " 0)               |  ttm_pool_alloc [ttm]() {\n";

	for (const int us : {5, 1, 4, 2, 3})
		text += fmt::format(" 0)   {}.000 us    |    cma_alloc();\n", us);
	const FunctionFigures cma = figures_of(analysis_of(text), "cma_alloc");

	EXPECT_EQ(cma.calls, 5U);
	EXPECT_EQ(cma.total, nanoseconds(15000));
	EXPECT_EQ(cma.p50, nanoseconds(3000));
	EXPECT_EQ(cma.max, nanoseconds(5000));
}

TEST(Functions, TellTheKernel)
{
	EXPECT_EQ(series_of({"ttm_dma_populate", "dma_generic_alloc_coherent"}), "v4.15");
	EXPECT_EQ(series_of({"ttm_dma_populate", "dma_alloc_attrs"}), "v5.10");
	EXPECT_THAT(series_of({"ttm_dma_populate"}), HasSubstr("v4.15 or v5.10"));
	EXPECT_EQ(series_of({"ttm_pool_alloc", "__alloc_pages"}), "v6.1");
	EXPECT_EQ(series_of({"ttm_pool_alloc", "alloc_contig_range_noprof.part.0"}), "v6.12");
	EXPECT_EQ(series_of({"ttm_pool_alloc", "cma_alloc_frozen"}), "v7.2");
	EXPECT_THAT(series_of({"ttm_pool_alloc"}), HasSubstr("v6.1, v6.12 or v7.2"));
	EXPECT_EQ(role_of("cma_alloc.constprop.0"), Role::cma);
	EXPECT_EQ(role_of("cma_release"), Role::none);
}

void expect_refused(std::string_view text, std::string_view why)
{
	try {
		read_input(text, "name.txt");
		ADD_FAILURE() << "taken: " << text;
	} catch (const Error &error) {
		EXPECT_THAT(error.what(), HasSubstr("name.txt: "));
		EXPECT_THAT(error.what(), HasSubstr(std::string(why)));
		EXPECT_EQ(std::string_view(error.what()).find('\n'), std::string_view::npos);
	}
}

TEST(Input, RefusesWhatIsNoTrace)
{
	expect_refused("", "empty");
	expect_refused(" \n\n", "empty");
	expect_refused("Dear list,\n\nmy desktop | stalls (often); please help {\n", "neither");
	expect_refused("# tracer: function\n#\n Xorg-1 [000] 1.25: f <-g\n", "tracer function,");
	expect_refused("# tracer: function_graph\n 0)               |  f() {\n",
		       "without one call");
	expect_refused(std::string_view("\x17\x08"
					"Dtracing\0\0",
					12),
		       "trace-cmd report");
	expect_refused(std::string_view("\0\xff\xfe|);", 6), "neither");
}

KernelLog log_of(std::string_view text)
{
	return std::get<KernelLog>(read_input(text, "test"));
}

Finding finding_of(std::string_view line)
{
	return log_of(line).findings.at(0).finding;
}

TEST(KernelLog, TellsBusyFromExhaustedFromTooBig)
{
	EXPECT_EQ(finding_of("alloc_contig_range: [12c00, 12d08) PFNs busy"), Finding::busy_range);
	EXPECT_EQ(finding_of("alloc_contig_frozen_range_noprof: [12c00, 12d08) PFNs busy"),
		  Finding::busy_range);
	EXPECT_EQ(finding_of("cma: cma_alloc: alloc failed, req-size: 512 pages, ret: -16"),
		  Finding::cma_busy);
	EXPECT_EQ(finding_of("cma: __cma_alloc: reserved: alloc failed, req-size: 8 pages, "
			     "ret: -12"),
		  Finding::cma_exhausted);
	EXPECT_EQ(finding_of("cma: cma_alloc: alloc failed, req-size: 8 pages, ret: -4"),
		  Finding::cma_failed);
	EXPECT_EQ(log_of("cma: Reserved 16 MiB at 0x000000003f000000\n"
			 "cma: cma_alloc: alloc failed, req-size: 4097 pages, ret: -12\n")
			  .findings.at(0)
			  .finding,
		  Finding::cma_too_big);
	EXPECT_THAT(verdicts(log_of("alloc_contig_range: [12c00, 12d08) PFNs busy")),
		    ElementsAre(HasSubstr("busy sweep")));
}

TEST(KernelLog, TellsAFullSwiotlbFromATooLargeRequest)
{
	const auto line = [](int size, int used) {
		return fmt::format("radeon 0000:00:01.0: swiotlb buffer is full (sz: {} bytes), "
				   "total 32768 (slots), used {} (slots)",
				   size, used);
	};

	EXPECT_EQ(finding_of(line(262144 + 1, 0)), Finding::swiotlb_too_big);
	EXPECT_EQ(finding_of(line(262144, 0)), Finding::swiotlb_fragmented);
	EXPECT_EQ(finding_of(line(8192, 32765)), Finding::swiotlb_exhausted);
	EXPECT_EQ(finding_of(line(8192, 32764)), Finding::swiotlb_fragmented);
	EXPECT_EQ(finding_of("e1000 0000:00:02.0: swiotlb buffer is full (sz: 4096 bytes)"),
		  Finding::swiotlb_full);
	EXPECT_EQ(log_of(line(8192, 0)).findings.at(0).source, "radeon 0000:00:01.0");
}

TEST(KernelLog, MatchesHugePageLinesByDriver)
{
	const KernelLog log =
		log_of("tmpfs: Unsupported parameter 'huge'\n"
		       "i915 0000:00:02.0: [drm] Using Transparent Hugepages\n"
		       "v3d fec00000.v3d: [drm] Transparent Hugepage support is recommended for "
		       "optimal performance!\n");

	ASSERT_EQ(log.findings.size(), 3U);
	EXPECT_EQ(log.findings[0].finding, Finding::tmpfs_no_huge);
	EXPECT_EQ(log.findings[1].source, "i915 0000:00:02.0");
	EXPECT_EQ(log.findings[2].finding, Finding::huge_advised);
	EXPECT_EQ(log.findings[2].source, "v3d fec00000.v3d");
}

TEST(KernelLog, ReadsLoggersFormsAndCounts)
{
	const std::string message = "alloc_contig_range: [12c00, 12d08) PFNs busy";
	const KernelLog log = log_of("[   12.345678] " + message + "\n<6>[1.5] " + message +
				     "\nDec  1 00:00:01 host kernel: [    1.25] " + message +
				     "\n> [    2.250000] " + message + "\r\n");

	ASSERT_EQ(log.findings.size(), 1U);
	EXPECT_EQ(log.findings[0].lines, 4U);
	EXPECT_EQ(log.findings[0].example, message);
	EXPECT_EQ(to_json(log)["findings"][0]["lines"], 4);
}

TEST(KernelLog, WithNothingInItSaysSo)
{
	const KernelLog log = log_of("[    0.000000] Linux version 6.12.0\n");

	EXPECT_TRUE(log.findings.empty());
	EXPECT_THAT(verdicts(log), ElementsAre(HasSubstr("nothing about CMA")));
}

TEST(Recorder, ChoosesWhatTheKernelCanTrace)
{
	EXPECT_THAT(traceable("schedule\ncma_alloc\nttm_pool_alloc [ttm]\nttm_pool_allocate\n",
			      {"ttm_pool_alloc", "ttm_dma_populate", "cma_alloc"}),
		    ElementsAre("ttm_pool_alloc", "cma_alloc"));
	EXPECT_EQ(buffer_size_setting("7 (expanded: 1408)\n"), "7");
	EXPECT_EQ(buffer_size_setting("1408\n"), "1408");
	EXPECT_EQ(buffer_kib_per_cpu(1), 8192U);
	EXPECT_EQ(buffer_kib_per_cpu(64), 1024U);
	EXPECT_EQ(buffer_kib_per_cpu(0), 8192U);
}

} // namespace
} // namespace nocma::trace

// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "report/bench_result.hpp"
#include "util/error.hpp"

using namespace nocma;
using testing::HasSubstr;

namespace
{

/* A run of one mode whose populates took so many nanoseconds each, with one CMA call each. */
BenchResult make_run(std::string_view label, std::initializer_list<std::uint64_t> times,
		     bool with_cma)
{
	CaseResult mode;
	BenchResult run;

	mode.key = {.mode = "movable", .object_bytes = 4 << 20};
	mode.rounds = 1;
	for (const std::uint64_t time : times) {
		mode.populate.add(time);
		if (!with_cma)
			continue;
		mode.cma_alloc.add(time / 2);
		mode.cma_calls[{10, true}]++;
	}
	mode.vmstat["compact_stall"] = 1;
	run.label = label;
	run.machine.kernel_release = "6.12.117";
	run.machine.config_hash = "fnv1a64:0123456789abcdef";
	run.machine.accelerator = "tcg";
	run.device_driver = "radeon";
	run.cases.push_back(mode);
	return run;
}

std::string as_text(const BenchResult &run)
{
	return to_json(run).dump();
}

std::string error_of(const std::string &text)
{
	try {
		parse_bench_result(text, "run.json");
	} catch (const Error &error) {
		return error.what();
	}
	return "accepted";
}

} // namespace

TEST(BenchResult, SurvivesJson)
{
	const BenchResult run = make_run("stock", {1000000, 3000000}, true);
	const BenchResult read = parse_bench_result(as_text(run), "run.json");

	EXPECT_EQ(read.label, "stock");
	EXPECT_EQ(read.machine.kernel_release, "6.12.117");
	EXPECT_EQ(read.cases.at(0).cma_calls, run.cases.at(0).cma_calls);
	EXPECT_EQ(read.cases.at(0).populate.to_json(), run.cases.at(0).populate.to_json());
	EXPECT_EQ(read.cases.at(0).vmstat.at("compact_stall"), 1);
}

TEST(BenchResult, SaysWhatWasAskedFor)
{
	BenchResult run = make_run("nocma", {1}, false);

	run.most_samples = 77;
	run.duration_seconds = 2.5;
	EXPECT_EQ(to_json(run).at("samples"), 77);
	EXPECT_EQ(to_json(run).at("duration_s"), 2.5);
}

TEST(BenchResult, AbsentCmaIsNullNotZero)
{
	const nlohmann::json json = to_json(make_run("nocma", {1}, false));

	EXPECT_TRUE(json.at("cma").at("before").at("total_bytes").is_null());
	EXPECT_TRUE(json.at("cma").at("before").at("areas").is_null());
}

TEST(BenchResult, AnotherSchemaOrVersionIsRefusedInOneLine)
{
	nlohmann::json json = to_json(make_run("nocma", {1}, false));

	json["version"] = 1;
	EXPECT_THAT(error_of(json.dump()), HasSubstr("run.json: schema \"nocma-bench\" version 1"));
	json["version"] = "2";
	EXPECT_THAT(error_of(json.dump()), HasSubstr("version \"2\""));
	json["version"] = 2;
	json["schema"] = "fio";
	EXPECT_THAT(error_of(json.dump()), HasSubstr("schema \"fio\""));
	EXPECT_THAT(error_of("{}"), HasSubstr("schema null"));
	EXPECT_EQ(error_of(json.dump()).find('\n'), std::string::npos);
}

TEST(BenchResult, WhatIsNoResultIsRefusedByName)
{
	const std::string whole = as_text(make_run("nocma", {1}, false));

	EXPECT_THAT(error_of(""), HasSubstr("run.json: not a JSON object"));
	EXPECT_THAT(error_of("[]"), HasSubstr("run.json: not a JSON object"));
	EXPECT_THAT(error_of(whole.substr(0, whole.size() / 2)), HasSubstr("not a JSON object"));

	nlohmann::json json = nlohmann::json::parse(whole);
	json.erase("cases");
	EXPECT_THAT(error_of(json.dump()), HasSubstr("run.json: "));
	json = nlohmann::json::parse(whole);
	json["cases"][0]["populate_ns"]["count"] = 9;
	EXPECT_THAT(error_of(json.dump()), HasSubstr("bins and overflow hold 1"));
}

TEST(Comparison, RunsOfOneLabelAddUp)
{
	Comparison comparison;

	comparison.add(make_run("stock", {1000000, 1000000}, true), "b1.json");
	comparison.add(make_run("stock", {1000000}, true), "b2.json");
	comparison.add(make_run("nocma", {500000}, false), "a1.json");
	EXPECT_TRUE(comparison.verdict().good);
	EXPECT_THAT(comparison.verdict().text,
		    HasSubstr("0 CMA allocations in 1 populates with the flag, 3 in 3 without"));
	EXPECT_THAT(comparison.table(), HasSubstr("B  stock: 2 boots"));
	EXPECT_THAT(comparison.table(), HasSubstr("10:3"));
	EXPECT_THAT(comparison.table(), HasSubstr("2.00x"));
	EXPECT_THAT(comparison.table(), HasSubstr("50.0 %"));
}

TEST(Comparison, BootsArePairedWhenThereAreEnough)
{
	Comparison comparison;

	for (std::uint64_t boot = 1; boot <= 5; boot++) {
		comparison.add(make_run("cma0", {1000}, false), "0.json");
		comparison.add(make_run("nocma", {1000 + 100 * boot}, false), "a.json");
	}
	EXPECT_FALSE(comparison.boot_contrast(contrasted[1], comparison.cases()[0]));
	EXPECT_THAT(comparison.table(), testing::Not(HasSubstr("pairs of boots")));
	comparison.add(make_run("cma0", {1000}, false), "0.json");
	comparison.add(make_run("nocma", {900}, false), "a.json");
	const auto found = comparison.boot_contrast(contrasted[1], comparison.cases()[0]);
	ASSERT_TRUE(found);
	EXPECT_EQ(found->pairs, 6U);
	EXPECT_NEAR(found->p99.low, 0.9, 0.01);
	EXPECT_NEAR(found->p99.median, 1.25, 0.01);
	EXPECT_NEAR(found->p99.high, 1.5, 0.01);
	EXPECT_THAT(comparison.table(),
		    HasSubstr("A/0       p50 1.25x (0.90 to 1.50), p99 1.25x (0.90 "
			      "to 1.50) in 6 pairs of boots; intervals of 96.9 %"));
	EXPECT_FALSE(comparison.boot_contrast(contrasted[0], comparison.cases()[0]));
}

/* What was had until memory ran out, in two runs and not mixed with any other. */
TEST(Comparison, MemoryThatRanOutIsACaseOfItsOwn)
{
	Comparison comparison;
	BenchResult run = make_run("nocma", {1000000}, false);

	comparison.add(run, "a1.json");
	run.cases[0].key.exhaust = true;
	run.cases[0].exhaustion = {.runs = 1,
				   .available_bytes = 400ULL << 20U,
				   .got_bytes = 100ULL << 20U,
				   .unused_cma_bytes = 256ULL << 20U,
				   .kills = 1};
	comparison.add(parse_bench_result(as_text(run), "a2.json"), "a2.json");
	run.cases[0].exhaustion.got_bytes = 300ULL << 20U;
	comparison.add(parse_bench_result(as_text(run), "a3.json"), "a3.json");
	ASSERT_EQ(comparison.cases().size(), 2U);
	EXPECT_EQ(name_of(comparison.cases()[1]), "movable, 4 MiB, until memory has run out");
	EXPECT_EQ(comparison.find("nocma", comparison.cases()[1])->exhaustion.kills, 2U);
	EXPECT_THAT(comparison.table(), HasSubstr("got 200 of 400 MiB available (50.0 %), 256 MiB "
						  "of the area unused"));
	EXPECT_EQ(format_exhaustion({}), "");
}

TEST(Comparison, CmaAllocationsWithTheFlagAreAFailure)
{
	Comparison comparison;

	comparison.add(make_run("stock", {1}, true), "b.json");
	comparison.add(make_run("nocma", {1}, true), "a.json");
	EXPECT_FALSE(comparison.verdict().good);
	EXPECT_THAT(comparison.verdict().text, HasSubstr("still takes from CMA"));
}

TEST(Comparison, WithoutANegativeControlNothingIsProved)
{
	Comparison no_stock;

	no_stock.add(make_run("nocma", {1}, false), "a.json");
	EXPECT_FALSE(no_stock.verdict().good);

	Comparison blind = no_stock;
	blind.add(make_run("stock", {1}, false), "b.json");
	EXPECT_FALSE(blind.verdict().good);
	EXPECT_THAT(blind.verdict().text, HasSubstr("negative control"));

	Comparison empty;
	empty.add(make_run("nocma", {}, false), "a.json");
	empty.add(make_run("stock", {1}, true), "b.json");
	EXPECT_FALSE(empty.verdict().good);
}

TEST(Comparison, OnlyLikeIsComparedWithLike)
{
	Comparison comparison;
	BenchResult other = make_run("stock", {1}, true);

	comparison.add(make_run("nocma", {1}, false), "a.json");
	other.machine.kernel_release = "6.1.0";
	EXPECT_THROW(comparison.add(other, "b.json"), Error);
	other = make_run("stock", {1}, true);
	other.machine.accelerator = "kvm";
	EXPECT_THROW(comparison.add(other, "b.json"), Error);
	other = make_run("stock", {1}, true);
	other.device_driver = "vttm";
	EXPECT_THROW(comparison.add(other, "b.json"), Error);
	EXPECT_THROW(comparison.add(make_run("vanilla", {1}, true), "b.json"), Error);
}

TEST(Comparison, HeadlinePrefersWhatIsHardlyChance)
{
	Comparison comparison;
	BenchResult a = make_run("nocma", {100, 100, 100, 100, 100, 100, 100, 100}, false);
	BenchResult b = make_run("stock", {900, 900, 900, 900, 900, 900, 900, 900}, true);

	EXPECT_EQ(comparison.headline(), "");
	for (BenchResult *const run : {&a, &b}) {
		CaseResult lone;

		lone.key = {.mode = "pinned", .object_bytes = 4 << 20};
		lone.populate.add(run == &a ? 100 : 90000);
		run->cases.push_back(lone);
	}
	comparison.add(a, "a.json");
	comparison.add(b, "b.json");
	EXPECT_THAT(comparison.headline(), HasSubstr("\"movable\""));
	EXPECT_THAT(comparison.headline(), HasSubstr("9.00 times as long"));
}

TEST(Comparison, CasesOfAnotherSizeOrPoolAreNotMixed)
{
	Comparison comparison;
	BenchResult run = make_run("nocma", {1}, false);

	comparison.add(run, "a.json");
	run.cases[0].key.warm = true;
	comparison.add(run, "a2.json");
	run.cases[0].key.object_bytes = 65536;
	comparison.add(run, "a3.json");
	ASSERT_EQ(comparison.cases().size(), 3U);
	EXPECT_EQ(name_of(comparison.cases()[0]), "movable, 4 MiB");
	EXPECT_EQ(name_of(comparison.cases()[1]), "movable, 4 MiB, warm");
	EXPECT_EQ(name_of(comparison.cases()[2]), "movable, 64 KiB, warm");
}

namespace
{

TracedCall make_call(Traced function, std::int64_t begin, std::int64_t end)
{
	return {.function = function,
		.order = 0,
		.ok = true,
		.from_ttm = true,
		.begin = std::chrono::nanoseconds(begin),
		.end = std::chrono::nanoseconds(end)};
}

} // namespace

TEST(TimeSplit, CountsTheOutermostCall)
{
	/* Reclaim on behalf of CMA is CMA's; the second reclaim is the page allocator's. */
	const std::vector<TracedCall> calls = {
		make_call(Traced::ttm, 10, 190),       make_call(Traced::dma, 20, 180),
		make_call(Traced::cma, 30, 100),       make_call(Traced::reclaim, 40, 60),
		make_call(Traced::compaction, 61, 70), make_call(Traced::reclaim, 110, 130)};
	const std::set<Traced> all = {Traced::ttm, Traced::dma, Traced::cma, Traced::compaction,
				      Traced::reclaim};
	const TimeSplit split = split_time(calls, std::chrono::nanoseconds(200), all);

	EXPECT_EQ(split.total, 200U);
	EXPECT_EQ(split.parts.at("cma_alloc"), 70U);
	EXPECT_EQ(split.parts.at("compaction"), 0U);
	EXPECT_EQ(split.parts.at("reclaim"), 20U);
	EXPECT_EQ(split.parts.at("clearing"), 70U);
	EXPECT_EQ(split.parts.at("rest"), 40U);
}

TEST(TimeSplit, APartThatIsNotTracedIsAbsentNotZero)
{
	const std::vector<TracedCall> calls = {make_call(Traced::ttm, 10, 190),
					       make_call(Traced::cma, 30, 100)};
	const TimeSplit split =
		split_time(calls, std::chrono::nanoseconds(200), {Traced::ttm, Traced::cma});

	EXPECT_EQ(split.parts.size(), 2U);
	EXPECT_EQ(split.parts.at("rest"), 130U);
}

TEST(Overhead, IsTheShareOfTheMeasuredTime)
{
	CaseResult one;

	EXPECT_DOUBLE_EQ(overhead_share(one, {.timing_ns = 1, .traced_call_ns = 1}), 0);
	one.populate.add(1000);
	one.populate.add(1000);
	one.traced_calls = 4;
	EXPECT_DOUBLE_EQ(overhead_share(one, {.timing_ns = 10, .traced_call_ns = 20}), 0.05);
}

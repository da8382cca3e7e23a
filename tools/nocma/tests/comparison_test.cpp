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
	ModeResult mode;
	BenchResult run;

	mode.name = "movable";
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
	run.object_bytes = 4 << 20;
	run.modes.push_back(mode);
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
	EXPECT_EQ(read.modes.at(0).cma_calls, run.modes.at(0).cma_calls);
	EXPECT_EQ(read.modes.at(0).populate.to_json(), run.modes.at(0).populate.to_json());
	EXPECT_EQ(read.modes.at(0).vmstat.at("compact_stall"), 1);
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

	json["version"] = 2;
	EXPECT_THAT(error_of(json.dump()), HasSubstr("run.json: schema \"nocma-bench\" version 2"));
	json["version"] = "1";
	EXPECT_THAT(error_of(json.dump()), HasSubstr("version \"1\""));
	json["version"] = 1;
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
	json.erase("modes");
	EXPECT_THAT(error_of(json.dump()), HasSubstr("run.json: "));
	json = nlohmann::json::parse(whole);
	json["modes"][0]["populate_ns"]["count"] = 9;
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
	other.object_bytes = 4096;
	EXPECT_THROW(comparison.add(other, "b.json"), Error);
	EXPECT_THROW(comparison.add(make_run("vanilla", {1}, true), "b.json"), Error);
}

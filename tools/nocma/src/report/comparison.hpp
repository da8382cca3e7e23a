/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/bench_result.hpp"
#include "stats/median_interval.hpp"
#include "stats/rank_test.hpp"

namespace nocma
{

/* Labels that the comparison knows: TTM passing the flag, not passing it, no CMA area. */
constexpr std::string_view label_nocma = "nocma";
constexpr std::string_view label_stock = "stock";
constexpr std::string_view label_cma0 = "cma0";

struct Column {
	std::string_view label;
	std::string_view title;
};

/* In the order in which reports show them. */
constexpr std::array<Column, 3> columns = {{
	{label_nocma, "A  nocma"},
	{label_stock, "B  stock"},
	{label_cma0, "0  cma=0"},
}};

/* Two percentiles of one boot, in nanoseconds. */
struct BootFigures {
	std::uint64_t p50;
	std::uint64_t p99;
};

/* All runs of one label, merged case by case. */
struct LabelResult {
	std::uint64_t runs = 0;
	std::vector<CaseResult> cases;		     /* in the order of their first appearance */
	std::vector<std::vector<BootFigures>> boots; /* of each of the cases, in order */

	[[nodiscard]] const CaseResult *find(const CaseKey &key) const noexcept;
	[[nodiscard]] std::vector<BootFigures> boots_of(const CaseKey &key) const;
	[[nodiscard]] std::uint64_t cma_calls() const noexcept;
	[[nodiscard]] std::uint64_t populates() const noexcept;
};

std::uint64_t count_cma_calls(const CaseResult &result) noexcept;

/* How much longer populates of `slow` take, as ratios, and how sure that is. */
struct Contrast {
	double p50;
	double p99;
	double max;
	RankTest rank;
};

Contrast contrast(const CaseResult &fast, const CaseResult &slow);

/* Ratios of percentiles, boot by boot: what a boot differs from the next counts, too. */
struct BootContrast {
	std::size_t pairs;
	MedianInterval p50;
	MedianInterval p99;
};

/* "p50 1.04x (1.01 to 1.08), p99 ... in 6 pairs of boots; intervals of 96.9 %" */
std::string format_boot_contrast(const BootContrast &found);

/* The pairs that reports contrast: what the flag saves, and what is left to the lower bound. */
struct Pair {
	std::string_view fast;
	std::string_view slow;
	std::string_view title;
};

constexpr std::array<Pair, 2> contrasted = {{
	{label_nocma, label_stock, "B/A"},
	{label_cma0, label_nocma, "A/0"},
}};

class Comparison
{
public:
	/* Throws Error, naming the file, when the run is not comparable with those before. */
	void add(BenchResult result, std::string_view file);

	/* The table, in plain text. */
	[[nodiscard]] std::string table() const;

	struct Verdict {
		bool good;
		std::string text;
	};

	/*
	 * Good when TTM with the flag made no CMA allocation in any case while TTM without it
	 * made some: without that negative control, zero would prove nothing.
	 */
	[[nodiscard]] Verdict verdict() const;

	/*
	 * The case in which the median differs most, in a sentence; of those whose difference is
	 * hardly chance, if there are any. Empty without A or B.
	 */
	[[nodiscard]] std::string headline() const;

	/* What all runs have in common, as the first of them says it. */
	[[nodiscard]] const BenchResult &common() const noexcept { return first_; }
	[[nodiscard]] std::uint64_t runs(std::string_view label) const noexcept;

	/* Every case that some label has. */
	[[nodiscard]] std::vector<CaseKey> cases() const;

	/* Null when that label has no such case. */
	[[nodiscard]] const CaseResult *find(std::string_view label,
					     const CaseKey &key) const noexcept;

	/*
	 * The first boot of `slow` by the first of `fast`, and so on; nothing when they are too few
	 * for an interval of 95 %.
	 */
	[[nodiscard]] std::optional<BootContrast> boot_contrast(const Pair &pair,
								const CaseKey &key) const;

private:
	BenchResult first_; /* what the others must agree with */
	std::string first_file_;
	std::map<std::string, LabelResult, std::less<>> labels_;
};

/* Milliseconds, with the digits that a bin's width leaves meaningful. */
std::string format_milliseconds(std::uint64_t nanoseconds);

/* "1.43", "200": a ratio with three digits. */
std::string format_ratio(double ratio);

/*
 * "got 220 of 466 MiB available (47.2 %), 250 MiB of the area unused": the mean of a run. Empty
 * where memory was not to run out.
 */
std::string format_exhaustion(const Exhaustion &exhaustion);

/* The share of all populate time spent in cma_alloc(), in percent; "-" without populates. */
std::string format_cma_share(const CaseResult &result);

} // namespace nocma

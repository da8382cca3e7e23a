/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "report/bench_result.hpp"

namespace nocma
{

/* Labels that the comparison knows: TTM passing the flag, not passing it, no CMA area. */
constexpr std::string_view label_nocma = "nocma";
constexpr std::string_view label_stock = "stock";
constexpr std::string_view label_cma0 = "cma0";

/* All runs of one label, merged mode by mode. */
struct LabelResult {
	std::uint64_t runs = 0;
	std::vector<ModeResult> modes; /* in the order of their first appearance */

	[[nodiscard]] const ModeResult *find(std::string_view mode) const noexcept;
	[[nodiscard]] std::uint64_t cma_calls() const noexcept;
	[[nodiscard]] std::uint64_t populates() const noexcept;
};

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
	 * Good when TTM with the flag made no CMA allocation in any mode while TTM without it
	 * made some: without that negative control, zero would prove nothing.
	 */
	[[nodiscard]] Verdict verdict() const;

private:
	BenchResult first_; /* what the others must agree with */
	std::string first_file_;
	std::map<std::string, LabelResult, std::less<>> labels_;
};

} // namespace nocma

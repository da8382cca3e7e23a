// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "stats/rank_test.hpp"
#include "util/error.hpp"

namespace nocma
{

namespace
{

struct Column {
	std::string_view label;
	std::string_view title;
};

constexpr std::array<Column, 3> columns = {{
	{label_nocma, "A  nocma"},
	{label_stock, "B  stock"},
	{label_cma0, "   cma=0"},
}};

std::uint64_t count_calls(const ModeResult &mode) noexcept
{
	std::uint64_t calls = 0;

	for (const auto &[key, count] : mode.cma_calls)
		calls += count;
	return calls;
}

/* Milliseconds, with the digits that a bin's width leaves meaningful. */
std::string milliseconds(std::uint64_t nanoseconds)
{
	const double value = static_cast<double>(nanoseconds) / 1e6;

	if (value < 10)
		return fmt::format("{:.3f}", value);
	return fmt::format("{:.1f}", value);
}

std::string share(const ModeResult &mode)
{
	if (mode.populate.sum() == 0)
		return "-";
	return fmt::format("{:.1f} %", 100 * static_cast<double>(mode.cma_alloc.sum()) /
					       static_cast<double>(mode.populate.sum()));
}

std::string row(std::string_view mode, std::string_view title, const ModeResult &result)
{
	return fmt::format("{:<13} {:<9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", mode, title,
			   result.populate.count(), count_calls(result), share(result),
			   milliseconds(result.populate.percentile(50)),
			   milliseconds(result.populate.percentile(99)),
			   milliseconds(result.populate.max()), format_by_order(result.cma_calls));
}

/* B against A: how much slower, and how sure that is. */
std::string ratio_row(const ModeResult &a, const ModeResult &b)
{
	const auto ratio = [&](double percent) {
		const std::uint64_t base = a.populate.percentile(percent);

		return base == 0 ? 0.0
				 : static_cast<double>(b.populate.percentile(percent)) /
					   static_cast<double>(base);
	};
	const RankTest test = mann_whitney(a.populate, b.populate);
	const double max_ratio = a.populate.max() == 0
					 ? 0.0
					 : static_cast<double>(b.populate.max()) /
						   static_cast<double>(a.populate.max());

	return fmt::format("{:<13} {:<36} {:>9} {:>9} {:>9}  P(B>A) {:.2f}, p {:.2g}\n", "", "B/A",
			   fmt::format("{:.2f}x", ratio(50)), fmt::format("{:.2f}x", ratio(99)),
			   fmt::format("{:.2f}x", max_ratio), test.superiority, test.p_value);
}

} // namespace

const ModeResult *LabelResult::find(std::string_view mode) const noexcept
{
	const auto found = std::find_if(modes.begin(), modes.end(),
					[mode](const ModeResult &m) { return m.name == mode; });

	return found == modes.end() ? nullptr : &*found;
}

std::uint64_t LabelResult::cma_calls() const noexcept
{
	std::uint64_t calls = 0;

	for (const ModeResult &mode : modes)
		calls += count_calls(mode);
	return calls;
}

std::uint64_t LabelResult::populates() const noexcept
{
	std::uint64_t populates = 0;

	for (const ModeResult &mode : modes)
		populates += mode.populate.count();
	return populates;
}

void Comparison::add(BenchResult result, std::string_view file)
{
	if (std::none_of(columns.begin(), columns.end(),
			 [&](const Column &column) { return column.label == result.label; }))
		throw Error(fmt::format("{}: label '{}' is none of nocma, stock, cma0", file,
					result.label));
	if (labels_.empty()) {
		first_ = result;
		first_file_ = file;
	}
	const auto agree = [&](std::string_view what, const auto &here, const auto &there) {
		if (here != there)
			throw Error(fmt::format("{}: {} {}, but {} in {}: not comparable", file,
						what, here, there, first_file_));
	};
	agree("kernel", result.machine.kernel_release, first_.machine.kernel_release);
	agree("configuration", result.machine.config_hash, first_.machine.config_hash);
	agree("accelerator", result.machine.accelerator, first_.machine.accelerator);
	agree("object size", result.object_bytes, first_.object_bytes);

	LabelResult &label = labels_[result.label];
	label.runs++;
	for (ModeResult &mode : result.modes) {
		const auto same = std::find_if(
			label.modes.begin(), label.modes.end(),
			[&](const ModeResult &other) { return other.name == mode.name; });

		if (same == label.modes.end())
			label.modes.push_back(std::move(mode));
		else
			merge(*same, mode);
	}
}

std::string Comparison::table() const
{
	std::string text =
		fmt::format("Linux {}, {} KiB objects, accelerator {}; times per populate in ms\n",
			    first_.machine.kernel_release, first_.object_bytes / 1024,
			    first_.machine.accelerator);

	for (const Column &column : columns) {
		const auto label = labels_.find(column.label);

		text += fmt::format("{}: {} boot{}\n", column.title,
				    label == labels_.end() ? 0 : label->second.runs,
				    label != labels_.end() && label->second.runs == 1 ? "" : "s");
	}
	text += fmt::format("\n{:<13} {:<9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "pressure",
			    "TTM", "N", "cma_alloc", "its time", "p50", "p99", "max",
			    "cma_alloc by order (! failed)");

	std::vector<std::string> modes;
	for (const Column &column : columns) {
		const auto label = labels_.find(column.label);

		if (label == labels_.end())
			continue;
		for (const ModeResult &mode : label->second.modes)
			if (std::find(modes.begin(), modes.end(), mode.name) == modes.end())
				modes.push_back(mode.name);
	}
	for (const std::string &mode : modes) {
		std::map<std::string_view, const ModeResult *> results;
		std::string_view first_cell = mode;

		for (const Column &column : columns) {
			const auto label = labels_.find(column.label);
			const ModeResult *const result =
				label == labels_.end() ? nullptr : label->second.find(mode);

			if (result == nullptr)
				continue;
			results[column.label] = result;
			text += row(first_cell, column.title, *result);
			first_cell = "";
		}
		if (results.contains(label_nocma) && results.contains(label_stock))
			text += ratio_row(*results[label_nocma], *results[label_stock]);
	}
	return text;
}

Comparison::Verdict Comparison::verdict() const
{
	const auto nocma = labels_.find(label_nocma);
	const auto stock = labels_.find(label_stock);

	if (nocma == labels_.end() || nocma->second.populates() == 0)
		return {.good = false, .text = "no populate with the label nocma: nothing shown"};
	if (stock == labels_.end() || stock->second.populates() == 0)
		return {.good = false,
			.text = "no populate with the label stock: no negative control, so zero "
				"proves nothing"};
	const std::uint64_t with = nocma->second.cma_calls();
	const std::uint64_t without = stock->second.cma_calls();
	const std::string figures =
		fmt::format("{} CMA allocations in {} populates with the flag, {} in {} without",
			    with, nocma->second.populates(), without, stock->second.populates());

	if (with != 0)
		return {.good = false, .text = "TTM still takes from CMA: " + figures};
	if (without == 0)
		return {.good = false,
			.text = "the negative control shows no CMA allocation: " + figures};
	return {.good = true, .text = "the series does its job: " + figures};
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "report/comparison.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

double ratio(std::uint64_t base, std::uint64_t value)
{
	return base == 0 ? 0.0 : static_cast<double>(value) / static_cast<double>(base);
}

std::string row(std::string_view title, const CaseResult &result)
{
	const Histogram &populate = result.populate;
	std::string text =
		fmt::format("  {:<9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", title,
			    populate.count(), count_cma_calls(result), format_cma_share(result),
			    format_milliseconds(populate.percentile(50)),
			    format_milliseconds(populate.percentile(90)),
			    format_milliseconds(populate.percentile(99)),
			    format_milliseconds(populate.max()), format_by_order(result.cma_calls));

	if (result.failed != 0)
		text += fmt::format("  {:<9} {:>6} populates found no memory\n", "", result.failed);
	if (result.exhaustion.runs != 0)
		text += fmt::format("  {:<9} {:>6} {}\n", "", "",
				    format_exhaustion(result.exhaustion));
	return text;
}

std::string ratio_row(std::string_view title, const CaseResult &fast, const CaseResult &slow)
{
	const Contrast found = contrast(fast, slow);

	return fmt::format("  {:<9} {:>36} {:>9} {:>9} {:>9}  P({}>{}) {:.2f}, p {:.2g}\n", title,
			   format_ratio(found.p50) + "x", "", format_ratio(found.p99) + "x",
			   format_ratio(found.max) + "x", title.front(), title.back(),
			   found.rank.superiority, found.rank.p_value);
}

} // namespace

std::string format_milliseconds(std::uint64_t nanoseconds)
{
	const double value = static_cast<double>(nanoseconds) / 1e6;

	if (value < 10)
		return fmt::format("{:.3f}", value);
	return fmt::format("{:.1f}", value);
}

std::string format_ratio(double ratio)
{
	const int decimals = ratio < 10 ? 2 : ratio < 100 ? 1 : 0;

	return fmt::format("{:.{}f}", ratio, decimals);
}

std::string format_cma_share(const CaseResult &result)
{
	if (result.populate.sum() == 0)
		return "-";
	return fmt::format("{:.1f} %", 100 * ratio(result.populate.sum(), result.cma_alloc.sum()));
}

std::string format_exhaustion(const Exhaustion &exhaustion)
{
	const auto mebibytes = [&](std::uint64_t bytes) {
		return bytes / exhaustion.runs >> 20U;
	};

	if (exhaustion.runs == 0)
		return "";
	return fmt::format("got {} of {} MiB available ({:.1f} %), {} MiB of the area unused",
			   mebibytes(exhaustion.got_bytes), mebibytes(exhaustion.available_bytes),
			   100 * ratio(exhaustion.available_bytes, exhaustion.got_bytes),
			   mebibytes(exhaustion.unused_cma_bytes));
}

std::uint64_t count_cma_calls(const CaseResult &result) noexcept
{
	std::uint64_t calls = 0;

	for (const auto &[key, count] : result.cma_calls)
		calls += count;
	return calls;
}

Contrast contrast(const CaseResult &fast, const CaseResult &slow)
{
	const auto at = [&](double percent) {
		return ratio(fast.populate.percentile(percent), slow.populate.percentile(percent));
	};

	return {.p50 = at(50),
		.p99 = at(99),
		.max = ratio(fast.populate.max(), slow.populate.max()),
		.rank = mann_whitney(fast.populate, slow.populate)};
}

std::string format_boot_contrast(const BootContrast &found)
{
	const auto interval = [](const MedianInterval &ratio) {
		return fmt::format("{}x ({} to {})", format_ratio(ratio.median),
				   format_ratio(ratio.low), format_ratio(ratio.high));
	};

	return fmt::format("p50 {}, p99 {} in {} pairs of boots; intervals of {:.1f} %",
			   interval(found.p50), interval(found.p99), found.pairs,
			   100 * found.p99.confidence);
}

std::vector<BootFigures> LabelResult::boots_of(const CaseKey &key) const
{
	for (std::size_t i = 0; i < cases.size(); i++)
		if (cases[i].key == key)
			return boots[i];
	return {};
}

const CaseResult *LabelResult::find(const CaseKey &key) const noexcept
{
	const auto found = std::find_if(cases.begin(), cases.end(),
					[&](const CaseResult &one) { return one.key == key; });

	return found == cases.end() ? nullptr : &*found;
}

std::uint64_t LabelResult::cma_calls() const noexcept
{
	std::uint64_t calls = 0;

	for (const CaseResult &one : cases)
		calls += count_cma_calls(one);
	return calls;
}

std::uint64_t LabelResult::populates() const noexcept
{
	std::uint64_t populates = 0;

	for (const CaseResult &one : cases)
		populates += one.populate.count();
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
	agree("driver", result.device_driver, first_.device_driver);

	LabelResult &label = labels_[result.label];
	label.runs++;
	for (CaseResult &one : result.cases) {
		const auto same =
			std::find_if(label.cases.begin(), label.cases.end(),
				     [&](const CaseResult &other) { return other.key == one.key; });

		const BootFigures boot = {.p50 = one.populate.percentile(50),
					  .p99 = one.populate.percentile(99)};

		if (same == label.cases.end()) {
			label.cases.push_back(std::move(one));
			label.boots.push_back({boot});
		} else {
			merge(*same, one);
			label.boots[static_cast<std::size_t>(same - label.cases.begin())].push_back(
				boot);
		}
	}
}

std::uint64_t Comparison::runs(std::string_view label) const noexcept
{
	const auto found = labels_.find(label);

	return found == labels_.end() ? 0 : found->second.runs;
}

const CaseResult *Comparison::find(std::string_view label, const CaseKey &key) const noexcept
{
	const auto found = labels_.find(label);

	return found == labels_.end() ? nullptr : found->second.find(key);
}

std::optional<BootContrast> Comparison::boot_contrast(const Pair &pair, const CaseKey &key) const
{
	constexpr double enough = 0.95;
	const auto fast = labels_.find(pair.fast);
	const auto slow = labels_.find(pair.slow);

	if (fast == labels_.end() || slow == labels_.end())
		return std::nullopt;
	const std::vector<BootFigures> fast_boots = fast->second.boots_of(key);
	const std::vector<BootFigures> slow_boots = slow->second.boots_of(key);
	const std::size_t pairs = std::min(fast_boots.size(), slow_boots.size());
	std::vector<double> p50;
	std::vector<double> p99;

	for (std::size_t i = 0; i < pairs; i++) {
		p50.push_back(ratio(fast_boots[i].p50, slow_boots[i].p50));
		p99.push_back(ratio(fast_boots[i].p99, slow_boots[i].p99));
	}
	if (pairs == 0 || median_interval(p99).confidence < enough)
		return std::nullopt;
	return BootContrast{
		.pairs = pairs, .p50 = median_interval(p50), .p99 = median_interval(p99)};
}

std::vector<CaseKey> Comparison::cases() const
{
	std::vector<CaseKey> keys;

	for (const Column &column : columns) {
		const auto label = labels_.find(column.label);

		if (label == labels_.end())
			continue;
		for (const CaseResult &one : label->second.cases)
			if (std::find(keys.begin(), keys.end(), one.key) == keys.end())
				keys.push_back(one.key);
	}
	return keys;
}

std::string Comparison::table() const
{
	std::string text = fmt::format("Linux {}, {}, accelerator {}; times per populate in ms\n",
				       first_.machine.kernel_release, first_.device_driver,
				       first_.machine.accelerator);

	for (const Column &column : columns)
		text += fmt::format("{}: {} boot{}\n", column.title, runs(column.label),
				    runs(column.label) == 1 ? "" : "s");
	text += fmt::format("\n  {:<9} {:>6} {:>9} {:>9} {:>9} {:>9} {:>9} {:>9}  {}\n", "TTM", "N",
			    "cma_alloc", "its time", "p50", "p90", "p99", "max",
			    "cma_alloc by order (! failed)");
	for (const CaseKey &key : cases()) {
		text += name_of(key) + "\n";
		for (const Column &column : columns)
			if (const CaseResult *const result = find(column.label, key))
				text += row(column.title, *result);
		for (const Pair &pair : contrasted) {
			const CaseResult *const fast = find(pair.fast, key);
			const CaseResult *const slow = find(pair.slow, key);

			if (fast != nullptr && slow != nullptr)
				text += ratio_row(pair.title, *fast, *slow);
			if (const auto boots = boot_contrast(pair, key))
				text += fmt::format("  {:<9} {}\n", pair.title,
						    format_boot_contrast(*boots));
		}
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

std::string Comparison::headline() const
{
	constexpr double chance = 0.01;
	const CaseResult *best_a = nullptr;
	const CaseResult *best_b = nullptr;
	Contrast best{};

	for (const CaseKey &key : cases()) {
		const CaseResult *const a = find(label_nocma, key);
		const CaseResult *const b = find(label_stock, key);

		if (a == nullptr || b == nullptr)
			continue;
		const Contrast found = contrast(*a, *b);
		const bool sure = found.rank.p_value < chance;
		const bool best_sure = best_a != nullptr && best.rank.p_value < chance;
		if (best_a == nullptr || (sure && !best_sure) ||
		    (sure == best_sure && found.p50 > best.p50)) {
			best = found;
			best_a = a;
			best_b = b;
		}
	}
	if (best_a == nullptr)
		return "";
	return fmt::format(
		"Under pressure \"{}\", populating {} takes {} ms without the flag, {} of the time "
		"in "
		"cma_alloc, and {} ms with it: {} times as long (medians of {} and {} populates, "
		"p {:.2g}).",
		best_a->key.mode, format_bytes(best_a->key.object_bytes),
		format_milliseconds(best_b->populate.percentile(50)), format_cma_share(*best_b),
		format_milliseconds(best_a->populate.percentile(50)), format_ratio(best.p50),
		best_b->populate.count(), best_a->populate.count(), best.rank.p_value);
}

} // namespace nocma

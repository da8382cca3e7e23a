// SPDX-License-Identifier: GPL-2.0-only
#include "stats/histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/error.hpp"

namespace nocma
{

namespace
{

/* log2 of the width of the bin that holds the value. */
unsigned int width_bits(std::uint64_t value) noexcept
{
	const auto bits = static_cast<unsigned int>(std::bit_width(value));

	return bits <= Histogram::precision_bits + 1 ? 0 : bits - Histogram::precision_bits - 1;
}

} // namespace

std::uint64_t Histogram::bin_lowest(std::uint64_t value) noexcept
{
	const unsigned int shift = width_bits(value);

	return value >> shift << shift;
}

std::uint64_t Histogram::bin_highest(std::uint64_t value) noexcept
{
	return bin_lowest(value) + (std::uint64_t{1} << width_bits(value)) - 1;
}

void Histogram::add(std::uint64_t value)
{
	if (value > limit)
		overflow_++;
	else
		bins_[bin_lowest(value)]++;
	count_++;
	min_ = std::min(min_, value);
	max_ = std::max(max_, value);
	sum_ += value;
}

void Histogram::merge(const Histogram &other)
{
	for (const auto &[lowest, count] : other.bins_)
		bins_[lowest] += count;
	count_ += other.count_;
	overflow_ += other.overflow_;
	min_ = std::min(min_, other.min_);
	max_ = std::max(max_, other.max_);
	sum_ += other.sum_;
}

std::uint64_t Histogram::percentile(double percent) const
{
	const auto rank = static_cast<std::uint64_t>(
		std::ceil(percent / 100.0 * static_cast<double>(count_)));
	std::uint64_t seen = 0;

	for (const auto &[lowest, count] : bins_) {
		seen += count;
		if (seen >= std::max<std::uint64_t>(rank, 1))
			return std::min(bin_highest(lowest), max_);
	}
	return max_;
}

nlohmann::json Histogram::to_json() const
{
	nlohmann::json bins = nlohmann::json::array();

	for (const auto &[lowest, count] : bins_)
		bins.push_back({lowest, count});
	return {{"unit", "ns"},
		{"precision_bits", precision_bits},
		{"limit", limit},
		{"count", count_},
		{"overflow", overflow_},
		{"min", min()},
		{"max", max_},
		{"sum", sum_},
		{"p50", percentile(50)},
		{"p90", percentile(90)},
		{"p99", percentile(99)},
		{"p99.9", percentile(99.9)},
		{"bins", std::move(bins)}};
}

Histogram Histogram::from_json(const nlohmann::json &json)
{
	Histogram histogram;
	std::uint64_t counted = 0;

	if (json.at("precision_bits") != precision_bits || json.at("limit") != limit)
		throw Error("histogram: bins of another precision");
	for (const nlohmann::json &bin : json.at("bins")) {
		const std::uint64_t lowest = bin.at(0);
		const std::uint64_t count = bin.at(1);

		if (lowest > limit || bin_lowest(lowest) != lowest)
			throw Error(fmt::format("histogram: no bin begins at {}", lowest));
		histogram.bins_[lowest] += count;
		counted += count;
	}
	histogram.count_ = json.at("count");
	histogram.overflow_ = json.at("overflow");
	histogram.max_ = json.at("max");
	histogram.sum_ = json.at("sum");
	if (histogram.count_ != 0)
		histogram.min_ = json.at("min");
	if (counted + histogram.overflow_ != histogram.count_)
		throw Error(fmt::format("histogram: bins and overflow hold {} values, count says "
					"{}",
					counted + histogram.overflow_, histogram.count_));
	return histogram;
}

} // namespace nocma

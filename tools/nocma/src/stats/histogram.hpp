/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <map>

#include <nlohmann/json_fwd.hpp>

namespace nocma
{

/*
 * Log-linear histogram of unsigned values: every power of two is cut into 2^precision_bits
 * equal bins, values below that are exact. A bin is at most lower >> precision_bits wide, so a
 * percentile read from it is too high by less than 1 part in 2^precision_bits (0.8 % at 7).
 *
 * Nothing is clipped: a value above `limit` is counted as overflow, and min, max and sum are
 * exact for all values.
 */
class Histogram
{
public:
	static constexpr unsigned int precision_bits = 7;
	static constexpr std::uint64_t limit = (std::uint64_t{1} << 42U) - 1;

	/* Lowest value of a bin -> how many values it holds. */
	using Bins = std::map<std::uint64_t, std::uint64_t>;

	void add(std::uint64_t value);
	void merge(const Histogram &other);

	[[nodiscard]] std::uint64_t count() const noexcept { return count_; }
	[[nodiscard]] std::uint64_t overflow() const noexcept { return overflow_; }
	[[nodiscard]] std::uint64_t min() const noexcept { return count_ == 0 ? 0 : min_; }
	[[nodiscard]] std::uint64_t max() const noexcept { return max_; }
	[[nodiscard]] std::uint64_t sum() const noexcept { return sum_; }
	[[nodiscard]] const Bins &bins() const noexcept { return bins_; }

	/*
	 * Nearest rank: the highest value of the bin that holds it, never more than max(); max()
	 * when the rank is among the overflow, 0 when the histogram is empty. 0 < percent <= 100.
	 */
	[[nodiscard]] std::uint64_t percentile(double percent) const;

	static std::uint64_t bin_lowest(std::uint64_t value) noexcept;
	static std::uint64_t bin_highest(std::uint64_t value) noexcept;

	/* The members of a "histogram" object of nocma's JSON. */
	[[nodiscard]] nlohmann::json to_json() const;

	/* Throws Error when the bins are not of this precision or do not add up. */
	static Histogram from_json(const nlohmann::json &json);

private:
	Bins bins_;
	std::uint64_t count_ = 0; /* overflow included */
	std::uint64_t overflow_ = 0;
	std::uint64_t min_ = UINT64_MAX;
	std::uint64_t max_ = 0;
	std::uint64_t sum_ = 0;
};

} // namespace nocma

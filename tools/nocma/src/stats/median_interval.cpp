// SPDX-License-Identifier: GPL-2.0-only
#include "stats/median_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "util/error.hpp"

namespace nocma
{

MedianInterval median_interval(std::vector<double> values)
{
	constexpr double enough = 0.95;
	const std::size_t count = values.size();

	if (count == 0)
		throw Error("no values, no median");
	std::sort(values.begin(), values.end());
	/* Chance of `drop` values or fewer on one side, by the binomial distribution with 1/2. */
	double term = std::pow(0.5, static_cast<double>(count));
	double outside = term;
	std::size_t drop = 0;
	while (drop + 1 < count - drop - 1) {
		const double next =
			term * static_cast<double>(count - drop) / static_cast<double>(drop + 1);

		if (1 - 2 * (outside + next) < enough)
			break;
		term = next;
		outside += next;
		drop++;
	}
	return {.median = (values[(count - 1) / 2] + values[count / 2]) / 2,
		.low = values[drop],
		.high = values[count - 1 - drop],
		.confidence = std::max(0.0, 1 - 2 * outside)};
}

} // namespace nocma

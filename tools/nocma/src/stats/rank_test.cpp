// SPDX-License-Identifier: GPL-2.0-only
#include "stats/rank_test.hpp"

#include <cmath>
#include <map>
#include <utility>

namespace nocma
{

RankTest mann_whitney(const Histogram &a, const Histogram &b)
{
	std::map<std::uint64_t, std::pair<double, double>> bins;
	double below = 0; /* values of a in lower bins */
	double u = 0;
	double ties = 0;
	const auto n_a = static_cast<double>(a.count());
	const auto n_b = static_cast<double>(b.count());
	const double n = n_a + n_b;

	for (const auto &[lowest, count] : a.bins())
		bins[lowest].first = static_cast<double>(count);
	for (const auto &[lowest, count] : b.bins())
		bins[lowest].second = static_cast<double>(count);
	/* Whatever overflowed is above every bin. */
	bins[Histogram::limit + 1] = {static_cast<double>(a.overflow()),
				      static_cast<double>(b.overflow())};
	for (const auto &[lowest, counts] : bins) {
		const double together = counts.first + counts.second;

		u += counts.second * (below + counts.first / 2);
		below += counts.first;
		ties += together * together * together - together;
	}

	if (a.count() == 0 || b.count() == 0)
		return {.superiority = 0.5, .p_value = 1};
	const double variance = n_a * n_b / 12 * (n + 1 - ties / (n * (n - 1)));
	const double distance = std::abs(u - n_a * n_b / 2);
	const double z = variance > 0 ? distance / std::sqrt(variance) : 0;

	return {.superiority = u / (n_a * n_b), .p_value = std::erfc(z / std::sqrt(2.0))};
}

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include "stats/histogram.hpp"

namespace nocma
{

struct RankTest {
	double superiority; /* P(b > a) + P(b = a) / 2 for values drawn at random */
	double p_value;	    /* two-sided; that the two come from one distribution */
};

/*
 * Mann-Whitney U test on binned values: values of one bin are ties, the variance is corrected
 * for them. Normal approximation, so small samples (below ten or so) get a rough p-value. An
 * empty side gives 0.5 and 1.
 */
RankTest mann_whitney(const Histogram &a, const Histogram &b);

} // namespace nocma

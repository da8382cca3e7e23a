/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <vector>

namespace nocma
{

/* Median of independent values and an interval that holds the true one with `confidence`. */
struct MedianInterval {
	double median;
	double low;
	double high;
	double confidence;
};

/*
 * By order statistics, whatever the distribution of the values is: each lies above the true median
 * or below it with equal chance. The narrowest interval with a confidence of 95 % at least; with
 * less than six values the widest has less, and says so. Throws Error without values.
 */
MedianInterval median_interval(std::vector<double> values);

} // namespace nocma

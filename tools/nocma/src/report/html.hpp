/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <string>
#include <vector>

#include "report/comparison.hpp"
#include "report/plot.hpp"

namespace nocma
{

/* Histograms of one case, a row per label on one logarithmic axis. */
Figure latency_figure(const Comparison &comparison, const CaseKey &key);

/* Shares of the time by its parts, a row per label that has been traced in detail. */
Figure split_figure(const Comparison &comparison, const CaseKey &key);

/* CMA allocations of all cases by order, a group of bars per order. */
Figure order_figure(const Comparison &comparison);

/*
 * The page: nothing in it is loaded from elsewhere. Throws Error when gnuplot is missing, or when
 * there is nothing to show.
 */
std::string html_report(const Comparison &comparison);

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "report/html.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

namespace
{

constexpr std::array<Colour, columns.size()> column_colours = {0x2b8cc4, 0xd9622b, 0x8a8f98};
constexpr std::array<Colour, time_parts.size()> part_colours = {0xd9622b, 0xd6a313, 0xa05fb4,
								0x3fa37a, 0x8a8f98};
constexpr std::array<std::string_view, time_parts.size()> part_titles = {
	"cma_alloc", "compaction", "reclaim", "clearing and fast path", "rest"};

constexpr double row_height = 0.62;

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --back: #fff; --fore: #1d2127; --faint: #5c646f;
	--line: #d5d9df; --good: #1c7c4a; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
	:root { --back: #15181c; --fore: #e4e7eb; --faint: #9aa3ae; --line: #363c45;
		--good: #5cc98f; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem; max-width: 72rem; background: var(--back);
	color: var(--fore); font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: .5rem 0; }
h2 { font-size: 1.2rem; margin: 2rem 0 .5rem; }
h3 { font-size: 1rem; margin: 1.25rem 0 .25rem; }
p { margin: .5rem 0; max-width: 48rem; }
.headline { font-size: 1.2rem; line-height: 1.4; }
.verdict { font-weight: 600; }
.good { color: var(--good); }
.bad { color: var(--bad); }
.faint, figcaption { color: var(--faint); font-size: .9rem; }
.figures { display: grid; gap: 1rem; grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
figure { margin: 0; min-width: 0; max-width: 36rem; }
svg { display: block; width: 100%; height: auto; }
svg g[color=black] { color: inherit; }
svg [stroke=black] { stroke: currentColor; }
svg [fill=black] { fill: currentColor; }
svg g { font-family: inherit; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1rem; margin: .5rem 0; padding: 0;
	list-style: none; font-size: .9rem; }
.legend i { display: inline-block; width: .8em; height: .8em; margin-right: .4em; border-radius: 2px;
	print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 0; font-size: .85rem; font-variant-numeric: tabular-nums;
	white-space: nowrap; }
/* Whole pixels: the cells that stay in place would cover lines between two. */
th, td { padding: 3px 8px; line-height: 20px; text-align: right; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; position: sticky; left: 0; background: var(--back); }
th.case { padding-top: 13px; text-align: left; }
th.text, td.text { text-align: left; }
tr.ratio td { color: var(--faint); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1rem 1rem; font-size: .9rem; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
	dl { grid-template-columns: 1fr; }
	dd { margin-bottom: .4rem; }
}
@media print {
	:root { color-scheme: light; --back: #fff; --fore: #000; --faint: #444; --line: #bbb;
		--good: #000; --bad: #000; }
	body { max-width: none; padding: 0; font-size: 10pt; }
	.figures { grid-template-columns: 1fr 1fr; }
	.figures, figure, tbody { break-inside: avoid; }
	h2, h3 { break-after: avoid; }
	.scroll { overflow: visible; }
	table { font-size: 8pt; }
	table.counters { font-size: 6.5pt; }
	th, td { padding: 1px 4px; line-height: 1.4; }
}
)";

double milliseconds(std::uint64_t nanoseconds)
{
	return static_cast<double>(nanoseconds) / 1e6;
}

double share(std::uint64_t part, std::uint64_t total)
{
	return total == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(total);
}

/* "A  nocma" is aligned for a terminal. */
std::string short_title(const Column &column)
{
	std::string title(column.title);

	title.erase(1, 1);
	return title;
}

struct Row {
	std::size_t column; /* index into columns */
	const CaseResult *result;
};

/* The labels that have the case and something in it. */
std::vector<Row> rows_of(const Comparison &comparison, const CaseKey &key)
{
	std::vector<Row> rows;

	for (std::size_t i = 0; i < columns.size(); i++) {
		const CaseResult *const result = comparison.find(columns[i].label, key);

		if (result != nullptr && result->populate.count() != 0)
			rows.push_back({.column = i, .result = result});
	}
	return rows;
}

/* All latencies of all cases, so that every figure has the same axis. */
std::pair<double, double> latency_range(const Comparison &comparison)
{
	constexpr double margin = 1.7; /* room for a number beside an outermost bar */
	std::uint64_t least = UINT64_MAX;
	std::uint64_t most = 1;

	for (const CaseKey &key : comparison.cases())
		for (const Row &row : rows_of(comparison, key)) {
			least = std::min(least, row.result->populate.min());
			most = std::max(most, row.result->populate.max());
		}
	least = std::clamp<std::uint64_t>(least, 1, most);
	return {milliseconds(least) / margin, milliseconds(most) * margin};
}

/* The histogram's bins are finer than a figure can show: 1/16 decade each. */
std::map<int, std::uint64_t> coarse_bins(const Histogram &histogram, double steps_per_decade)
{
	std::map<int, std::uint64_t> bins;
	const auto bin = [&](std::uint64_t value) {
		const double log = std::log10(milliseconds(std::max<std::uint64_t>(value, 1)));

		return static_cast<int>(std::floor(log * steps_per_decade));
	};

	for (const auto &[lowest, count] : histogram.bins())
		bins[bin(lowest)] += count;
	/* Whatever was above the bins is at least known to be no more than the maximum. */
	if (histogram.overflow() != 0)
		bins[bin(histogram.max())] += histogram.overflow();
	return bins;
}

constexpr unsigned int rows_height(std::size_t rows)
{
	return static_cast<unsigned int>(56 + 44 * rows);
}

std::string row_list(const std::vector<Row> &rows, std::string (*tell)(const CaseResult &))
{
	std::string list;

	for (const Row &row : rows)
		list += fmt::format("{}{}: {}", list.empty() ? "" : "; ",
				    short_title(columns[row.column]), tell(*row.result));
	return list;
}

std::string cells(const CaseResult &result)
{
	const Histogram &populate = result.populate;
	std::string text = fmt::format("<td>{}<td>{}<td>{}<td>{}", populate.count(), result.failed,
				       count_cma_calls(result), format_cma_share(result));

	text += fmt::format("<td>{}", format_milliseconds(populate.min()));
	for (const double percent : {50.0, 90.0, 99.0, 99.9})
		text += fmt::format("<td>{}", format_milliseconds(populate.percentile(percent)));
	return text + fmt::format("<td>{}<td>{}<td class=text>{}",
				  format_milliseconds(populate.max()), populate.overflow(),
				  format_by_order(result.cma_calls));
}

std::string ratio_cells(const CaseResult &fast, const CaseResult &slow, std::string_view title)
{
	const Contrast found = contrast(fast, slow);
	const auto at = [&](double percent) {
		return format_ratio(share(slow.populate.percentile(percent),
					  fast.populate.percentile(percent)));
	};

	return fmt::format("<td><td><td><td><td><td>{}×<td>{}×<td>{}×<td>{}×<td>{}×<td>"
			   "<td class=text>P({}&gt;{}) {:.2f}, p {:.2g}",
			   at(50), at(90), at(99), at(99.9), format_ratio(found.max), title.front(),
			   title.back(), found.rank.superiority, found.rank.p_value);
}

std::string exhaustion_row(const Column &column, const CaseResult &result)
{
	if (result.exhaustion.runs == 0)
		return "";
	return fmt::format("<tr><td>{}<td class=text colspan=12>{}\n", short_title(column),
			   format_exhaustion(result.exhaustion));
}

std::string table(const Comparison &comparison)
{
	std::string text =
		"<div class=scroll><table>\n<thead><tr><th>TTM<th>N<th>failed<th>cma_alloc"
		"<th>its time<th>min<th>p50<th>p90<th>p99<th>p99.9<th>max<th>overflow"
		"<th class=text>by order (! failed)</thead>\n";

	for (const CaseKey &key : comparison.cases()) {
		text += fmt::format("<tbody><tr><th class=case colspan=13>{}\n",
				    escape_html(name_of(key)));
		for (const Column &column : columns)
			if (const CaseResult *const result = comparison.find(column.label, key))
				text += fmt::format("<tr><td>{}{}\n", short_title(column),
						    cells(*result)) +
					exhaustion_row(column, *result);
		for (const Pair &pair : contrasted) {
			const CaseResult *const fast = comparison.find(pair.fast, key);
			const CaseResult *const slow = comparison.find(pair.slow, key);

			if (fast != nullptr && slow != nullptr)
				text += fmt::format("<tr class=ratio><td>{}{}\n", pair.title,
						    ratio_cells(*fast, *slow, pair.title));
			if (const auto boots = comparison.boot_contrast(pair, key))
				text += fmt::format(
					"<tr class=ratio><td>{}<td class=text colspan=12>{}\n",
					pair.title, format_boot_contrast(*boots));
		}
		text += "</tbody>\n";
	}
	return text + "</table></div>\n";
}

std::string counter_table(const Comparison &comparison)
{
	std::set<std::string> names;
	std::string text = "<div class=scroll><table class=counters>\n<thead><tr><th>TTM";

	for (const CaseKey &key : comparison.cases())
		for (const Row &row : rows_of(comparison, key))
			for (const auto &[name, delta] : row.result->vmstat)
				names.insert(name);
	for (const std::string &name : names)
		text += "<th>" + escape_html(name);
	text += "</thead>\n";
	for (const CaseKey &key : comparison.cases()) {
		text += fmt::format("<tbody><tr><th class=case colspan={}>{}\n", names.size() + 1,
				    escape_html(name_of(key)));
		for (const Row &row : rows_of(comparison, key)) {
			text += "<tr><td>" + short_title(columns[row.column]);
			for (const std::string &name : names) {
				const auto found = row.result->vmstat.find(name);

				text += found == row.result->vmstat.end()
						? "<td>absent"
						: fmt::format("<td>{}", found->second);
			}
			text += "\n";
		}
		text += "</tbody>\n";
	}
	return text + "</table></div>\n";
}

std::string legend(const std::vector<std::pair<Colour, std::string>> &entries)
{
	std::string text = "<ul class=legend>";

	for (const auto &[colour, title] : entries)
		text += fmt::format("<li><i style=\"background:#{:06x}\"></i>{}", colour,
				    escape_html(title));
	return text + "</ul>\n";
}

std::string column_legend()
{
	return legend({{column_colours[0], "A nocma: TTM passes __GFP_NOCMA"},
		       {column_colours[1], "B stock: it does not"},
		       {column_colours[2], "0: booted with cma=0, the lower bound"}});
}

std::string part_legend()
{
	std::vector<std::pair<Colour, std::string>> entries;

	for (std::size_t i = 0; i < time_parts.size(); i++)
		entries.emplace_back(part_colours[i], part_titles[i]);
	return legend(entries);
}

double most_overhead(const Comparison &comparison)
{
	double most = 0;

	for (const CaseKey &key : comparison.cases())
		for (const Row &row : rows_of(comparison, key))
			most = std::max(most,
					overhead_share(*row.result, comparison.common().overhead));
	return most;
}

std::string conditions(const Comparison &comparison)
{
	const BenchResult &common = comparison.common();
	std::string boots;
	std::string parameters;
	std::string text = "<dl>\n";
	const auto add = [&](std::string_view term, const std::string &value) {
		text += fmt::format("<dt>{}<dd>{}\n", term, escape_html(value));
	};

	for (const Column &column : columns)
		boots += fmt::format("{}{}: {}", boots.empty() ? "" : ", ", short_title(column),
				     comparison.runs(column.label));
	for (const auto &[name, value] : common.ttm_parameters)
		parameters += fmt::format("{}{}={}", parameters.empty() ? "" : " ", name, value);
	add("Kernel", fmt::format("Linux {} {} {}", common.machine.kernel_release,
				  common.machine.architecture, common.machine.kernel_version));
	add("Configuration", common.machine.config_hash);
	add("Command line of the first boot", common.machine.command_line);
	add("Machine", fmt::format("{} CPU{}, {} MiB, accelerator {}", common.machine.cpus,
				   common.machine.cpus == 1 ? "" : "s",
				   common.machine.memory_bytes >> 20, common.machine.accelerator));
	add("Device", fmt::format("{} {}, TTM by {}()", common.device_driver, common.device_version,
				  common.ttm_function));
	add("ttm parameters", parameters.empty() ? "none" : parameters);
	add("Boots", boots);
	add("Own overhead",
	    fmt::format("{} ns a sample, {} ns a traced call: at most {:.2g} % of a case's time",
			common.overhead.timing_ns, common.overhead.traced_call_ns,
			100 * most_overhead(comparison)));
	add("Written by", "nocma " NOCMA_VERSION);
	return text + "</dl>\n";
}

} // namespace

Figure latency_figure(const Comparison &comparison, const CaseKey &key)
{
	constexpr double steps_per_decade = 16;
	const std::vector<Row> rows = rows_of(comparison, key);
	const auto [left, right] = latency_range(comparison);
	Figure figure;

	figure.description = fmt::format(
		"Latency of populates, {}. Medians: {}", name_of(key),
		row_list(rows, [](const CaseResult &result) {
			return format_milliseconds(result.populate.percentile(50)) + " ms";
		}));
	figure.height = rows_height(rows.size());
	figure.log_x = true;
	figure.left = left;
	figure.right = right;
	figure.top = static_cast<double>(rows.size());
	figure.x_title = "ms";
	for (std::size_t i = 0; i < rows.size(); i++) {
		const double bottom = figure.top - 1 - static_cast<double>(i);
		const Histogram &populate = rows[i].result->populate;
		const std::map<int, std::uint64_t> bins = coarse_bins(populate, steps_per_decade);
		const auto most = std::max_element(
			bins.begin(), bins.end(),
			[](const auto &a, const auto &b) { return a.second < b.second; });
		const double median = milliseconds(populate.percentile(50));

		for (const auto &[bin, count] : bins)
			figure.boxes.push_back(
				{.left = std::pow(10, bin / steps_per_decade),
				 .right = std::pow(10, (bin + 1) / steps_per_decade),
				 .bottom = bottom,
				 .top = bottom + row_height * share(count, most->second),
				 .colour = column_colours[rows[i].column]});
		for (const double percent : {50.0, 99.0})
			figure.marks.push_back({.x = milliseconds(populate.percentile(percent)),
						.bottom = bottom,
						.top = bottom + row_height});
		figure.texts.push_back(
			{.x = median,
			 .y = bottom + 0.82,
			 .text = format_milliseconds(populate.percentile(50)) + " ms"});
		figure.y_ticks.push_back({.at = bottom + row_height / 2,
					  .text = short_title(columns[rows[i].column])});
	}
	return figure;
}

Figure split_figure(const Comparison &comparison, const CaseKey &key)
{
	std::vector<Row> rows = rows_of(comparison, key);
	Figure figure;

	std::erase_if(rows, [](const Row &row) { return row.result->split.total == 0; });
	figure.description = fmt::format(
		"Shares of the time, {}. cma_alloc: {}", name_of(key),
		row_list(rows, [](const CaseResult &result) {
			const auto found = result.split.parts.find("cma_alloc");

			return found == result.split.parts.end()
				       ? std::string("not traced")
				       : fmt::format("{:.1f} %", 100 * share(found->second,
									     result.split.total));
		}));
	figure.height = rows_height(rows.size());
	figure.right = 100;
	figure.top = static_cast<double>(rows.size());
	figure.x_title = "% of the time";
	for (std::size_t i = 0; i < rows.size(); i++) {
		const double bottom = figure.top - 1 - static_cast<double>(i);
		const TimeSplit &split = rows[i].result->split;
		double left = 0;

		for (std::size_t part = 0; part < time_parts.size(); part++) {
			const auto found = split.parts.find(time_parts[part]);

			if (found == split.parts.end() || found->second == 0)
				continue;
			const double right = left + 100 * share(found->second, split.total);
			figure.boxes.push_back({.left = left,
						.right = right,
						.bottom = bottom + 0.15,
						.top = bottom + 0.15 + row_height,
						.colour = part_colours[part]});
			left = right;
		}
		figure.y_ticks.push_back({.at = bottom + 0.15 + row_height / 2,
					  .text = short_title(columns[rows[i].column])});
	}
	return figure;
}

Figure order_figure(const Comparison &comparison)
{
	constexpr double bar = 0.28;
	std::map<unsigned int, std::array<std::uint64_t, columns.size()>> counts;
	std::uint64_t most = 0;
	Figure figure;

	for (const CaseKey &key : comparison.cases())
		for (const Row &row : rows_of(comparison, key))
			for (const auto &[order, count] : row.result->cma_calls)
				counts[order.first].at(row.column) += count;
	for (const auto &[order, of] : counts)
		most = std::max(most, *std::max_element(of.begin(), of.end()));
	figure.description = "cma_alloc calls by TTM, by order";
	figure.height = 190;
	figure.left = -0.5;
	figure.right = static_cast<double>(counts.size()) - 0.5;
	figure.top = static_cast<double>(most) * 1.15;
	figure.x_title = "order";
	double middle = 0;
	for (const auto &[order, of] : counts) {
		for (std::size_t i = 0; i < of.size(); i++) {
			const double left = middle + bar * (static_cast<double>(i) - 1.5);

			figure.boxes.push_back({.left = left,
						.right = left + bar * 0.95,
						.bottom = 0,
						.top = static_cast<double>(of.at(i)),
						.colour = column_colours.at(i)});
			figure.texts.push_back(
				{.x = left + bar / 2,
				 .y = static_cast<double>(of.at(i)) + 0.06 * figure.top,
				 .text = std::to_string(of.at(i))});
		}
		figure.x_ticks.push_back({.at = middle, .text = std::to_string(order)});
		figure.description +=
			fmt::format("; {}: A {}, B {}, 0 {}", order, of[0], of[1], of[2]);
		middle += 1;
	}
	figure.y_ticks = {{.at = 0, .text = "0"},
			  {.at = static_cast<double>(most), .text = std::to_string(most)}};
	return figure;
}

std::string html_report(const Comparison &comparison)
{
	std::vector<CaseKey> cases = comparison.cases();
	std::vector<Figure> figures;
	std::vector<std::size_t> split_at; /* index of a case's figure; 0 where there is none */

	std::erase_if(cases, [&](const CaseKey &key) { return rows_of(comparison, key).empty(); });
	if (cases.empty())
		throw Error("report: no populate was measured, there is nothing to show");
	for (const CaseKey &key : cases)
		figures.push_back(latency_figure(comparison, key));
	for (const CaseKey &key : cases) {
		Figure split = split_figure(comparison, key);

		split_at.push_back(split.boxes.empty() ? 0 : figures.size());
		if (!split.boxes.empty())
			figures.push_back(std::move(split));
	}
	const Figure orders = order_figure(comparison);
	if (!orders.boxes.empty())
		figures.push_back(orders);
	const std::vector<std::string> svgs = draw(figures);

	const Comparison::Verdict verdict = comparison.verdict();
	const std::string title =
		fmt::format("TTM and shared CMA on Linux {}",
			    escape_html(comparison.common().machine.kernel_release));
	std::string page =
		fmt::format("<!DOCTYPE html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n"
			    "<meta name=viewport content=\"width=device-width, initial-scale=1\">\n"
			    "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n<h1>{}</h1>\n"
			    "<p class=headline>{}</p>\n<p class=\"verdict {}\">{}: {}</p>\n",
			    title, style, title, escape_html(comparison.headline()),
			    verdict.good ? "good" : "bad", verdict.good ? "PASS" : "FAIL",
			    escape_html(verdict.text));

	page += "<h2>Latency of populates, and where the time goes</h2>\n"
		"<p class=faint>Left: how long populates took, on one logarithmic axis; dashed at "
		"p50 and p99, each row scaled to its highest bar. Right: shares of the time of "
		"those "
		"populates that were traced in detail; they are not among the left ones.</p>\n";
	page += column_legend() + part_legend();
	for (std::size_t i = 0; i < cases.size(); i++) {
		page += fmt::format("<h3>{}</h3>\n<div class=figures>\n<figure>{}</figure>\n",
				    escape_html(name_of(cases[i])), svgs[i]);
		page += split_at[i] == 0
				? "<figure><figcaption>This kernel does not tell where the "
				  "time goes.</figcaption></figure>\n"
				: fmt::format("<figure>{}</figure>\n", svgs[split_at[i]]);
		page += "</div>\n";
	}
	page += "<h2>CMA allocations by TTM, by order</h2>\n";
	page += orders.boxes.empty()
			? "<p>There were none.</p>\n"
			: column_legend() + fmt::format("<figure>{}</figure>\n", svgs.back());
	page += "<h2>Percentiles</h2>\n<p class=faint>In ms. With fewer than 100 populates p99 is "
		"the longest one. P(B&gt;A): how often a populate of B takes longer than one of A, "
		"both drawn at random; 0.5 is no difference. p: Mann-Whitney test, two-sided. "
		"Under "
		"emulation counts and ratios are evidence, absolute times are not.</p>\n";
	page += table(comparison);
	page += "<h2>Memory management's counters</h2>\n"
		"<p class=faint>/proc/vmstat, changes over the rounds of a case, for the whole "
		"machine.</p>\n";
	page += counter_table(comparison);
	page += "<h2>Conditions</h2>\n" + conditions(comparison);
	return page + "</body>\n</html>\n";
}

} // namespace nocma

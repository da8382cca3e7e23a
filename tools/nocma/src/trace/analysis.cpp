// SPDX-License-Identifier: GPL-2.0-only
#include "trace/analysis.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "trace/functions.hpp"

namespace nocma::trace
{

namespace
{

using std::chrono::nanoseconds;

/* From here on most of the time is meant by "most". */
constexpr std::uint64_t most_per_mille = 500;
/* Below, somebody who looks for the stall should look elsewhere. */
constexpr std::uint64_t part_per_mille = 100;
/* The tracer's own '!': a page of 4 KiB takes a few microseconds without CMA. */
constexpr nanoseconds felt{100'000};

std::vector<FunctionFigures> figures(const CallTree &tree)
{
	std::vector<FunctionFigures> result(tree.functions().size());
	std::vector<std::vector<nanoseconds>> durations(result.size());

	for (std::size_t i = 0; i < result.size(); i++)
		result[i].name = tree.functions()[i];
	for (const Call &call : tree.calls()) {
		result[call.function].calls++;
		if (call.duration)
			durations[call.function].push_back(*call.duration);
		else
			result[call.function].unfinished++;
	}
	for (std::size_t i = 0; i < result.size(); i++) {
		std::vector<nanoseconds> &values = durations[i];

		if (values.empty())
			continue;
		std::sort(values.begin(), values.end());
		nanoseconds total{};
		for (const nanoseconds value : values)
			total += value;
		result[i].total = total;
		result[i].p50 = values[(values.size() - 1) / 2];
		result[i].max = values.back();
	}
	std::stable_sort(result.begin(), result.end(),
			 [](const FunctionFigures &a, const FunctionFigures &b) {
				 return a.total > b.total;
			 });
	return result;
}

/* Sums over the populates of a trace; a call's parent is always visited before the call. */
class PopulateSums
{
public:
	explicit PopulateSums(const CallTree &tree)
		: tree_(tree), populated_(tree.calls().size()), in_cma_(tree.calls().size())
	{
		for (const std::string &name : tree.functions())
			roles_.push_back(role_of(name));
		for (std::size_t i = 0; i < tree.calls().size(); i++)
			visit(i);
	}

	[[nodiscard]] std::optional<PopulateShare> share()
	{
		if (outermost_ == 0)
			return std::nullopt;
		share_.calls = whole_ != 0 ? whole_ : pages_ != 0 ? pages_ : outermost_;
		name_longest();
		return share_;
	}

private:
	void visit(std::size_t index)
	{
		const Call &call = tree_.calls()[index];
		const bool has_parent = call.parent != Call::none;
		const Role role = roles_[call.function];

		populated_[index] = has_parent && populated_[call.parent];
		in_cma_[index] = has_parent && in_cma_[call.parent];
		if (!call.duration || !call.whole)
			return;
		if (!populated_[index] && is_populate(role))
			begin_populate(index, call);
		if (!populated_[index])
			return;
		whole_ += role == Role::populate ? whole_of(call) : 0;
		pages_ += role == Role::page ? 1 : 0;
		if (role == Role::cma && !in_cma_[index])
			begin_cma(index, call);
		if (!in_cma_[index])
			self_[call.function] += *call.duration;
		if (has_parent && populated_[call.parent] && !in_cma_[call.parent] &&
		    tree_.calls()[call.parent].duration)
			self_[tree_.calls()[call.parent].function] -= *call.duration;
	}

	void begin_populate(std::size_t index, const Call &call)
	{
		populated_[index] = true;
		outermost_++;
		share_.total += *call.duration;
	}

	void begin_cma(std::size_t index, const Call &call)
	{
		in_cma_[index] = true;
		share_.cma_calls++;
		share_.cma += *call.duration;
		share_.longest_cma = std::max(share_.longest_cma, *call.duration);
		cma_[call.function] += *call.duration;
	}

	/* A driver's populate calls TTM's: that is one. */
	[[nodiscard]] std::uint64_t whole_of(const Call &call) const
	{
		for (std::size_t up = call.parent; up != Call::none; up = tree_.calls()[up].parent)
			if (roles_[tree_.calls()[up].function] == Role::populate)
				return 0;
		return 1;
	}

	void name_longest()
	{
		const auto shorter = [](const auto &a, const auto &b) {
			return a.second < b.second;
		};
		const auto cma = std::max_element(cma_.begin(), cma_.end(), shorter);
		const auto other = std::max_element(self_.begin(), self_.end(), shorter);

		if (cma != cma_.end())
			share_.cma_function = tree_.functions()[cma->first];
		if (other != self_.end()) {
			share_.other_function = tree_.functions()[other->first];
			share_.other = other->second;
		}
	}

	const CallTree &tree_;
	std::vector<Role> roles_; /* by function */
	std::vector<bool> populated_;
	std::vector<bool> in_cma_;
	std::map<std::size_t, nanoseconds> cma_;  /* by function */
	std::map<std::size_t, nanoseconds> self_; /* by function, CMA's left out */
	std::uint64_t outermost_ = 0;
	std::uint64_t whole_ = 0;
	std::uint64_t pages_ = 0;
	PopulateShare share_;
};

Cause cause_of(const std::optional<PopulateShare> &share)
{
	if (!share)
		return Cause::not_told;
	if (share->per_mille() >= most_per_mille)
		return share->longest_cma >= felt ? Cause::cma : Cause::quick;
	if (share->per_mille() >= part_per_mille && share->longest_cma >= felt)
		return Cause::part;
	return Cause::other;
}

std::string duration_text(nanoseconds duration)
{
	constexpr double nanoseconds_per_us = 1e3;
	constexpr double nanoseconds_per_ms = 1e6;
	const auto value = static_cast<double>(duration.count());

	if (duration < std::chrono::milliseconds(1))
		return fmt::format("{:.3f} us", value / nanoseconds_per_us);
	return fmt::format("{:.3f} ms", value / nanoseconds_per_ms);
}

std::string percent_text(std::uint64_t per_mille)
{
	return fmt::format("{}.{} %", per_mille / 10, per_mille % 10);
}

std::string calls_text(std::uint64_t calls, std::string_view of)
{
	return fmt::format("{} {} call{}", calls, of, calls == 1 ? "" : "s");
}

std::string share_text(const PopulateShare &share)
{
	return fmt::format("{} of {} ({}) was spent in {}", percent_text(share.per_mille()),
			   calls_text(share.calls, "populate"), duration_text(share.total),
			   share.cma_function);
}

std::string verdict_of(const Analysis &analysis)
{
	if (!analysis.populate)
		return "cannot tell: the trace holds no populate of TTM that was traced to its "
		       "end; record one with nocma trace --live SECONDS";
	const PopulateShare &share = *analysis.populate;

	switch (analysis.cause) {
	case Cause::cma:
		return fmt::format("{}: the CMA stall; series {} removes it", share_text(share),
				   analysis.series);
	case Cause::part:
		return fmt::format("{}: CMA is a part of it, which series {} removes; the rest "
				   "is elsewhere, {} in {} itself",
				   share_text(share), analysis.series, duration_text(share.other),
				   share.other_function);
	case Cause::quick:
		return fmt::format("{}, but no call took longer than {}: no stall in this trace",
				   share_text(share), duration_text(share.longest_cma));
	case Cause::other:
	case Cause::not_told:
		break;
	}
	const std::string longest =
		fmt::format("most time went to {} itself ({} of {} in {})", share.other_function,
			    duration_text(share.other), duration_text(share.total),
			    calls_text(share.calls, "populate"));
	if (share.cma_function.empty())
		return fmt::format("no CMA function was called by {}: not the CMA stall, no "
				   "series helps; {}",
				   calls_text(share.calls, "populate"), longest);
	return fmt::format("{}, never longer than {}: not the CMA stall, no series helps; {}",
			   share_text(share), duration_text(share.longest_cma), longest);
}

std::vector<std::string> absent_of(const CallTree &tree, const Analysis &analysis)
{
	std::vector<std::string> absent;
	std::uint64_t unfinished = 0;
	std::uint64_t partial = 0;

	for (const Call &call : tree.calls()) {
		unfinished += call.duration ? 0 : 1;
		partial += call.whole ? 0 : 1;
	}
	if (!analysis.populate)
		absent.emplace_back("share of populate: no finished populate in the trace");
	if (unfinished != 0)
		absent.push_back(fmt::format("duration of {}: the end is not in the trace",
					     calls_text(unfinished, "unfinished")));
	if (partial != 0)
		absent.push_back(
			fmt::format("what {} made: the beginning is not in the trace; left out of "
				    "the share",
				    calls_text(partial, "cut")));
	if (tree.nameless_ends() != 0)
		absent.push_back(fmt::format("function of {} line{} '}}': it began before the "
					     "trace",
					     tree.nameless_ends(),
					     tree.nameless_ends() == 1 ? "" : "s"));
	if (tree.lost() != 0)
		absent.push_back(fmt::format("{} events that the kernel lost: the buffer overran",
					     tree.lost()));
	else if (tree.gaps() != 0)
		absent.emplace_back("events that the kernel lost, it does not say how many");
	return absent;
}

std::string column(const std::optional<nanoseconds> &value)
{
	constexpr double nanoseconds_per_us = 1e3;

	return value ? fmt::format("{:.3f}",
				   static_cast<double>(value->count()) / nanoseconds_per_us)
		     : "-";
}

nlohmann::json number_or_null(const std::optional<nanoseconds> &value)
{
	return value ? nlohmann::json(value->count()) : nlohmann::json();
}

std::string_view name_of(Cause cause)
{
	constexpr std::array<std::string_view, 5> names = {"cma", "part", "quick", "other",
							   "not told"};

	return names.at(static_cast<std::size_t>(cause));
}

} // namespace

std::uint64_t PopulateShare::per_mille() const
{
	constexpr std::int64_t whole = 1000;

	return total.count() == 0 ? 0
				  : static_cast<std::uint64_t>(cma.count() * whole / total.count());
}

Analysis analyse(const CallTree &tree, const std::optional<std::string> &series)
{
	Analysis analysis;

	analysis.functions = figures(tree);
	analysis.populate = PopulateSums(tree).share();
	analysis.cause = cause_of(analysis.populate);
	analysis.series = series.value_or(series_of(tree.functions()));
	analysis.verdict = verdict_of(analysis);
	analysis.absent = absent_of(tree, analysis);
	return analysis;
}

std::string to_text(const Analysis &analysis)
{
	std::size_t width = std::string_view("function").size();
	std::string text;

	for (const FunctionFigures &function : analysis.functions)
		width = std::max(width, function.name.size());
	text += fmt::format("{:<{}} {:>7} {:>14} {:>12} {:>12}\n", "function", width, "calls",
			    "total us", "p50 us", "max us");
	for (const FunctionFigures &function : analysis.functions)
		text += fmt::format("{:<{}} {:>7} {:>14} {:>12} {:>12}\n", function.name, width,
				    function.calls, column(function.total), column(function.p50),
				    column(function.max));
	text += '\n';
	if (analysis.populate)
		text += fmt::format("populate: {}, in CMA {} ({}, {})\n",
				    duration_text(analysis.populate->total),
				    duration_text(analysis.populate->cma),
				    calls_text(analysis.populate->cma_calls, "CMA"),
				    percent_text(analysis.populate->per_mille()));
	for (const std::string &absent : analysis.absent)
		text += fmt::format("absent: {}\n", absent);
	return text + fmt::format("verdict: {}\n", analysis.verdict);
}

nlohmann::json to_json(const Analysis &analysis)
{
	nlohmann::json functions = nlohmann::json::array();
	nlohmann::json populate;

	for (const FunctionFigures &function : analysis.functions)
		functions.push_back({{"name", function.name},
				     {"calls", function.calls},
				     {"unfinished", function.unfinished},
				     {"total_ns", number_or_null(function.total)},
				     {"p50_ns", number_or_null(function.p50)},
				     {"max_ns", number_or_null(function.max)}});
	if (analysis.populate) {
		const PopulateShare &share = *analysis.populate;

		populate = {{"calls", share.calls},
			    {"total_ns", share.total.count()},
			    {"cma_ns", share.cma.count()},
			    {"cma_calls", share.cma_calls},
			    {"cma_max_ns", share.longest_cma.count()},
			    {"cma_per_mille", share.per_mille()},
			    {"cma_function", share.cma_function.empty()
						     ? nlohmann::json()
						     : nlohmann::json(share.cma_function)}};
	}
	return {{"format", "nocma-trace-1"},	    {"kind", "function_graph"},
		{"functions", functions},	    {"populate", populate},
		{"cause", name_of(analysis.cause)}, {"series", analysis.series},
		{"absent", analysis.absent},	    {"verdict", analysis.verdict}};
}

} // namespace nocma::trace

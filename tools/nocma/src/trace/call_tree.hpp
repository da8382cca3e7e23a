/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "trace/graph_line.hpp"

namespace nocma::trace
{

/* One call of a traced function. */
struct Call {
	static constexpr std::size_t none = SIZE_MAX;

	std::size_t function;	   /* index in CallTree::functions() */
	std::size_t parent = none; /* index in CallTree::calls(), smaller than its own */
	/* Nothing when the trace ends, or loses events, before the call does. */
	std::optional<std::chrono::nanoseconds> duration;
	/* False when it began before the trace: whom it called is not known. */
	bool whole = true;
};

/* The calls of a trace, who made them, and what is missing. */
class CallTree
{
public:
	void add(const GraphRecord &record);

	[[nodiscard]] const std::vector<Call> &calls() const noexcept { return calls_; }
	[[nodiscard]] const std::vector<std::string> &functions() const noexcept
	{
		return functions_;
	}

	/* Ends whose beginning is not in the trace and that carry no name. */
	[[nodiscard]] std::uint64_t nameless_ends() const noexcept { return nameless_ends_; }
	/* Times the buffer overran; events that the kernel counted. */
	[[nodiscard]] std::uint64_t gaps() const noexcept { return gaps_; }
	[[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }

private:
	/* Indices of the calls that have not returned, the outermost first. */
	using Stack = std::vector<std::size_t>;

	Stack &stack_of(const GraphRecord &record);
	void change_task(const GraphRecord &record);
	std::size_t begin(const GraphRecord &record, const Stack &stack);
	void end(const GraphRecord &record, Stack &stack);
	std::size_t intern(const std::string &name);

	std::vector<Call> calls_;
	std::vector<std::string> functions_;
	std::map<std::string, std::size_t, std::less<>> function_index_;
	std::map<std::string, Stack> stacks_;	      /* by task, or by CPU while it is unknown */
	std::map<unsigned int, std::string> running_; /* task on a CPU */
	std::uint64_t nameless_ends_ = 0;
	std::uint64_t gaps_ = 0;
	std::uint64_t lost_ = 0;
};

} // namespace nocma::trace

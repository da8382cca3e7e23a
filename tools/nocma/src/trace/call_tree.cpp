// SPDX-License-Identifier: GPL-2.0-only
#include "trace/call_tree.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace nocma::trace
{

namespace
{

/* Every CPU has an idle task, and all are called the same. */
std::string stack_name(const std::string &task, const std::optional<unsigned int> &cpu)
{
	if (!task.empty() && !task.starts_with("<idle>"))
		return task;
	return cpu ? fmt::format("{} on CPU {}", task, *cpu) : task;
}

} // namespace

std::size_t CallTree::intern(const std::string &name)
{
	const auto [entry, added] = function_index_.try_emplace(name, functions_.size());

	if (added)
		functions_.push_back(name);
	return entry->second;
}

CallTree::Stack &CallTree::stack_of(const GraphRecord &record)
{
	std::string task = record.task;

	if (task.empty() && record.cpu) {
		const auto running = running_.find(*record.cpu);

		if (running != running_.end())
			task = running->second;
	}
	return stacks_[stack_name(task, record.cpu)];
}

/* Who ran so far is only told at the first change: what is open belongs to that task. */
void CallTree::change_task(const GraphRecord &record)
{
	if (!record.cpu)
		return;
	const auto [running, first] = running_.try_emplace(*record.cpu, record.task);

	if (first) {
		Stack unknown = std::exchange(stacks_[stack_name("", record.cpu)], {});
		Stack &known = stacks_[stack_name(record.previous, record.cpu)];

		if (known.empty())
			known = std::move(unknown);
	}
	running->second = record.task;
}

std::size_t CallTree::begin(const GraphRecord &record, const Stack &stack)
{
	calls_.push_back({.function = intern(record.name),
			  .parent = stack.empty() ? Call::none : stack.back(),
			  .duration = record.duration});
	return calls_.size() - 1;
}

void CallTree::end(const GraphRecord &record, Stack &stack)
{
	if (record.name.empty()) {
		if (stack.empty()) {
			nameless_ends_++;
			return;
		}
		calls_[stack.back()].duration = record.duration;
		stack.pop_back();
		return;
	}

	const auto index = function_index_.find(record.name);
	const auto open = std::find_if(stack.rbegin(), stack.rend(), [&](std::size_t call) {
		return index != function_index_.end() && calls_[call].function == index->second;
	});
	if (open == stack.rend()) {
		/* It began before the trace did. */
		calls_[begin(record, {})].whole = false;
		return;
	}
	/* The ends of what it called, if still open, are missing. */
	calls_[*open].duration = record.duration;
	stack.erase(open.base() - 1, stack.end());
}

void CallTree::add(const GraphRecord &record)
{
	Stack &stack = stack_of(record);

	switch (record.kind) {
	case GraphRecord::Kind::enter:
		stack.push_back(begin(record, stack));
		break;
	case GraphRecord::Kind::leaf:
		begin(record, stack);
		break;
	case GraphRecord::Kind::exit:
		end(record, stack);
		break;
	case GraphRecord::Kind::change:
		change_task(record);
		break;
	case GraphRecord::Kind::lost:
		/* Beginnings and ends no longer match. */
		stack.clear();
		gaps_++;
		lost_ += record.lost;
		break;
	}
}

} // namespace nocma::trace

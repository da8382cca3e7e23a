// SPDX-License-Identifier: GPL-2.0-only
#include "guest/console.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace nocma::guest
{

namespace
{

/* Forms of kernel/panic.c, arch/x86/kernel/{traps,dumpstack}.c, arch/x86/mm/fault.c, watchdogs. */
constexpr std::array<std::string_view, 11> fatal_marks = {
	"Kernel panic - not syncing",
	"Oops:",
	"BUG: ",
	"kernel BUG at",
	"general protection fault",
	"divide error:",
	"invalid opcode:",
	"stack segment:",
	"Unable to handle kernel",
	"rcu: INFO: rcu_",
	"blocked for more than",
};

constexpr std::array<std::string_view, 4> warning_marks = {
	"WARNING: CPU:",
	"WARNING: possible",
	"unreferenced object",
	"refcount_t:",
};

template <std::size_t N>
bool contains_any(std::string_view line, const std::array<std::string_view, N> &marks)
{
	return std::any_of(marks.begin(), marks.end(), [line](std::string_view mark) {
		return line.find(mark) != std::string_view::npos;
	});
}

} // namespace

std::vector<std::string> LineReader::feed(std::string_view text)
{
	std::vector<std::string> lines;

	for (const char c : text) {
		if (c == '\n') {
			lines.push_back(std::move(rest_));
			rest_.clear();
		} else if (c != '\r') {
			rest_ += c;
		}
	}
	return lines;
}

void Console::feed(std::string_view text)
{
	for (const std::string &complete : reader_.feed(text))
		line(complete);
}

void Console::line(const std::string &text)
{
	if (!fatal_ && contains_any(text, fatal_marks))
		fatal_ = text;
	if (contains_any(text, warning_marks))
		warnings_.push_back(text);
	tail_.push_back(text);
	if (tail_.size() > tail_lines)
		tail_.pop_front();
}

std::string Console::tail() const
{
	std::string text;

	for (const std::string &line : tail_)
		text += fmt::format("  | {}\n", line);
	if (!reader_.rest().empty())
		text += fmt::format("  | {}\n", reader_.rest());
	return text.empty() ? "  | (the console stayed silent)\n" : text;
}

} // namespace nocma::guest

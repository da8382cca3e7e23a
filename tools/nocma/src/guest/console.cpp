// SPDX-License-Identifier: GPL-2.0-only
#include "guest/console.hpp"

#include <algorithm>
#include <array>
#include <cctype>

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
	"INFO: rcu_",
	"blocked for more than",
};

/*
 * kernel/panic.c ("WARNING: CPU: 0 PID: 1 at" up to 6.18, "WARNING: file.c:1 at" since), lockdep,
 * UBSAN. Only where a message begins: "Spectre V2 : WARNING: ..." speaks of the host's CPU.
 * Then SLUB, and the words with which a debug kernel stops watching: what it does not see any more
 * must not pass for good.
 */
constexpr std::array<std::string_view, 7> warning_marks = {
	"WARNING: ",
	"UBSAN: ",
	"BUG ",
	"INFO: lockdep is turned off",
	"INFO: trying to register non-static key",
	"DMA-API: debugging out of memory",
	"kmemleak: Kernel memory leak detector disabled",
};

/* Longer lines are cut when shown; the log has them whole. */
constexpr std::size_t shown_length = 300;

template <std::size_t N>
bool contains_any(std::string_view line, const std::array<std::string_view, N> &marks)
{
	return std::any_of(marks.begin(), marks.end(), [line](std::string_view mark) {
		return line.find(mark) != std::string_view::npos;
	});
}

template <std::size_t N>
bool starts_with_any(std::string_view line, const std::array<std::string_view, N> &marks)
{
	return std::any_of(marks.begin(), marks.end(),
			   [line](std::string_view mark) { return line.starts_with(mark); });
}

/* Without the time stamp, "[    1.000000] " or, with the caller, "[    1.000000][    T1] ". */
std::string_view message(std::string_view line)
{
	if (!line.starts_with('['))
		return line;
	const std::size_t end = line.find("] ");
	return end == std::string_view::npos ? line : line.substr(end + 2);
}

std::string shown(std::string_view line)
{
	std::string text(line.substr(0, shown_length));

	std::replace_if(
		text.begin(), text.end(),
		[](unsigned char c) { return std::iscntrl(c) != 0 && c != '\t'; }, '?');
	return fmt::format("  | {}{}\n", text, line.size() > shown_length ? " ..." : "");
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
	if (starts_with_any(message(text), warning_marks) && !is_known(text))
		warnings_.push_back(text);
	tail_.push_back(text);
	if (tail_.size() > tail_lines)
		tail_.pop_front();
}

/* "WARNING: CPU: 0 PID: 1 at function+0x56/0xb0 [module]"; older kernels name the file first. */
bool Console::is_known(const std::string &text) const
{
	return std::any_of(known_.begin(), known_.end(), [&text](const std::string &function) {
		return text.find(" " + function + "+0x") != std::string::npos;
	});
}

std::string Console::tail() const
{
	std::string text;

	for (const std::string &line : tail_)
		text += shown(line);
	if (!reader_.rest().empty())
		text += shown(reader_.rest());
	return text.empty() ? "  | (the console stayed silent)\n" : text;
}

} // namespace nocma::guest

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nocma::guest
{

/* Cuts a stream into lines, without the carriage returns a serial port adds. */
class LineReader
{
public:
	/* The lines that `text` completes. */
	std::vector<std::string> feed(std::string_view text);

	/* What came after the last end of line. */
	[[nodiscard]] const std::string &rest() const noexcept { return rest_; }

private:
	std::string rest_;
};

/* What a guest's kernel says of its own health, and the last lines of it. */
class Console
{
public:
	/* Lines shown when a guest ends badly. */
	static constexpr std::size_t tail_lines = 30;

	Console() = default;

	/* Warnings by these functions are known and left out. */
	explicit Console(std::vector<std::string> known) : known_(std::move(known)) {}

	void feed(std::string_view text);

	/* The first line that says the kernel cannot go on (panic, oops, lockup), if any. */
	[[nodiscard]] const std::optional<std::string> &fatal() const noexcept { return fatal_; }

	/* Lines that say the kernel found itself at fault and went on. */
	[[nodiscard]] const std::vector<std::string> &warnings() const noexcept
	{
		return warnings_;
	}

	/* The last lines, made fit for a terminal, each beginning with "  | ". */
	[[nodiscard]] std::string tail() const;

private:
	void line(const std::string &text);
	[[nodiscard]] bool is_known(const std::string &text) const;

	std::vector<std::string> known_;
	LineReader reader_;
	std::deque<std::string> tail_;
	std::optional<std::string> fatal_;
	std::vector<std::string> warnings_;
};

} // namespace nocma::guest

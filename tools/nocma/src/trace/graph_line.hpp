/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace nocma::trace
{

/* What one line of function_graph text says. */
struct GraphRecord {
	enum class Kind : std::uint8_t {
		enter,	/* name() { */
		leaf,	/* name(); */
		exit,	/* }, with a name when the kernel printed one */
		change, /* another task runs on the CPU */
		lost,	/* the buffer overran here */
	};

	Kind kind = Kind::leaf;
	std::optional<unsigned int> cpu;
	std::string task;     /* "comm-pid" if told; of a change: who runs now */
	std::string previous; /* of a change: who ran before */
	std::string name;     /* function, without its module */
	std::optional<std::chrono::nanoseconds> duration;
	std::uint64_t lost = 0; /* events; 0 if the kernel does not say how many */
};

/*
 * Reads a line of the tracer or of `trace-cmd report`, whatever columns were chosen, with or
 * without its indentation. Nothing for other lines: headers, comments, interrupt marks, prose.
 */
std::optional<GraphRecord> parse_graph_line(std::string_view line);

/*
 * The text's lines as the kernel printed them: without the carriage returns, the "> " of a reply
 * and the hard spaces that mail adds, and with lines joined again that a mail program wrapped.
 */
std::vector<std::string> unfold_graph_text(std::string_view text);

} // namespace nocma::trace

// SPDX-License-Identifier: GPL-2.0-only
#include "trace/input.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "trace/graph_line.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::trace
{

namespace
{

/* First bytes of trace-cmd's trace.dat. */
constexpr std::string_view trace_dat = "\x17\x08"
				       "Dtracing";

bool has_duration(const CallTree &tree)
{
	return std::any_of(tree.calls().begin(), tree.calls().end(),
			   [](const Call &call) { return call.duration.has_value(); });
}

/* "# tracer: function" -> "function" */
std::string tracer_of(std::string_view text)
{
	constexpr std::string_view label = "# tracer: ";
	const std::size_t at = text.find(label);

	if (at == std::string_view::npos)
		return "";
	text.remove_prefix(at + label.size());
	return std::string(trim(text.substr(0, text.find('\n'))));
}

std::string complaint(std::string_view text)
{
	constexpr std::string_view hint = "record with nocma trace --live SECONDS, or with "
					  "function_graph in current_tracer";

	if (trim(text).empty())
		return fmt::format("empty: {}", hint);
	if (text.starts_with(trace_dat))
		return "trace-cmd's own format: run trace-cmd report on it and pass the text";
	const std::string tracer = tracer_of(text);

	if (tracer == "function_graph")
		return fmt::format("function_graph without one call that has a duration: {}", hint);
	if (!tracer.empty())
		return fmt::format("text of the tracer {}, which has no durations: {}", tracer,
				   hint);
	return fmt::format("neither function_graph text nor a kernel log: {}", hint);
}

} // namespace

CallTree read_calls(std::string_view text)
{
	CallTree tree;

	for (const std::string &line : unfold_graph_text(text))
		if (const std::optional<GraphRecord> record = parse_graph_line(line))
			tree.add(*record);
	return tree;
}

Input read_input(std::string_view text, std::string_view name)
{
	CallTree tree = read_calls(text);

	if (has_duration(tree))
		return tree;
	KernelLog log = parse_kernel_log(text);

	/* Other tracers' lines have times in brackets, too. */
	if (log.findings.empty() && (log.lines == 0 || !tracer_of(text).empty()))
		throw Error(fmt::format("{}: {}", name, complaint(text)));
	return log;
}

} // namespace nocma::trace

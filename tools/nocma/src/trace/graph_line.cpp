// SPDX-License-Identifier: GPL-2.0-only
#include "trace/graph_line.hpp"

#include <algorithm>

#include "util/file.hpp"
#include "util/number.hpp"

namespace nocma::trace
{

namespace
{

using std::chrono::nanoseconds;

constexpr std::string_view digits = "0123456789";

/* Time marks of the overhead column, from 10 us to 1 s. */
constexpr std::string_view marks = "+!#*@$";

/* Kernel text wraps into few lines; more would be somebody's prose. */
constexpr int most_continuations = 3;

bool all_of(std::string_view text, std::string_view allowed)
{
	return !text.empty() && text.find_first_not_of(allowed) == std::string_view::npos;
}

std::vector<std::string_view> words(std::string_view text)
{
	std::vector<std::string_view> result;

	for (;;) {
		text = trim(text);
		if (text.empty())
			return result;
		const std::size_t end = std::min(text.find_first_of(" \t"), text.size());

		result.push_back(text.substr(0, end));
		text.remove_prefix(end);
	}
}

/* "1873.071", microseconds; the kernel leaves the fraction out from 10 s on. */
std::optional<nanoseconds> microseconds(std::string_view text)
{
	constexpr std::size_t longest = 12; /* digits: 11 days */
	constexpr std::uint64_t scale = 1000;
	const std::size_t point = std::min(text.find('.'), text.size());
	std::string fraction(text.substr(std::min(point + 1, text.size())));
	const std::optional<std::uint64_t> whole = parse_number(text.substr(0, point));

	fraction.resize(3, '0');
	const std::optional<std::uint64_t> rest = parse_number(fraction);
	if (point > longest || !whole || !rest)
		return std::nullopt;
	return nanoseconds(*whole * scale + *rest);
}

/* "comm-pid" */
bool is_task(std::string_view text)
{
	const std::size_t dash = text.rfind('-');

	return dash != std::string_view::npos && dash > 0 && all_of(text.substr(dash + 1), digits);
}

/* "d..1." of the latency format. */
bool is_flags(std::string_view text)
{
	return text.size() >= 4 && text.size() <= 7 && all_of(text, "dDbBnNpPhHsSzZiIX.0123456789");
}

/* What stands before the function. */
struct Prefix {
	std::optional<unsigned int> cpu;
	std::string task;
	std::optional<nanoseconds> duration;
	unsigned int columns = 0;  /* ended by '|' */
	std::string_view function; /* the rest of the line */
};

/* "1)" */
std::optional<unsigned int> cpu_of(std::string_view word)
{
	constexpr std::uint64_t most_cpus = 1U << 16U;

	if (!word.ends_with(')'))
		return std::nullopt;
	const std::optional<std::uint64_t> value = parse_number(word.substr(0, word.size() - 1));

	if (!value || *value > most_cpus)
		return std::nullopt;
	return static_cast<unsigned int>(*value);
}

/* One column: any of CPU, task, flags, time, mark and duration. False: it is none. */
bool read_column(std::string_view column, Prefix &prefix)
{
	std::string task;

	for (std::string_view word : words(column)) {
		if (const std::optional<unsigned int> cpu = cpu_of(word)) {
			prefix.cpu = cpu;
			continue;
		}
		if (marks.find(word.front()) != std::string_view::npos)
			word.remove_prefix(1);
		if (word.ends_with("us"))
			word.remove_suffix(2);
		if (const std::optional<nanoseconds> time = microseconds(word)) {
			prefix.duration = time;
			continue;
		}
		if (word.empty() || is_flags(word))
			continue;
		task += task.empty() ? "" : " ";
		task += word;
	}
	if (!task.empty() && !is_task(task))
		return false;
	if (!task.empty())
		prefix.task = task;
	return true;
}

Prefix read_prefix(std::string_view line)
{
	Prefix prefix;

	for (;;) {
		const std::size_t bar = line.find('|');

		/* An absolute time has a column, too: the duration is in the last one. */
		prefix.function = line;
		if (bar == std::string_view::npos)
			return prefix;
		Prefix next = prefix;

		next.duration.reset();
		if (!read_column(line.substr(0, bar), next))
			return prefix;
		prefix = next;
		prefix.columns++;
		line.remove_prefix(bar + 1);
	}
}

/* "name [module]" -> "name"; nothing if it is no function's name. */
std::string_view function_name(std::string_view text)
{
	constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz"
					     "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
					     "0123456789_.$";

	text = trim(text);
	if (text.ends_with(']'))
		text = trim(text.substr(0, text.rfind('[')));
	return all_of(text, letters) ? text : std::string_view();
}

std::string_view without_comment(std::string_view text)
{
	text = trim(text);
	if (text.ends_with("*/"))
		text = trim(text.substr(0, text.rfind("/*")));
	return text;
}

/* The name in the comment behind a brace, where a module or a result may follow it. */
std::string_view exit_name(std::string_view text)
{
	const std::size_t comment = text.find("/*");

	if (comment == std::string_view::npos)
		return {};
	text = trim(text.substr(comment + 2));
	return function_name(text.substr(0, text.find_first_of(" (*")));
}

bool read_function(std::string_view text, GraphRecord &record)
{
	text = trim(text);
	if (text.starts_with('}')) {
		record.kind = GraphRecord::Kind::exit;
		record.name = exit_name(text);
		return true;
	}

	const std::size_t parenthesis = text.find('(');
	if (parenthesis == std::string_view::npos)
		return false;
	record.name = function_name(text.substr(0, parenthesis));
	text = without_comment(text);
	record.kind = text.ends_with('{') ? GraphRecord::Kind::enter : GraphRecord::Kind::leaf;
	return !record.name.empty() && (text.ends_with('{') || text.ends_with(';'));
}

/* " 1)  radeon-77  =>  nocma-123" */
std::optional<GraphRecord> read_change(std::string_view line)
{
	const std::size_t arrow = line.find(" => ");

	if (arrow == std::string_view::npos)
		return std::nullopt;
	GraphRecord record;
	Prefix before;
	Prefix after;

	record.kind = GraphRecord::Kind::change;
	if (!read_column(line.substr(0, arrow), before) ||
	    !read_column(line.substr(arrow + 4), after) || before.task.empty() ||
	    after.task.empty())
		return std::nullopt;
	record.cpu = before.cpu;
	record.previous = before.task;
	record.task = after.task;
	return record;
}

/* "CPU:1 [LOST 123 EVENTS]" */
std::optional<GraphRecord> read_lost(std::string_view line)
{
	const std::vector<std::string_view> parts = words(line);

	if (parts.size() < 3 || !parts[0].starts_with("CPU:") || parts[1] != "[LOST")
		return std::nullopt;
	const std::optional<std::uint64_t> cpu = parse_number(parts[0].substr(4));
	GraphRecord record;

	record.kind = GraphRecord::Kind::lost;
	if (cpu)
		record.cpu = static_cast<unsigned int>(*cpu);
	record.lost = parse_number(parts[2]).value_or(0);
	return record;
}

/*
 * trace-cmd report: "comm-pid [001] 12.345678: funcgraph_entry:  + 12.1 us | ...". Leaves the
 * tracer's own columns in `line`.
 */
void read_event_header(std::string_view &line, GraphRecord &record)
{
	const std::size_t event = line.find(": funcgraph_");

	if (event == std::string_view::npos)
		return;
	const std::string_view header = line.substr(0, event);
	const std::size_t bracket = header.find('[');

	if (bracket == std::string_view::npos)
		return;
	const std::string_view task = trim(header.substr(0, bracket));

	if (is_task(task))
		record.task = task;
	const std::string_view cpu =
		header.substr(bracket + 1, header.find(']', bracket) - bracket - 1);
	if (const std::optional<std::uint64_t> value = parse_number(cpu))
		record.cpu = static_cast<unsigned int>(*value);
	line.remove_prefix(std::min(line.find(':', event + 2), line.size() - 1) + 1);
}

/* A reply's marks; hard spaces and tabs become spaces. */
std::string without_mail(std::string_view line)
{
	std::string text;

	for (std::size_t i = 0; i < line.size(); i++) {
		if (line.substr(i).starts_with("\xc2\xa0")) {
			text += ' ';
			i++;
		} else if (line[i] == '\t') {
			text += ' ';
		} else if (line[i] != '\r') {
			text += line[i];
		}
	}
	for (;;) {
		const std::size_t begin = text.find_first_not_of(' ');

		if (begin == std::string::npos || text[begin] != '>')
			return text;
		text.erase(0, begin + 1);
	}
}

/* Only the tracer begins a line so. */
bool begins_with_cpu(std::string_view line)
{
	const std::vector<std::string_view> parts = words(line);

	return !parts.empty() && cpu_of(parts.front());
}

bool begins_record(std::string_view line)
{
	return begins_with_cpu(line) || read_prefix(line).columns > 0 ||
	       line.find(": funcgraph_") != std::string_view::npos;
}

/* The next line may be the rest of this one. */
bool wants_more(std::string_view line)
{
	if (!begins_record(line) || parse_graph_line(line))
		return false;
	const std::string_view function = trim(read_prefix(line).function);

	/* A comment or the mark of an interrupt. */
	return !(function.starts_with("/*") && function.ends_with("*/")) &&
	       line.find("=====") == std::string_view::npos;
}

/* With the columns still to come, "| name();" is a rest as well. */
bool continues(std::string_view line, std::string_view rest)
{
	if (trim(rest).empty() || begins_with_cpu(rest))
		return false;
	return read_prefix(line).columns == 0 || !begins_record(rest);
}

} // namespace

std::optional<GraphRecord> parse_graph_line(std::string_view line)
{
	if (std::optional<GraphRecord> lost = read_lost(line))
		return lost;

	GraphRecord record;
	read_event_header(line, record);
	const Prefix prefix = read_prefix(line);

	if (prefix.columns == 0)
		return read_change(line);
	if (!read_function(prefix.function, record))
		return std::nullopt;
	if (prefix.cpu)
		record.cpu = prefix.cpu;
	if (!prefix.task.empty())
		record.task = prefix.task;
	if (record.kind != GraphRecord::Kind::enter)
		record.duration = prefix.duration;
	return record;
}

std::vector<std::string> unfold_graph_text(std::string_view text)
{
	std::vector<std::string> lines;
	int continuations = 0;

	for (const std::string &raw : split_lines(text)) {
		std::string line = without_mail(raw);

		if (!lines.empty() && continuations < most_continuations &&
		    wants_more(lines.back()) && continues(lines.back(), line)) {
			lines.back() += ' ';
			lines.back() += line;
			continuations++;
			continue;
		}
		lines.push_back(std::move(line));
		continuations = 0;
	}
	return lines;
}

} // namespace nocma::trace

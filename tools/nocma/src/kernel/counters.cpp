// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/counters.hpp"

#include <charconv>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

/* The number at the start of the text, which is moved behind it. */
std::uint64_t take_number(std::string_view &text, std::string_view file, std::string_view line)
{
	std::uint64_t value = 0;
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc())
		throw Error(fmt::format("{}: no number in line '{}'", file, line));
	text.remove_prefix(static_cast<std::size_t>(end - text.data()));
	return value;
}

void refresh_statistics(const std::filesystem::path &proc)
{
	try {
		write_existing(proc / "sys/vm/stat_refresh", "1\n");
	} catch (const SystemError &) {
		/* Not root, or a kernel before 4.7: the counters then lag, they do not lie. */
	}
}

} // namespace

Counters parse_meminfo(std::string_view text)
{
	Counters counters;

	for (const std::string &line : split_lines(text)) {
		const std::size_t colon = line.find(':');

		if (colon == std::string::npos)
			continue;
		std::string_view rest = trim(std::string_view(line).substr(colon + 1));
		const std::uint64_t value = take_number(rest, "meminfo", line);

		counters[line.substr(0, colon)] = trim(rest) == "kB" ? value * 1024 : value;
	}
	return counters;
}

Counters parse_vmstat(std::string_view text)
{
	Counters counters;

	for (const std::string &line : split_lines(text)) {
		const std::size_t blank = line.find(' ');

		if (blank == std::string::npos)
			continue;
		std::string_view rest = std::string_view(line).substr(blank + 1);
		counters[line.substr(0, blank)] = take_number(rest, "vmstat", line);
	}
	return counters;
}

Counters read_meminfo(const std::filesystem::path &proc)
{
	refresh_statistics(proc);
	return parse_meminfo(read_file(proc / "meminfo"));
}

Counters read_vmstat(const std::filesystem::path &proc)
{
	refresh_statistics(proc);
	return parse_vmstat(read_file(proc / "vmstat"));
}

std::uint64_t parse_per_cpu_pages(std::string_view zoneinfo)
{
	constexpr std::string_view label = "count:";
	std::uint64_t pages = 0;

	for (const std::string &line : split_lines(zoneinfo)) {
		std::string_view text = trim(line);

		if (!text.starts_with(label))
			continue;
		text = trim(text.substr(label.size()));
		pages += take_number(text, "zoneinfo", line);
	}
	return pages;
}

std::optional<std::uint64_t> find_counter(const Counters &counters, std::string_view name)
{
	const auto found = counters.find(name);

	return found == counters.end() ? std::nullopt : std::optional(found->second);
}

std::map<std::string, std::int64_t, std::less<>> counter_deltas(const Counters &before,
								const Counters &after)
{
	std::map<std::string, std::int64_t, std::less<>> deltas;

	for (const auto &[name, value] : after) {
		const std::optional<std::uint64_t> start = find_counter(before, name);

		if (start)
			deltas[name] = static_cast<std::int64_t>(value - *start);
	}
	return deltas;
}

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "trace/kernel_log.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "util/file.hpp"

namespace nocma::trace
{

namespace
{

/* A bounce buffer is at most 128 slots of 2 KiB long (IO_TLB_SEGSIZE, IO_TLB_SHIFT). */
constexpr std::uint64_t swiotlb_slot = 2048;
constexpr std::uint64_t swiotlb_longest = 128 * swiotlb_slot;

constexpr std::uint64_t page_bytes = 4096;
constexpr std::uint64_t mib = 1U << 20U;

struct Line {
	Finding finding;
	std::string source;
};

bool contains(std::string_view text, std::string_view part)
{
	return text.find(part) != std::string_view::npos;
}

std::optional<std::int64_t> number_after(std::string_view text, std::string_view label)
{
	const std::size_t at = text.find(label);
	std::int64_t value = 0;

	if (at == std::string_view::npos)
		return std::nullopt;
	text = trim(text.substr(at + label.size()));
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
	return error == std::errc() ? std::optional(value) : std::nullopt;
}

/* "[   12.345678] " at the start of dmesg's lines, wherever a logger has put it. */
std::size_t end_of_time(std::string_view line)
{
	const std::size_t open = line.find('[');
	const std::size_t close = line.find(']', std::min(open, line.size()));

	if (close == std::string_view::npos)
		return 0;
	const std::string_view time = trim(line.substr(open + 1, close - open - 1));
	const bool is_time = !time.empty() && contains(time, ".") &&
			     time.find_first_not_of("0123456789.") == std::string_view::npos;

	return is_time ? close + 1 : 0;
}

/* The message: without time, host, level, and a reply's marks. */
std::string_view message_of(std::string_view line)
{
	constexpr std::string_view logger = " kernel: ";
	const std::size_t kernel = line.find(logger);

	if (kernel != std::string_view::npos)
		line.remove_prefix(kernel + logger.size());
	line.remove_prefix(end_of_time(line));
	line = trim(line);
	while (line.starts_with('>'))
		line = trim(line.substr(1));
	if (line.starts_with('<') && line.find('>') < 4)
		line.remove_prefix(line.find('>') + 1);
	line.remove_prefix(end_of_time(line));
	return trim(line);
}

bool looks_like_log(std::string_view line)
{
	return contains(line, " kernel: ") || end_of_time(line) != 0;
}

/* "nouveau 0000:01:00.0: text" -> "nouveau 0000:01:00.0" */
std::string device_of(std::string_view message)
{
	return std::string(message.substr(0, message.find(": ")));
}

/* "cma: cma_alloc: AREA: alloc failed": kernels before 5.13 do not name the area. */
std::string area_of(std::string_view message)
{
	const std::string_view before = message.substr(0, message.find(": alloc failed"));
	const std::vector<std::string> parts = split(before, ':');

	return parts.size() >= 3 ? std::string(trim(parts.back())) : "";
}

Finding swiotlb_finding(std::string_view message)
{
	const std::optional<std::int64_t> size = number_after(message, "(sz:");
	const std::optional<std::int64_t> total = number_after(message, "total");
	const std::optional<std::int64_t> used = number_after(message, "used");

	if (size && static_cast<std::uint64_t>(*size) > swiotlb_longest)
		return Finding::swiotlb_too_big;
	if (!size || !total || !used)
		return Finding::swiotlb_full;
	const std::uint64_t wanted =
		(static_cast<std::uint64_t>(*size) + swiotlb_slot - 1) / swiotlb_slot;
	const std::int64_t free = *total - *used;

	return free < 0 || static_cast<std::uint64_t>(free) < wanted ? Finding::swiotlb_exhausted
								     : Finding::swiotlb_fragmented;
}

/* `largest_area` in bytes, if the log tells what was reserved. */
Finding cma_finding(std::string_view message, std::optional<std::uint64_t> largest_area)
{
	const std::optional<std::int64_t> pages = number_after(message, "req-size:");
	const std::optional<std::int64_t> error = number_after(message, "ret:");

	if (pages && largest_area &&
	    static_cast<std::uint64_t>(*pages) * page_bytes > *largest_area)
		return Finding::cma_too_big;
	if (error == -EBUSY)
		return Finding::cma_busy;
	return error == -ENOMEM ? Finding::cma_exhausted : Finding::cma_failed;
}

std::optional<Line> read_line(std::string_view message, std::optional<std::uint64_t> largest_area)
{
	if (contains(message, "PFNs busy"))
		return Line{Finding::busy_range, device_of(message)};
	if (contains(message, "alloc failed, req-size:"))
		return Line{cma_finding(message, largest_area), area_of(message)};
	if (contains(message, "swiotlb buffer is full"))
		return Line{swiotlb_finding(message), device_of(message)};
	if (message.starts_with("tmpfs: ") && contains(message, "'huge'"))
		return Line{Finding::tmpfs_no_huge, ""};
	if (contains(message, "Transparent Hugepage support is recommended"))
		return Line{Finding::huge_advised, device_of(message)};
	if (contains(message, "Using Transparent Hugepages") ||
	    contains(message, "Transparent Hugepage mode 'huge=within_size'"))
		return Line{Finding::huge_in_use, device_of(message)};
	return std::nullopt;
}

/* The largest "cma: Reserved 16 MiB at ..." of the boot. */
std::optional<std::uint64_t> largest_area(const std::vector<std::string> &lines)
{
	std::optional<std::uint64_t> largest;

	for (const std::string &line : lines) {
		const std::optional<std::int64_t> size = contains(line, "cma: Reserved")
								 ? number_after(line, "Reserved")
								 : std::nullopt;

		if (size && *size > 0)
			largest = std::max(largest.value_or(0),
					   static_cast<std::uint64_t>(*size) * mib);
	}
	return largest;
}

std::string_view name_of(Finding finding)
{
	constexpr std::array<std::string_view, 12> names = {
		"cma busy range",    "cma busy sweep",
		"cma exhausted",     "cma too big",
		"cma failed",	     "swiotlb too big",
		"swiotlb exhausted", "swiotlb fragmented",
		"swiotlb full",	     "tmpfs without huge pages",
		"huge pages in use", "huge pages advised"};

	return names.at(static_cast<std::size_t>(finding));
}

void add_cma_verdicts(const KernelLog &log, std::vector<std::string> &result)
{
	if (log.has(Finding::cma_busy))
		result.emplace_back(
			"CMA, busy sweep: range after range was tried and given up because pages "
			"in it are pinned, until none was left; the series keeps TTM from asking");
	else if (log.has(Finding::busy_range))
		result.emplace_back(
			"CMA, busy sweep: ranges with pinned pages were tried and given up, each "
			"of them costs a migration; the series keeps TTM from asking");
	if (log.has(Finding::cma_exhausted))
		result.emplace_back(
			"CMA, exhausted: no free range of that length is left in the area; this "
			"fails fast, the stall is not here");
	if (log.has(Finding::cma_too_big))
		result.emplace_back("CMA, too big: more was asked for than the area has; no "
				    "amount of free memory helps, a larger cma= does");
	if (log.has(Finding::cma_failed))
		result.emplace_back("CMA, failed for another reason: see the number behind ret");
}

void add_swiotlb_verdicts(const KernelLog &log, std::vector<std::string> &result)
{
	if (log.has(Finding::swiotlb_too_big))
		result.emplace_back(
			"swiotlb, too big: a bounce buffer holds 256 KiB at most, however many "
			"are free; not exhausted, and no larger swiotlb= helps");
	if (log.has(Finding::swiotlb_exhausted))
		result.emplace_back("swiotlb, exhausted: fewer slots are free than were asked "
				    "for; a larger swiotlb= helps");
	if (log.has(Finding::swiotlb_fragmented))
		result.emplace_back("swiotlb, fragmented: enough slots are free, but not in one "
				    "run");
	if (log.has(Finding::swiotlb_full))
		result.emplace_back("swiotlb, full: this kernel does not print how many slots "
				    "are in use, so exhausted or fragmented");
}

void add_huge_verdicts(const KernelLog &log, std::vector<std::string> &result)
{
	if (log.has(Finding::tmpfs_no_huge))
		result.emplace_back("huge pages: tmpfs does not take huge=, this kernel or CPU "
				    "has no transparent huge pages");
	for (const FindingCount &count : log.findings) {
		const bool in_use = count.finding == Finding::huge_in_use;

		if (!in_use && count.finding != Finding::huge_advised)
			continue;
		result.push_back(fmt::format(
			"huge pages: {} {}", count.source,
			in_use ? "mounted its memory with them; that it got some is told by "
				 "ShmemHugePages, not by this line"
			       : "would use them, but this kernel was built without"));
	}
}

} // namespace

bool KernelLog::has(Finding finding) const
{
	return std::any_of(findings.begin(), findings.end(), [finding](const FindingCount &count) {
		return count.finding == finding;
	});
}

KernelLog parse_kernel_log(std::string_view text)
{
	const std::vector<std::string> lines = split_lines(text);
	const std::optional<std::uint64_t> area = largest_area(lines);
	KernelLog log;

	for (const std::string &line : lines) {
		const std::string_view message = message_of(line);
		const std::optional<Line> found = read_line(message, area);

		if (found || looks_like_log(line))
			log.lines++;
		if (!found)
			continue;
		const auto same = std::find_if(log.findings.begin(), log.findings.end(),
					       [&](const FindingCount &count) {
						       return count.finding == found->finding &&
							      count.source == found->source;
					       });
		if (same != log.findings.end())
			same->lines++;
		else
			log.findings.push_back({.finding = found->finding,
						.source = found->source,
						.lines = 1,
						.example = std::string(message)});
	}
	return log;
}

std::vector<std::string> verdicts(const KernelLog &log)
{
	std::vector<std::string> result;

	add_cma_verdicts(log, result);
	add_swiotlb_verdicts(log, result);
	add_huge_verdicts(log, result);
	if (result.empty())
		result.emplace_back("nothing about CMA, swiotlb or huge pages in this log; what "
				    "stalls without a message is seen by nocma trace --live");
	return result;
}

std::string to_text(const KernelLog &log)
{
	std::string text;

	for (const FindingCount &count : log.findings)
		text += fmt::format("{:>7} {:<24} {}\n", count.lines, name_of(count.finding),
				    count.example);
	for (const std::string &verdict : verdicts(log))
		text += fmt::format("verdict: {}\n", verdict);
	return text;
}

nlohmann::json to_json(const KernelLog &log)
{
	nlohmann::json findings = nlohmann::json::array();

	for (const FindingCount &count : log.findings)
		findings.push_back({{"finding", name_of(count.finding)},
				    {"source", count.source},
				    {"lines", count.lines},
				    {"example", count.example}});
	return {{"format", "nocma-trace-1"},
		{"kind", "kernel_log"},
		{"lines", log.lines},
		{"findings", findings},
		{"verdicts", verdicts(log)}};
}

} // namespace nocma::trace

// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ttm_pool.hpp"

#include <charconv>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

constexpr std::string_view needed = "no debugfs, no root, or no device of TTM's";

std::optional<std::uint64_t> parse_count(std::string_view text)
{
	std::uint64_t value = 0;
	const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);

	if (error != std::errc())
		return std::nullopt;
	return value;
}

/* The last of the first numbers in a line that stand side by side. */
std::optional<std::uint64_t> last_of_numbers(const std::string &line)
{
	std::istringstream words(line);
	std::optional<std::uint64_t> last;

	for (std::string word; words >> word;) {
		const bool number = word.find_first_not_of("0123456789") == std::string::npos;

		if (number)
			last = parse_count(word);
		else if (last)
			break;
	}
	return last;
}

/* Drivers show the pools' table among their own files. */
std::optional<std::filesystem::path> find_old_table(const std::filesystem::path &debugfs)
{
	std::error_code none;

	for (const std::filesystem::directory_entry &minor :
	     std::filesystem::directory_iterator(debugfs / "dri", none))
		for (const char *const name : {"ttm_dma_page_pool", "vttm_page_pool"})
			if (try_read_file(minor.path() / name))
				return minor.path() / name;
	return std::nullopt;
}

} // namespace

std::uint64_t parse_pool_total(std::string_view table)
{
	std::optional<std::uint64_t> pages;

	for (const std::string &line : split_lines(table)) {
		if (!line.starts_with("total"))
			continue;
		const std::optional<std::uint64_t> value =
			parse_count(trim(std::string_view(line).substr(line.find(':') + 1)));

		if (value)
			pages = pages.value_or(0) + *value;
	}
	if (!pages)
		throw Error("ttm/page_pool: no line 'total : N of M'");
	return *pages;
}

std::uint64_t parse_old_pools(std::string_view table)
{
	std::uint64_t pages = 0;

	for (const std::string &line : split_lines(table))
		pages += last_of_numbers(line).value_or(0);
	return pages;
}

ColdPool::ColdPool(const std::filesystem::path &debugfs, const std::filesystem::path &proc)
	: table_(debugfs / "ttm/page_pool"), shrinker_(debugfs / "ttm/page_pool_shrink")
{
	const std::filesystem::path size = parameter_file("ttm", "page_pool_size");
	std::error_code missing;

	if (!try_read_file(table_)) {
		const std::optional<std::filesystem::path> table = find_old_table(debugfs);

		if (!table)
			throw SkipError(
				fmt::format("{}: not readable: {}", table_.native(), needed));
		old_ = true;
		table_ = *table;
		shrinker_ = proc / "sys/vm/drop_caches";
	}
	if (std::filesystem::exists(size, missing))
		size_ = std::make_unique<SavedParameter>(size, "0");
}

std::uint64_t ColdPool::pages() const
{
	const std::string table = read_file(table_);

	return old_ ? parse_old_pools(table) : parse_pool_total(table);
}

void ColdPool::shrink() const
{
	if (old_)
		write_existing(shrinker_, "2");
	else
		read_file(shrinker_);
}

void ColdPool::drain() const
{
	/* One step frees a chunk or more; pages in use elsewhere may make a few of them futile. */
	constexpr int most_futile_steps = 1000;
	std::uint64_t left = pages();

	for (int futile = 0; left != 0; futile++) {
		if (futile == most_futile_steps)
			throw Error(fmt::format("{}: {} times of {} leave {} pages",
						table_.native(), futile, shrinker_.native(), left));
		shrink();
		const std::uint64_t now = pages();
		if (now < left)
			futile = 0;
		left = now;
	}
}

} // namespace nocma

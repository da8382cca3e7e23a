// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/ttm_pool.hpp"

#include <charconv>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma
{

std::uint64_t parse_pool_total(std::string_view table)
{
	for (const std::string &line : split_lines(table)) {
		if (!line.starts_with("total"))
			continue;
		const std::string_view value =
			trim(std::string_view(line).substr(line.find(':') + 1));
		std::uint64_t pages = 0;
		const auto [end, error] =
			std::from_chars(value.data(), value.data() + value.size(), pages);

		if (error == std::errc())
			return pages;
	}
	throw Error("ttm/page_pool: no line 'total : N of M'");
}

ColdPool::ColdPool(const std::filesystem::path &debugfs) : folder_(debugfs / "ttm")
{
	const std::filesystem::path size = parameter_file("ttm", "page_pool_size");
	std::error_code missing;

	if (!try_read_file(folder_ / "page_pool"))
		throw SkipError(fmt::format("{}: not readable: no debugfs, no root, or a kernel "
					    "before 5.11",
					    (folder_ / "page_pool").native()));
	if (std::filesystem::exists(size, missing))
		size_ = std::make_unique<SavedParameter>(size, "0");
}

std::uint64_t ColdPool::pages() const
{
	return parse_pool_total(read_file(folder_ / "page_pool"));
}

void ColdPool::drain() const
{
	/* A read frees a chunk or more; pages in use elsewhere may make a few of them futile. */
	constexpr int most_futile_reads = 1000;
	std::uint64_t left = pages();

	for (int futile = 0; left != 0; futile++) {
		if (futile == most_futile_reads)
			throw Error(fmt::format("{}: {} reads of page_pool_shrink leave {} pages",
						(folder_ / "page_pool").native(), futile, left));
		read_file(folder_ / "page_pool_shrink");
		const std::uint64_t now = pages();
		if (now < left)
			futile = 0;
		left = now;
	}
}

} // namespace nocma

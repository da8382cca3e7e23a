/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "util/fd.hpp"

namespace nocma
{

/* Page frame number of a /proc/PID/pagemap entry; nothing when the page is not in memory. */
std::optional<std::uint64_t> pagemap_pfn(std::uint64_t entry) noexcept;

/* Which page frames the pages of our own memory are in. Needs CAP_SYS_ADMIN. */
class Pagemap
{
public:
	/* Throws SkipError without CONFIG_PROC_PAGE_MONITOR or without the privilege. */
	Pagemap();

	/* One element per page of the memory, which is page-aligned. */
	[[nodiscard]] std::vector<std::optional<std::uint64_t>>
	lookup(std::span<const std::byte> memory) const;

private:
	UniqueFd fd_;
};

std::size_t page_size();

} // namespace nocma

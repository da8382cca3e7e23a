/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/cma.hpp"
#include "kernel/pagemap.hpp"
#include "pressure/pressure.hpp"
#include "util/fd.hpp"
#include "util/mapping.hpp"
#include "util/process.hpp"

namespace nocma
{

/* Every so many pages of ours in the area is pinned in the mode `pinned`, on average. */
constexpr std::uint64_t pinned_stride = 7;

/* Whether the page in that frame is one of those to pin: by frame, so it is reproducible. */
bool choose_pinned(std::uint64_t pfn, std::uint64_t seed, std::uint64_t stride) noexcept;

/* Anonymous memory, mapped but not populated, without huge pages. */
class AnonymousMemory
{
public:
	explicit AnonymousMemory(std::size_t bytes);

	[[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_.bytes(); }

	/* Makes the kernel put pages there, in one go where it can (Linux 5.14). */
	void populate(std::size_t first_page, std::size_t pages) const;

	/* Gives the pages back to the kernel; the next touch gets others. */
	void release(std::size_t first_page, std::size_t pages) const;

private:
	Mapping memory_;
};

/* Holds references to pages by having them in pipes: they cannot be migrated meanwhile. */
class PagePins
{
public:
	void pin(const std::vector<std::byte *> &pages);

private:
	std::vector<Pipe> pipes_;
};

/*
 * Fills memory with anonymous pages until they fill the CMA areas, then gives back those that
 * are elsewhere: user pages sit in the areas, and normal memory is free to migrate them to and
 * to fall back on. With a stride, every so many of them is pinned too.
 *
 * Without an area, the upper half of memory by page frame takes its place, so that the same
 * load can be compared.
 */
class UserPages : public Pressure
{
public:
	UserPages(std::uint64_t seed, std::uint64_t stride);

	Effect apply() override;

private:
	void fill();
	void keep_area();
	void pin_chosen();
	void find_substitute_area(const std::vector<std::optional<std::uint64_t>> &frames);
	[[nodiscard]] bool in_area(std::uint64_t pfn) const noexcept;
	[[nodiscard]] Effect measure() const;

	std::uint64_t seed_;
	std::uint64_t stride_; /* 0: pin nothing */
	Pagemap pagemap_;
	CmaState cma_;
	std::vector<CmaArea> areas_;
	AnonymousMemory memory_;
	std::vector<bool> touched_;
	std::vector<bool> pinned_;
	std::uint64_t pages_in_area_ = 0;
	std::uint64_t pages_pinned_ = 0;
	PagePins pins_; /* released before the memory */
};

} // namespace nocma

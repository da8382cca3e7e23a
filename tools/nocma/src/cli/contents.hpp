/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace nocma::cli
{

constexpr std::uint64_t page_bytes = 4096;

/* Throws Error, which names the first one, if a byte is not 0. */
void expect_zero(std::span<const std::byte> data);

/* Marks each whole page at both of its ends; what another salt wrote is told apart. */
void write_pattern(std::span<std::byte> data, std::uint64_t salt = 0);

/*
 * Throws Error if a page has not what write_pattern() wrote; `first` is where the data begin in
 * what that was given.
 */
void expect_pattern(std::span<const std::byte> data, std::uint64_t salt = 0, std::size_t first = 0);

} // namespace nocma::cli

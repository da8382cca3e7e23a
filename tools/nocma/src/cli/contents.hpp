/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <span>

namespace nocma::cli
{

/* Throws Error, which names the first one, if a byte is not 0. */
void expect_zero(std::span<const std::byte> data);

} // namespace nocma::cli

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <compare>
#include <optional>
#include <string_view>

namespace nocma
{

/*
 * What a kernel is told apart by. A candidate counts as what it becomes, 7.2-rc1 as 7.2, and what
 * a distribution adds counts for nothing.
 */
struct KernelVersion {
	unsigned int major = 0;
	unsigned int minor = 0;
	unsigned int patch = 0; /* 0 in a release that has none */

	/* clang-tidy 14 sees a 0 in it. */
	auto operator<=>(const KernelVersion &) const = default; // NOLINT(modernize-use-nullptr)
};

/* Of a release as uname gives it, "6.12.94+deb13-amd64". Throws Error without two numbers. */
KernelVersion parse_kernel_version(std::string_view release);

/* As parse_kernel_version(), but nothing without two numbers. */
std::optional<KernelVersion> try_parse_kernel_version(std::string_view release);

} // namespace nocma

// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kernel_version.hpp"

#include <charconv>
#include <system_error>

#include <fmt/format.h>

#include "util/error.hpp"

namespace nocma
{

std::optional<KernelVersion> try_parse_kernel_version(std::string_view release)
{
	KernelVersion version;
	const char *const end = release.data() + release.size();
	const auto [dot, error] = std::from_chars(release.data(), end, version.major);

	if (error != std::errc() || dot == end || *dot != '.')
		return std::nullopt;
	const auto [rest, minor_error] = std::from_chars(dot + 1, end, version.minor);
	if (minor_error != std::errc())
		return std::nullopt;
	if (rest != end && *rest == '.')
		std::from_chars(rest + 1, end, version.patch);
	return version;
}

KernelVersion parse_kernel_version(std::string_view release)
{
	const std::optional<KernelVersion> version = try_parse_kernel_version(release);

	if (!version)
		throw Error(fmt::format("'{}' is no kernel release", release));
	return *version;
}

} // namespace nocma

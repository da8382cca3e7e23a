// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/pagemap.hpp"

#include <array>
#include <cerrno>
#include <cstdint>

#include <fcntl.h>
#include <unistd.h>

#include "util/error.hpp"

namespace nocma
{

std::size_t page_size()
{
	return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::optional<std::uint64_t> pagemap_pfn(std::uint64_t entry) noexcept
{
	constexpr std::uint64_t present = std::uint64_t{1} << 63U;
	constexpr std::uint64_t pfn_mask = (std::uint64_t{1} << 55U) - 1;

	return (entry & present) != 0 ? std::optional(entry & pfn_mask) : std::nullopt;
}

Pagemap::Pagemap() : fd_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC))
{
	if (!fd_)
		throw SkipError("/proc/self/pagemap: " + errno_text(errno) +
				" (CONFIG_PROC_PAGE_MONITOR?)");
	/* The unprivileged see every page in frame 0. */
	alignas(4096) static std::array<std::byte, 4096> probe{};
	probe.front() = std::byte{1};
	if (lookup(probe).front().value_or(0) == 0)
		throw SkipError("/proc/self/pagemap hides page frames: needs root");
}

std::vector<std::optional<std::uint64_t>> Pagemap::lookup(std::span<const std::byte> memory) const
{
	std::vector<std::uint64_t> entries(memory.size() / page_size());
	std::vector<std::optional<std::uint64_t>> frames;
	const auto first = reinterpret_cast<std::uintptr_t>(memory.data()) / page_size();
	const std::size_t bytes = entries.size() * sizeof(std::uint64_t);
	std::size_t done = 0;

	while (done < bytes) {
		const ssize_t got = ::pread(
			fd_.get(), reinterpret_cast<std::byte *>(entries.data()) + done,
			bytes - done, static_cast<off_t>(first * sizeof(std::uint64_t) + done));

		if (got <= 0)
			throw SystemError("read", "/proc/self/pagemap", got < 0 ? errno : EIO);
		done += static_cast<std::size_t>(got);
	}
	frames.reserve(entries.size());
	for (const std::uint64_t entry : entries)
		frames.push_back(pagemap_pfn(entry));
	return frames;
}

} // namespace nocma

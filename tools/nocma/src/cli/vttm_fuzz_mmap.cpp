// SPDX-License-Identifier: GPL-2.0-only
#include "cli/vttm_fuzz_mmap.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <random>

#include <sys/mman.h>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "util/error.hpp"

namespace nocma::cli
{

namespace
{

/* No object there, not the file's object, no memory, beyond the end of all offsets, noexec. */
constexpr std::array<int, 5> documented = {EINVAL, EACCES, ENOMEM, EOVERFLOW, EPERM};

class MapFuzzer
{
public:
	MapFuzzer(const DrmDevice &device, std::span<const std::uint64_t> offsets,
		  unsigned int seed, MappingCounts &counts)
		: device_(device), offsets_(offsets), counts_(counts), random_(seed)
	{
	}

	/* What is mapped goes with the process. */
	void round()
	{
		const std::size_t length = random_length();
		const int protection = static_cast<int>(pick(8)); /* all of PROT_* */
		void *const address = ::mmap(nullptr, length, protection,
					     pick(16) == 0 ? MAP_PRIVATE : MAP_SHARED, device_.fd(),
					     static_cast<off_t>(offset()));

		if (address == MAP_FAILED) {
			refused(errno);
			return;
		}
		counts_.mapped++;
		auto *const data = static_cast<std::byte *>(address);
		for (int touches = 0; touches < 4; touches++)
			touch(data[pick(length)], protection);
		change(data, length);
	}

private:
	std::uint64_t pick(std::uint64_t below)
	{
		return std::uniform_int_distribution<std::uint64_t>(0, below - 1)(random_);
	}

	/* Mostly what any object has room for. */
	std::size_t random_length()
	{
		switch (pick(8)) {
		case 0:
			return 1 + pick(4 << 20);
		case 1:
		case 2:
			return 1 + pick(64 * page_bytes);
		default:
			return 1 + pick(4 * page_bytes);
		}
	}

	/* Of an object, near one, or anywhere. */
	std::uint64_t offset()
	{
		const std::uint64_t base = offsets_.empty() ? 0 : offsets_[pick(offsets_.size())];

		switch (pick(8)) {
		case 0:
			return base + pick(64) * page_bytes;
		case 1:
			return pick(std::uint64_t{1} << 51) * page_bytes;
		default:
			return base;
		}
	}

	void refused(int error)
	{
		counts_.refused++;
		if (std::find(documented.begin(), documented.end(), error) == documented.end())
			throw Error(fmt::format("mmap: {}, which is not documented",
						errno_text(error)));
	}

	/* Mostly what the protection allows: the rest ends the process. */
	void touch(volatile std::byte &byte, int protection)
	{
		const bool violate = pick(64) == 0;

		if ((protection & PROT_WRITE) != 0 || violate)
			byte = std::byte{0x5a};
		if ((protection & PROT_READ) != 0 || violate)
			static_cast<void>(std::byte{byte});
		counts_.touched++;
	}

	/* None of these need succeed. */
	void change(std::byte *data, std::size_t length)
	{
		const std::size_t pages = (length + page_bytes - 1) / page_bytes;
		std::byte *const part = data + pick(pages) * page_bytes;

		switch (pick(5)) {
		case 0:
			::munmap(part, page_bytes);
			break;
		case 1:
			::mprotect(part, page_bytes, static_cast<int>(pick(4)));
			break;
		case 2:
			::madvise(part, page_bytes, static_cast<int>(pick(20)));
			break;
		case 3:
			static_cast<void>(::mremap(data, pages * page_bytes,
						   (1 + pick(pages)) * page_bytes, MREMAP_MAYMOVE));
			break;
		default:
			::munmap(data, length);
		}
	}

	const DrmDevice &device_;
	std::span<const std::uint64_t> offsets_;
	MappingCounts &counts_;
	std::mt19937_64 random_;
};

} // namespace

void random_mappings(const DrmDevice &device, std::span<const std::uint64_t> offsets,
		     unsigned int seed, MappingCounts &counts)
{
	constexpr unsigned int rounds = 32;
	MapFuzzer fuzzer(device, offsets, seed, counts);

	for (unsigned int i = 0; i < rounds; i++)
		fuzzer.round();
}

} // namespace nocma::cli

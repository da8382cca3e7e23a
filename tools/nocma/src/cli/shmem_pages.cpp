// SPDX-License-Identifier: GPL-2.0-only
#include "cli/shmem_pages.hpp"

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "cli/contents.hpp"
#include "kernel/counters.hpp"
#include "kernel/smaps.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

constexpr std::uint64_t huge_bytes = 2 << 20;

constexpr const char *shmem_enabled = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";

struct Measured {
	ObjectPages pages;
	std::uint64_t allocated = 0; /* huge pages */
	std::uint64_t fallbacks = 0;
	std::uint64_t mapped = 0; /* bytes mapped by huge page-table entries, as smaps says */
};

Measured measure(const std::function<std::unique_ptr<ShmemObject>()> &make)
{
	const ShmemUsage before = read_shmem_usage();
	Measured measured;

	{
		const std::unique_ptr<ShmemObject> object = make();

		write_new_pages(object->bytes());
		expect_pattern(object->bytes());
		const ShmemUsage with = read_shmem_usage();
		measured = {
			.pages = {.huge = with.huge - before.huge,
				  .total = with.total - before.total},
			.allocated = with.allocated - before.allocated,
			.fallbacks = with.fallbacks - before.fallbacks,
			.mapped = find_counter(read_smaps(object->bytes().data()), "ShmemPmdMapped")
					  .value_or(0)};
	}
	expect_given_back(before);
	return measured;
}

std::string describe(const Measured &measured)
{
	return fmt::format("{} KiB, {} KiB of them in huge pages, {} KiB mapped by huge entries; "
			   "thp_file_alloc +{}, thp_file_fallback +{}",
			   measured.pages.total >> 10, measured.pages.huge >> 10,
			   measured.mapped >> 10, measured.allocated, measured.fallbacks);
}

bool matches(const Measured &measured, const ObjectPages &expected)
{
	return measured.pages == expected && measured.allocated == expected.huge / huge_bytes;
}

} // namespace

/* Both read functions have the CPUs' shares added up first: without it they read as 0. */
ShmemUsage read_shmem_usage()
{
	const Counters meminfo = read_meminfo();
	const Counters vmstat = read_vmstat();

	return {.total = find_counter(meminfo, "Shmem").value_or(0),
		.huge = find_counter(meminfo, "ShmemHugePages").value_or(0),
		.allocated = find_counter(vmstat, "thp_file_alloc").value_or(0),
		.fallbacks = find_counter(vmstat, "thp_file_fallback").value_or(0)};
}

HugePagesDenied::HugePagesDenied()
	: chosen_(selected_word(try_read_file(shmem_enabled).value_or("")))
{
	if (chosen_.empty())
		throw SkipError(fmt::format("no {}: no huge pages in tmpfs", shmem_enabled));
	write_existing(shmem_enabled, "deny");
}

HugePagesDenied::~HugePagesDenied()
{
	try {
		write_existing(shmem_enabled, chosen_);
	} catch (const Error &) {
		/* It could be written before: nothing that is left to do. */
	}
}

void write_new_pages(std::span<std::byte> data)
{
	for (std::size_t offset = 0; offset < data.size(); offset += page_bytes) {
		std::uint64_t old = 0;

		std::memcpy(&old, &data[offset], sizeof(old));
		if (old != 0)
			throw Error(fmt::format("byte {} of a new object is not 0", offset));
	}
	write_pattern(data);
}

void expect_given_back(const ShmemUsage &before)
{
	constexpr int most_looks = 100;
	ShmemUsage now;

	for (int looks = 0; looks < most_looks; looks++) {
		now = read_shmem_usage();
		if (now.total <= before.total && now.huge <= before.huge)
			return;
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
	throw Error(fmt::format("closed, yet Shmem has {} KiB more and ShmemHugePages {} KiB",
				(now.total - before.total) >> 10, (now.huge - before.huge) >> 10));
}

void expect_pages(KtapWriter &ktap, const std::function<std::unique_ptr<ShmemObject>()> &make,
		  const ObjectPages &expected)
{
	constexpr int attempts = 3;
	Measured measured;

	for (int attempt = 0; attempt < attempts; attempt++) {
		measured = measure(make);
		ktap.diagnostic(describe(measured));
		if (matches(measured, expected))
			return;
	}
	if (measured.fallbacks != 0 && measured.pages.huge < expected.huge)
		throw SkipError(fmt::format("{} huge pages were not to be had: memory is too "
					    "fragmented",
					    measured.fallbacks));
	throw Error(fmt::format("takes {} KiB, {} KiB of them in huge pages; expected {} and {}",
				measured.pages.total >> 10, measured.pages.huge >> 10,
				expected.total >> 10, expected.huge >> 10));
}

} // namespace nocma::cli

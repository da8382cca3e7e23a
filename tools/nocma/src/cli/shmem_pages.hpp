/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "kernel/gemfs.hpp"
#include "report/ktap.hpp"

namespace nocma::cli
{

/* Sizes of objects to test: below, at and beyond those of huge pages. */
struct NamedSize {
	const char *name;
	std::uint64_t bytes;
};

constexpr std::array<NamedSize, 6> shmem_sizes = {{
	{"4KiB", 4 << 10},
	{"64KiB", 64 << 10},
	{"2MiB", 2 << 20},
	{"2MiB+4KiB", (2 << 20) + (4 << 10)},
	{"4MiB", 4 << 20},
	{"64MiB", 64 << 20},
}};

/* What all of tmpfs has, of which an object is a part. */
struct ShmemUsage {
	std::uint64_t total = 0;     /* bytes */
	std::uint64_t huge = 0;	     /* bytes, among them */
	std::uint64_t allocated = 0; /* huge pages ever */
	std::uint64_t fallbacks = 0; /* huge pages that were not to be had */
};

ShmemUsage read_shmem_usage();

/* As long as it lives no huge pages are allocated in any tmpfs, whatever its mount says. */
class HugePagesDenied
{
public:
	/* Throws SkipError where there are none to deny, SystemError without permission. */
	HugePagesDenied();
	HugePagesDenied(const HugePagesDenied &) = delete;
	HugePagesDenied &operator=(const HugePagesDenied &) = delete;
	HugePagesDenied(HugePagesDenied &&) = delete;
	HugePagesDenied &operator=(HugePagesDenied &&) = delete;
	~HugePagesDenied();

private:
	std::string chosen_;
};

/* Mapped memory of tmpfs: a file, a buffer object. Given back with the object. */
class ShmemObject
{
public:
	ShmemObject() = default;
	ShmemObject(const ShmemObject &) = delete;
	ShmemObject &operator=(const ShmemObject &) = delete;
	ShmemObject(ShmemObject &&) = delete;
	ShmemObject &operator=(ShmemObject &&) = delete;
	virtual ~ShmemObject() = default;

	[[nodiscard]] virtual std::span<std::byte> bytes() const = 0;
};

/* write_pattern() where nothing was written before: Error unless each page begins with zero. */
void write_new_pages(std::span<std::byte> data);

/*
 * Makes an object, touches each page of it and closes it; throws Error unless it has taken what is
 * expected and given it back. The counters are the whole machine's: others may have moved them, but
 * hardly each time, so it is tried again. SkipError if memory has no huge pages left.
 */
void expect_pages(KtapWriter &ktap, const std::function<std::unique_ptr<ShmemObject>()> &make,
		  const ObjectPages &expected);

/* Waits a moment for pages to go; Error if tmpfs still has more than before. */
void expect_given_back(const ShmemUsage &before);

} // namespace nocma::cli

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "kernel/kernel_version.hpp"

namespace nocma
{

/* What decides on the pages of i915's objects. */
struct GemfsState {
	KernelVersion kernel;
	unsigned int graphics_version = 0; /* of the GPU; 0: the driver does not tell us */
	std::string group_type;		   /* of the GPU's IOMMU group; empty: it has none */
	bool iommu = false;		   /* there is an IOMMU at all */
	bool graphics_exempt = false;	   /* intel_iommu=igfx_off */
	bool guest = false;		   /* of a hypervisor that the kernel knows */
	std::string shmem_enabled;	   /* deny, force, ...; empty: no huge pages in tmpfs */

	/* As the driver of that kernel sees it. */
	[[nodiscard]] bool vtd_active() const;

	/* Whether huge pages pay off for it; so it is in v4.15 and v5.10 with the series. */
	[[nodiscard]] bool wants_huge() const;

	/* Whether it mounts its tmpfs with them; whether that gives it any. */
	[[nodiscard]] bool mounts_huge() const;
	[[nodiscard]] bool gets_huge() const;
};

/*
 * The state of the GPU whose folder in sysfs, that of the PCI function, is `device`; the
 * accelerator is that of read_machine().
 */
GemfsState read_gemfs_state(const std::filesystem::path &device, std::string_view accelerator,
			    const std::filesystem::path &root = "/");

/* The word in brackets of a sysfs choice: "always [never] force". */
std::string selected_word(std::string_view text);

/* Bytes that an object takes; some of them in huge pages. */
struct ObjectPages {
	std::uint64_t huge = 0;
	std::uint64_t total = 0;

	bool operator==(const ObjectPages &) const = default;
};

/*
 * What tmpfs gives an object whose size is a multiple of 4 KiB on a mount that has huge pages
 * within_size. Up to 5.15 a tail takes a huge page if there is one before it already.
 */
ObjectPages pages_within_size(KernelVersion kernel, std::uint64_t bytes);

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "doctor/config.hpp"
#include "kernel/cma.hpp"
#include "kernel/kernel_version.hpp"

namespace nocma::doctor
{

struct Gpu {
	std::string card;		      /* "card0" */
	std::optional<std::string> driver;    /* empty: none; nothing: sysfs does not tell */
	std::string slot;		      /* PCI address, empty for other buses */
	std::optional<std::uint32_t> pci_id;  /* vendor << 16 | device */
	std::optional<unsigned int> dma_bits; /* width of the device's DMA mask */
	bool in_iommu_group = false;
	std::string iommu_domain; /* "DMA", "identity", ...; empty if the kernel does not tell */
};

/* What a machine, or a record of one, says about itself. Nothing is an answer that is not there. */
struct Facts {
	std::string release;
	std::optional<KernelVersion> version;
	std::string architecture; /* "x86_64", "arm64" as the kernel calls it; empty */
	std::optional<KernelConfig> config;
	std::string command_line;
	bool has_meminfo = false;
	CmaState cma;
	/* The kernel knows __GFP_NOCMA: the series is in it. */
	std::optional<bool> has_flag;

	/* CPUID says that there is a hypervisor; this and the next: nothing without cpuinfo. */
	std::optional<bool> guest;
	std::optional<bool> memory_encryption;
	bool xen_pv = false;
	/* End of the highest I/O resource; without root only what is known to be there. */
	std::uint64_t highest_address = 0;
	bool highest_is_certain = false;
	std::optional<bool> memory_above_4g; /* nothing without zoneinfo */
	std::optional<bool> swiotlb;	     /* nothing: debugfs cannot be read */
	std::optional<bool> force_coherent;  /* vmwgfx's parameter */

	bool dmar = false;	 /* VT-d is on for anything */
	bool huge_pages = false; /* transparent ones, built and offered by the CPU */
	std::optional<std::uint64_t> shmem_huge_bytes;

	std::vector<Gpu> gpus;
	bool has_drm_class = false; /* otherwise there may be GPUs that sysfs did not show */
};

/*
 * Reads below `root`; "/" is this machine. Needs no privilege: what cannot be read stays open.
 * Throws UsageError when there is neither proc nor sys, SkipError when what can be read is damaged.
 */
Facts read_facts(const std::filesystem::path &root);

/* A word of the kernel's command line: "cma" -> "64M" of "cma=64M". The last one counts. */
std::optional<std::string> parameter(std::string_view command_line, std::string_view name);

} // namespace nocma::doctor

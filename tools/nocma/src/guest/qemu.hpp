/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "guest/kernel_build.hpp"

namespace nocma::guest
{

enum class Accelerator { kvm, tcg };

std::string_view name_of(Accelerator accelerator);

struct Machine {
	std::string memory = "512M"; /* as QEMU's -m takes it */
	std::string cma = "256M";    /* as the kernel's cma= takes it */
	Accelerator accelerator = Accelerator::tcg;
	std::string parameters;	       /* more of the kernel's command line */
	bool vtd = false;	       /* an Intel IOMMU, for which the kernel needs ACPI */
	unsigned int nodes = 1;	       /* of NUMA, for which the kernel needs ACPI, too */
	bool ivshmem = false;	       /* what igdstub makes an Intel GPU of, instead of a radeon */
	std::vector<std::string> qemu; /* more of QEMU's command line, before the devices here */
};

/* Descriptors that QEMU writes the guest's three serial ports to. */
struct Ports {
	int console;
	int verdict;
	int data;
};

/* NOCMA_QEMU or qemu-system-x86_64. Throws Error naming the package when there is none. */
std::string qemu_program();

/* The whole command line; `initramfs` may be empty. */
std::vector<std::string> qemu_command(const std::string &program, const KernelBuild &kernel,
				      const std::filesystem::path &initramfs,
				      const Machine &machine, const Ports &ports);

/* What is known of this host without starting anything: no /dev/kvm, or a probe's kept answer. */
std::optional<Accelerator> known_accelerator(const std::filesystem::path &cache);

/*
 * KVM where it works, else TCG. That /dev/kvm opens proves nothing: some hosts let a guest hang
 * in its first instructions. So the kernel is booted once without an initramfs, which ends in a
 * panic within seconds where KVM works. The answer is kept in the cache until the host reboots.
 */
Accelerator detect_accelerator(const std::filesystem::path &cache, const KernelBuild &kernel);

} // namespace nocma::guest

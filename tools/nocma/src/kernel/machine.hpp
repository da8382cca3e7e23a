/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace nocma
{

/* What a figure must be read with. */
struct Machine {
	std::string kernel_release;
	std::string kernel_version;
	std::string architecture;
	std::string command_line;
	std::string config_hash; /* "fnv1a64:<hex>" of /proc/config.gz, or "absent" */
	std::string accelerator; /* "tcg", "kvm", another hypervisor's name, "none", "unknown" */
	unsigned int cpus = 0;
	std::uint64_t memory_bytes = 0;
};

Machine read_machine(const std::filesystem::path &proc = "/proc");

/* Smallest step of CLOCK_MONOTONIC that was seen, in nanoseconds. */
std::uint64_t measure_clock_step();

/* FNV-1a, 64 bits, in hexadecimal: tells two configurations apart, protects against nothing. */
std::string fnv1a64(std::string_view bytes);

/* The name for CPUID's hypervisor signature (leaf 0x40000000). */
std::string accelerator_name(std::string_view signature);

} // namespace nocma

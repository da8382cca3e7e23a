// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/machine.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <thread>

#include <sys/utsname.h>
#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include <fmt/format.h>

#include "kernel/counters.hpp"
#include "util/file.hpp"

namespace nocma
{

namespace
{

std::string detect_accelerator()
{
#if defined(__x86_64__) || defined(__i386__)
	constexpr unsigned int hypervisor_present = 1U << 31U;
	unsigned int eax = 0;
	unsigned int ebx = 0;
	unsigned int ecx = 0;
	unsigned int edx = 0;

	if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & hypervisor_present) == 0)
		return "none";
	__cpuid(0x40000000, eax, ebx, ecx, edx);
	std::string signature(3 * sizeof(ebx), '\0');
	std::memcpy(signature.data(), &ebx, sizeof(ebx));
	std::memcpy(signature.data() + sizeof(ebx), &ecx, sizeof(ecx));
	std::memcpy(signature.data() + 2 * sizeof(ebx), &edx, sizeof(edx));
	return accelerator_name(signature);
#else
	return "unknown";
#endif
}

} // namespace

std::uint64_t measure_clock_step()
{
	using Clock = std::chrono::steady_clock;
	constexpr int steps = 10;
	Clock::duration smallest = Clock::duration::max();

	/* clock_getres() tells the timers' resolution, not the clock's. */
	for (int i = 0; i < steps; i++) {
		const Clock::time_point before = Clock::now();
		Clock::time_point after = before;

		while (after == before)
			after = Clock::now();
		smallest = std::min(smallest, after - before);
	}
	return static_cast<std::uint64_t>(
		std::chrono::duration_cast<std::chrono::nanoseconds>(smallest).count());
}

std::string fnv1a64(std::string_view bytes)
{
	std::uint64_t hash = 0xcbf29ce484222325;

	for (const char byte : bytes) {
		hash ^= static_cast<unsigned char>(byte);
		hash *= 0x100000001b3;
	}
	return fmt::format("{:016x}", hash);
}

std::string accelerator_name(std::string_view signature)
{
	const std::string_view name = signature.substr(0, signature.find('\0'));

	if (name == "TCGTCGTCGTCG")
		return "tcg";
	if (name == "KVMKVMKVM")
		return "kvm";
	return name.empty() ? "unknown" : std::string(trim(name));
}

Machine read_machine(const std::filesystem::path &proc)
{
	utsname names{};
	const std::optional<std::string> config = try_read_file(proc / "config.gz");
	const std::optional<std::string> command_line = try_read_file(proc / "cmdline");

	::uname(&names);
	return {.kernel_release = names.release,
		.kernel_version = names.version,
		.architecture = names.machine,
		.command_line = std::string(trim(command_line.value_or(""))),
		.config_hash = config ? "fnv1a64:" + fnv1a64(*config) : "absent",
		.accelerator = detect_accelerator(),
		.cpus = std::thread::hardware_concurrency(),
		.memory_bytes = find_counter(read_meminfo(proc), "MemTotal").value_or(0)};
}

} // namespace nocma

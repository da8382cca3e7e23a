// SPDX-License-Identifier: GPL-2.0-only
#include "guest/qemu.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include <fmt/format.h>
#include <unistd.h>

#include "guest/runner.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/process.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

namespace
{

constexpr std::chrono::seconds probe_limit(10);

fs::path probe_answer(const fs::path &cache)
{
	return cache / "kvm-probe";
}

std::string answer_of_this_boot(Accelerator answer)
{
	const std::string boot = try_read_file("/proc/sys/kernel/random/boot_id").value_or("");

	return fmt::format("{} {}\n", trim(boot), name_of(answer));
}

bool boots_under_kvm(const KernelBuild &kernel)
{
	const InterruptGuard guard;
	const TempDir folder("nocma-kvm-probe");
	const Outcome outcome = run_guest({.kernel = kernel,
					   .initramfs = {},
					   .machine = {.accelerator = Accelerator::kvm},
					   .logs = folder.path(),
					   .timeout = probe_limit,
					   .on_verdict = {},
					   .known_warnings = {}});

	/* No root file system: the panic is the proof that the kernel ran. */
	return outcome.console.fatal().has_value();
}

#if defined(__x86_64__)
/* Frequency of this machine's TSC, good to some 0.1 %. */
std::uint64_t measure_tsc_khz()
{
	using Clock = std::chrono::steady_clock;
	using Milliseconds = std::chrono::duration<double, std::milli>;
	constexpr std::chrono::milliseconds span(20);
	const Clock::time_point began = Clock::now();
	const std::uint64_t first = __rdtsc();

	std::this_thread::sleep_for(span);
	const std::uint64_t ticks = __rdtsc() - first;
	const Milliseconds elapsed = Clock::now() - began;
	return static_cast<std::uint64_t>(static_cast<double>(ticks) / elapsed.count());
}

/*
 * Without ACPI a guest has no clock but the PIT to calibrate its TSC with. That fails when the
 * host is busy, and then jiffies are all the guest measures with. TCG hands out the host's TSC,
 * so tell the guest what we know of it.
 */
const std::string &clock_parameters()
{
	static const std::string parameters =
		fmt::format(" tsc=reliable tsc_early_khz={}", measure_tsc_khz());

	return parameters;
}
#else
std::string clock_parameters()
{
	return "";
}
#endif

/* Bytes of a size that QEMU's -m takes: a number with K, M or G. */
std::uint64_t bytes_of(const std::string &size)
{
	const std::uint64_t number = std::stoull(size);

	switch (size.back()) {
	case 'K':
		return number << 10;
	case 'G':
		return number << 30;
	default:
		return number << 20;
	}
}

/* Memory in equal parts, in the order of the nodes; the last one has what is left over. */
std::vector<std::string> node_options(const Machine &machine)
{
	constexpr std::uint64_t mebibyte = 1 << 20;
	std::vector<std::string> options;
	std::uint64_t rest = bytes_of(machine.memory);
	const std::uint64_t part = rest / machine.nodes / mebibyte * mebibyte;

	for (unsigned int node = 0; node < machine.nodes; node++) {
		const std::uint64_t size = node + 1 == machine.nodes ? rest : part;

		options.insert(options.end(),
			       {"-object",
				fmt::format("memory-backend-ram,size={},id=node{}", size, node),
				"-numa",
				fmt::format("node,nodeid={0},memdev=node{0}{1}", node,
					    node == 0 ? ",cpus=0" : "")});
		rest -= size;
	}
	return options;
}

} // namespace

std::string_view name_of(Accelerator accelerator)
{
	return accelerator == Accelerator::kvm ? "kvm" : "tcg";
}

std::string qemu_program()
{
	const char *own = std::getenv("NOCMA_QEMU"); // NOLINT(concurrency-mt-unsafe)
	std::string name = own != nullptr ? own : "qemu-system-x86_64";

	if (!find_program(name))
		throw Error(own != nullptr
				    ? fmt::format("NOCMA_QEMU={}: no such program", name)
				    : "no qemu-system-x86_64: install the package qemu-system-x86");
	return name;
}

std::vector<std::string> qemu_command(const std::string &program, const KernelBuild &kernel,
				      const fs::path &initramfs, const Machine &machine,
				      const Ports &ports)
{
	const bool kvm = machine.accelerator == Accelerator::kvm;
	/*
	 * panic=-1 reboots at once and -no-reboot turns that into QEMU's end, so a panic takes no
	 * waiting. radeon's fbdev emulation divides by zero on this device.
	 */
	const std::string append = fmt::format(
		"console=ttyS0 panic=-1 nokaslr cma={} drm_kms_helper.fbdev_emulation=0{}{}{}{}",
		machine.cma, machine.vtd ? " intel_iommu=on" : "", kvm ? "" : clock_parameters(),
		machine.parameters.empty() ? "" : " ", machine.parameters);
	std::vector<std::string> command = {
		program,
		"-nodefaults",
		"-no-user-config",
		"-display",
		"none",
		"-no-reboot",
		"-machine",
		"q35",
		"-accel",
		kvm ? "kvm" : "tcg,thread=multi",
		"-cpu",
		kvm ? "host" : "qemu64",
		"-smp",
		"1",
		"-m",
		machine.memory,
		"-kernel",
		kernel.image().native(),
		"-append",
		append,
	};

	if (machine.nodes > 1) {
		const std::vector<std::string> options = node_options(machine);

		command.insert(command.end(), options.begin(), options.end());
	}
	/* So that a device asked for has its slot before the others take theirs. */
	command.insert(command.end(), machine.qemu.begin(), machine.qemu.end());
	/* First, for only the devices after it are translated. */
	if (machine.vtd)
		command.insert(command.end(), {"-device", "intel-iommu,intremap=off"});
	/* Its place and its size are those that igdstub asks for. */
	if (machine.ivshmem)
		command.insert(command.end(),
			       {"-object", "memory-backend-ram,size=16M,id=registers", "-device",
				"ivshmem-plain,memdev=registers,addr=2.0"});
	else
		command.insert(command.end(), {"-device", "ati-vga,model=rv100"});
	/* A function that no driver wants, for vttm to be bound to. */
	command.insert(command.end(), {"-device", "pci-testdev"});
	for (const int port : {ports.console, ports.verdict, ports.data}) {
		command.emplace_back("-serial");
		command.push_back(fmt::format("file:/dev/fd/{}", port));
	}
	if (!initramfs.empty()) {
		command.emplace_back("-initrd");
		command.push_back(initramfs.native());
	}
	return command;
}

std::optional<Accelerator> known_accelerator(const fs::path &cache)
{
	if (::access("/dev/kvm", R_OK | W_OK) != 0)
		return Accelerator::tcg;

	const std::string kept = try_read_file(probe_answer(cache)).value_or("");
	for (const Accelerator answer : {Accelerator::kvm, Accelerator::tcg})
		if (kept == answer_of_this_boot(answer))
			return answer;
	return std::nullopt;
}

Accelerator detect_accelerator(const fs::path &cache, const KernelBuild &kernel)
{
	const std::optional<Accelerator> known = known_accelerator(cache);

	if (known)
		return *known;
	fmt::print(stderr, "guest: trying KVM, at most {} s\n", probe_limit.count());
	const Accelerator answer = boots_under_kvm(kernel) ? Accelerator::kvm : Accelerator::tcg;
	if (answer == Accelerator::tcg)
		fmt::print(stderr, "guest: /dev/kvm opens but a guest does not run, using TCG\n");
	write_atomic(probe_answer(cache), answer_of_this_boot(answer));
	return answer;
}

} // namespace nocma::guest

// SPDX-License-Identifier: GPL-2.0-only
#include "cli/igdstub_cases.hpp"

#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "kernel/kernel_log.hpp"
#include "kernel/machine.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/process.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;

const fs::path pci = "/sys/bus/pci";
constexpr std::string_view slot = "0000:00:02.0";
constexpr std::string_view host_bridge = "0000:00:00.0";

std::string attribute(std::string_view function, std::string_view name)
{
	return std::string(trim(read_file(pci / "devices" / function / name)));
}

bool is_there(std::string_view function)
{
	return fs::exists(pci / "devices" / function);
}

/* All that igdstub would change. */
std::string state_of_slot()
{
	std::string state;

	if (!is_there(slot))
		return "empty";
	for (const std::string_view name : {"vendor", "device", "class", "resource"})
		state += attribute(slot, name) + "\n";
	return state + read_file(pci / "devices" / slot / "config");
}

/* Nobody's GPU is to be taken from its slot. */
void require_qemu()
{
	if (!is_there(host_bridge) || attribute(host_bridge, "subsystem_vendor") != "0x1af4")
		throw SkipError("not a machine of QEMU's");
	if (fs::exists("/sys/module/igdstub"))
		throw SkipError("igdstub is loaded already");
	const fs::path modules = fs::path("/lib/modules") / read_machine().kernel_release;
	if (try_read_file(modules / "modules.dep").value_or("").find("igdstub.ko") ==
	    std::string::npos)
		throw SkipError(fmt::format("{}: has no igdstub", modules.native()));
}

std::uint64_t next_record()
{
	const std::vector<LogRecord> log = read_kernel_log();

	return log.empty() ? 0 : log.back().sequence + 1;
}

/* Errors of igdstub's since that record. */
std::vector<std::string> errors_since(std::uint64_t record)
{
	std::vector<std::string> errors;

	for (const LogRecord &line : read_kernel_log())
		if (line.sequence >= record && line.level == LogRecord::error &&
		    line.text.starts_with("igdstub: "))
			errors.push_back(line.text);
	return errors;
}

/* It must not load, say why in one line each time, and leave the slot alone. */
void expect_refusal(KtapWriter &ktap, std::string_view reason, std::string_view option = "force=1")
{
	const std::string before = state_of_slot();
	const std::uint64_t record = next_record();

	if (run({"modprobe", "igdstub", std::string(option)}).ok()) {
		run({"rmmod", "igdstub"});
		throw Error("it loaded");
	}
	std::vector<std::string> errors = errors_since(record);
	/* busybox's modprobe tries twice. */
	errors.erase(std::unique(errors.begin(), errors.end()), errors.end());
	ktap.diagnostic(fmt::format("{}", fmt::join(errors, "\n")));
	if (errors.size() != 1 || errors.front().find(reason) == std::string::npos)
		throw Error(fmt::format("expected one line with '{}'", reason));
	if (state_of_slot() != before)
		throw Error("the function in the slot is not what it was");
}

/* Takes a function from the kernel and lets it find that again. */
class RemovedFunction
{
public:
	explicit RemovedFunction(std::string_view function)
	{
		write_existing(pci / "devices" / function / "remove", "1");
	}

	RemovedFunction(const RemovedFunction &) = delete;
	RemovedFunction &operator=(const RemovedFunction &) = delete;
	RemovedFunction(RemovedFunction &&) = delete;
	RemovedFunction &operator=(RemovedFunction &&) = delete;
	~RemovedFunction()
	{
		try {
			write_existing(pci / "rescan", "1");
		} catch (const Error &) {
			/* A guest that is at its end anyway. */
		}
	}
};

void refuses_without_host_bridge(KtapWriter &ktap)
{
	require_qemu();
	const RemovedFunction removed(host_bridge);

	expect_refusal(ktap, "not the root bus of a PC");
}

void refuses_empty_slot(KtapWriter &ktap)
{
	require_qemu();
	if (!is_there(slot))
		throw SkipError("the slot is empty as it is");
	const RemovedFunction removed(slot);

	expect_refusal(ktap, "no function there");
}

bool is_display()
{
	return is_there(slot) && attribute(slot, "class").starts_with("0x03");
}

bool is_ivshmem()
{
	return is_there(slot) && attribute(slot, "vendor") == "0x1af4" &&
	       attribute(slot, "device") == "0x1110";
}

/* Of BAR 2: lines of "start end flags". */
bool has_16_mib()
{
	constexpr std::uint64_t wanted = 16 << 20;
	const std::vector<std::string> lines = split_lines(attribute(slot, "resource"));
	const std::vector<std::string> words = split(lines.at(2), ' ');

	return std::stoull(words.at(1), nullptr, 16) - std::stoull(words.at(0), nullptr, 16) + 1 ==
	       wanted;
}

void refuses_display_controller(KtapWriter &ktap)
{
	require_qemu();
	if (!is_display())
		throw SkipError("no display controller in the slot");
	expect_refusal(ktap, "a real display controller");
}

void refuses_other_function(KtapWriter &ktap)
{
	require_qemu();
	if (!is_there(slot) || is_display() || is_ivshmem())
		throw SkipError("no other function than those it knows is in the slot");
	expect_refusal(ktap, "is not ivshmem-plain");
}

void refuses_other_size(KtapWriter &ktap)
{
	require_qemu();
	if (!is_ivshmem() || has_16_mib())
		throw SkipError("no ivshmem-plain of another size in the slot");
	expect_refusal(ktap, "not one 64-bit BAR of 16 MiB");
}

/* vttm takes any function that it is told to. */
void refuses_bound_function(KtapWriter &ktap)
{
	require_qemu();
	if (!is_ivshmem() || !has_16_mib())
		throw SkipError("no ivshmem-plain of 16 MiB in the slot");
	if (!run({"modprobe", "vttm"}).ok())
		throw SkipError("the kernel has no module vttm to bind to the function");
	write_existing(pci / "devices" / slot / "driver_override", "vttm");
	write_existing(pci / "drivers_probe", slot);
	expect_refusal(ktap, "the driver vttm is bound to it");
	write_existing(pci / "drivers/vttm/unbind", slot);
	write_existing(pci / "devices" / slot / "driver_override", "\n");
}

void refuses_bare_metal(KtapWriter &ktap)
{
	require_qemu();
	if (read_machine().accelerator != "none")
		throw SkipError("CPUID names a hypervisor");
	expect_refusal(ktap, "no hypervisor", "force=0");
	if (!is_ivshmem() || !has_16_mib())
		return;
	run_or_throw({"modprobe", "igdstub", "force=1"});
	if (attribute(slot, "vendor") != "0x8086")
		throw Error("forced, it shows no Intel GPU");
	run_or_throw({"rmmod", "igdstub"});
}

} // namespace

std::vector<TestCase> igdstub_cases()
{
	return {{"igdstub-refuses-without-host-bridge", refuses_without_host_bridge},
		{"igdstub-refuses-empty-slot", refuses_empty_slot},
		{"igdstub-refuses-display-controller", refuses_display_controller},
		{"igdstub-refuses-other-function", refuses_other_function},
		{"igdstub-refuses-other-size", refuses_other_size},
		{"igdstub-refuses-bound-function", refuses_bound_function},
		{"igdstub-refuses-bare-metal", refuses_bare_metal}};
}

} // namespace nocma::cli

// SPDX-License-Identifier: GPL-2.0-only
#include "guest/boot.hpp"

#include <fmt/format.h>

#include "guest/shell.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

namespace
{

void report_trouble(const Boot &boot, const Outcome &outcome)
{
	const std::string why =
		outcome.sound() ? fmt::format("its job ended with exit status {}", *outcome.status)
				: outcome.trouble;

	fmt::print(stderr, "nocma: guest {} ({}): {}\n{}  logs: {}\n", boot.kernel.name(),
		   name_of(boot.variant), why, outcome.console.tail(), boot.logs.native());
}

} // namespace

std::string describe(const Boot &boot)
{
	const std::vector<std::string> qemu =
		qemu_command(qemu_program(), boot.kernel, "initramfs.cpio", boot.machine,
			     {.console = 3, .verdict = 4, .data = 5});

	return fmt::format("ttm.ko: {}\njob: {}\nqemu: {}\nlogs: {}\nlimit: {} s\n",
			   boot.kernel.ttm(boot.variant).native(), shell_line(boot.job.argv),
			   shell_line(qemu), boot.logs.native(), boot.timeout.count());
}

Outcome boot_guest(const Boot &boot, const std::function<void(const std::string &)> &on_verdict)
{
	const InterruptGuard guard;
	const TempDir folder("nocma-guest");
	const fs::path initramfs = folder.path() / "initramfs.cpio";

	fs::create_directories(boot.logs);
	make_initramfs(initramfs, boot.kernel, boot.variant, boot.job);
	Outcome outcome = run_guest({.kernel = boot.kernel,
				     .initramfs = initramfs,
				     .machine = boot.machine,
				     .logs = boot.logs,
				     .timeout = boot.timeout,
				     .on_verdict = on_verdict,
				     .known_warnings = boot.known_warnings});
	if (!outcome.sound() || (outcome.status != 0 && !outcome.explained))
		report_trouble(boot, outcome);
	return outcome;
}

} // namespace nocma::guest

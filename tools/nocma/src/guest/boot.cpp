// SPDX-License-Identifier: GPL-2.0-only
#include "guest/boot.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "util/file.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

namespace
{

std::string quoted(const std::string &argument)
{
	const bool plain = std::all_of(argument.begin(), argument.end(), [](unsigned char c) {
		return std::isalnum(c) != 0 ||
		       std::string_view("-_./=,:").find(static_cast<char>(c)) !=
			       std::string_view::npos;
	});

	return plain ? argument : fmt::format("'{}'", argument);
}

void report_trouble(const Boot &boot, const Outcome &outcome)
{
	fmt::print(stderr, "nocma: guest {} ({}): {}\n{}  logs: {}\n", boot.kernel.target,
		   name_of(boot.variant), outcome.trouble, outcome.console.tail(),
		   boot.logs.native());
}

} // namespace

std::string describe(const Boot &boot)
{
	std::vector<std::string> words;

	for (const std::string &word :
	     qemu_command(qemu_program(), boot.kernel, "initramfs.cpio", boot.machine,
			  {.console = 3, .verdict = 4, .data = 5}))
		words.push_back(quoted(word));
	return fmt::format("ttm.ko: {}\njob: {}\nqemu: {}\nlogs: {}\nlimit: {} s\n",
			   boot.kernel.ttm(boot.variant).native(), boot.job.command,
			   fmt::join(words, " "), boot.logs.native(), boot.timeout.count());
}

Outcome boot_guest(const Boot &boot, const std::function<void(const std::string &)> &on_verdict)
{
	const TempDir folder("nocma-guest");
	const fs::path initramfs = folder.path() / "initramfs.cpio";

	fs::create_directories(boot.logs);
	make_initramfs(initramfs, boot.kernel, boot.variant, boot.job);
	Outcome outcome = run_guest({.kernel = boot.kernel,
				     .initramfs = initramfs,
				     .machine = boot.machine,
				     .logs = boot.logs,
				     .timeout = boot.timeout,
				     .on_verdict = on_verdict});
	if (!outcome.sound())
		report_trouble(boot, outcome);
	return outcome;
}

} // namespace nocma::guest

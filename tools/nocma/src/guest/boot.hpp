/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "guest/initramfs.hpp"
#include "guest/kernel_build.hpp"
#include "guest/runner.hpp"

namespace nocma::guest
{

/* One boot: which kernel, which ttm.ko, what is done in it. */
struct Boot {
	KernelBuild kernel;
	TtmVariant variant = TtmVariant::nocma;
	Machine machine;
	Job job;
	/* Created; console.log, verdict.log, data.log. With -2, -3, ... while others run there. */
	std::filesystem::path logs;
	std::chrono::seconds timeout{};
	std::vector<std::string> known_warnings; /* as in GuestRun */
};

/* What `boot` would start, as lines for a person; the command is as a shell would take it. */
std::string describe(const Boot &boot);

/*
 * Makes the initramfs, runs the guest, and tells on stderr when the outcome is not sound or its
 * verdict does not say why it is no pass: one line, the console's last lines, where the logs are.
 * A signal ends it with an Error, QEMU and temporary files gone.
 */
Outcome boot_guest(const Boot &boot, const std::function<void(const std::string &)> &on_verdict);

} // namespace nocma::guest

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "guest/console.hpp"
#include "guest/kernel_build.hpp"
#include "guest/qemu.hpp"

namespace nocma::guest
{

struct GuestRun {
	KernelBuild kernel;
	std::filesystem::path initramfs; /* empty: none */
	Machine machine;
	std::filesystem::path logs; /* existing folder for console.log, verdict.log, data.log */
	std::chrono::seconds timeout;
	std::function<void(const std::string &line)> on_verdict; /* each line as it arrives */
	std::vector<std::string> known_warnings; /* functions whose warnings are expected */
};

struct Outcome {
	std::optional<int> status; /* what the guest's last line says; nothing if it never came */
	std::string trouble;	   /* why there is no status, or why it is not to be trusted */
	bool explained = false;	   /* the verdict has a failed or a skipped test */
	std::string data;	   /* what came on the data port */
	Console console;
	std::chrono::milliseconds elapsed{};

	/* The guest reached its end and its kernel found nothing wrong with itself. */
	[[nodiscard]] bool sound() const noexcept { return status && trouble.empty(); }
};

/*
 * Boots a guest and waits until QEMU ends, the kernel has died, or the time is over; QEMU is gone
 * when this returns or throws. What the guest does is no error here but an outcome; Error is thrown
 * when QEMU cannot be started or when a signal came that the caller's InterruptGuard has caught.
 */
Outcome run_guest(const GuestRun &run);

} // namespace nocma::guest

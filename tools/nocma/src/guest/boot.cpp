// SPDX-License-Identifier: GPL-2.0-only
#include "guest/boot.hpp"

#include <cerrno>

#include <fcntl.h>
#include <sys/file.h>

#include <fmt/format.h>

#include "guest/shell.hpp"
#include "util/error.hpp"
#include "util/fd.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"

namespace nocma::guest
{

namespace fs = std::filesystem;

namespace
{

/* A folder for logs that nobody else has as long as this exists. */
struct LogFolder {
	fs::path path;
	UniqueFd lock;
};

/* The folder, or path-2, path-3 and so on when guests that run now write to those before. */
LogFolder claim_logs(const fs::path &path)
{
	for (unsigned int number = 1;; number++) {
		LogFolder folder{
			number == 1 ? path : fs::path(fmt::format("{}-{}", path.native(), number)),
			{}};

		fs::create_directories(folder.path);
		folder.lock.reset(::open(folder.path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
		if (!folder.lock)
			throw SystemError("open", folder.path.native(), errno);
		if (::flock(folder.lock.get(), LOCK_EX | LOCK_NB) == 0)
			return folder;
		if (errno != EWOULDBLOCK)
			throw SystemError("flock", folder.path.native(), errno);
	}
}

void report_trouble(const Boot &boot, const Outcome &outcome, const fs::path &logs)
{
	const std::string why =
		outcome.sound() ? fmt::format("its job ended with exit status {}", *outcome.status)
				: outcome.trouble;

	fmt::print(stderr, "nocma: guest {} ({}): {}\n{}  logs: {}\n", boot.kernel.name(),
		   name_of(boot.variant), why, outcome.console.tail(), logs.native());
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
	const LogFolder logs = claim_logs(boot.logs);

	make_initramfs(initramfs, boot.kernel, boot.variant, boot.job);
	Outcome outcome = run_guest({.kernel = boot.kernel,
				     .initramfs = initramfs,
				     .machine = boot.machine,
				     .logs = logs.path,
				     .timeout = boot.timeout,
				     .on_verdict = on_verdict,
				     .known_warnings = boot.known_warnings});
	if (!outcome.sound() || (outcome.status != 0 && !outcome.explained))
		report_trouble(boot, outcome, logs.path);
	return outcome;
}

} // namespace nocma::guest

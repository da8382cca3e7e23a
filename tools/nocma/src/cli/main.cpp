// SPDX-License-Identifier: GPL-2.0-only
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"

namespace
{

/* One line, as of all errors: what is wrong, and the way out. */
std::string usage_error(const CLI::App *app, const CLI::Error &error)
{
	const std::vector<std::string> unknown = app->remaining(true);

	/* CLI11 looks for what is missing first: "nocma foo" has no subcommand to it. */
	if (dynamic_cast<const CLI::RequiredError *>(&error) != nullptr && !unknown.empty())
		return fmt::format("nocma: '{}': no such command or option, see --help\n",
				   unknown.front());
	return fmt::format("nocma: {}, see --help\n", error.what());
}

/* What was printed has to get there. A reader that went away wanted no more. */
void finish_output()
{
	if (std::fflush(stdout) != 0 && errno != EPIPE)
		throw nocma::SystemError("write", "standard output", errno);
}

} // namespace

/* Should printing an error fail, there is nothing left to do but to end. */
// NOLINTNEXTLINE(bugprone-exception-escape)
int main(int argc, char **argv)
{
	using nocma::ExitCode;
	ExitCode result = ExitCode::pass;
	CLI::App app("Keep TTM's DMA allocations out of shared CMA: patch, test, measure", "nocma");

	/* A reader that goes away (head, less) must not look like a crash: writes fail instead. */
	std::signal(SIGPIPE, SIG_IGN);
	try {
		app.set_version_flag("--version", NOCMA_VERSION);
		app.require_subcommand(1);
		app.failure_message(usage_error);
		nocma::cli::add_series(app, result);
		nocma::cli::add_guest(app, result);
		nocma::cli::add_test(app, result);
		nocma::cli::add_kunit(app, result);
		nocma::cli::add_bench(app, result);
		nocma::cli::add_report(app, result);
		nocma::cli::add_trace(app, result);
		nocma::cli::add_doctor(app, result);
		app.parse(argc, argv);
		finish_output();
	} catch (const CLI::ParseError &error) {
		/* --help and --version arrive here too, as successes. */
		const bool asked = error.get_exit_code() == 0;

		app.exit(error);
		return static_cast<int>(asked ? ExitCode::pass : ExitCode::usage);
	} catch (const nocma::Error &error) {
		fmt::print(stderr, "nocma: {}\n", error.what());
		return static_cast<int>(error.code());
	} catch (const std::exception &error) {
		fmt::print(stderr, "nocma: {}\n", error.what());
		return static_cast<int>(ExitCode::fail);
	}
	return static_cast<int>(result);
}

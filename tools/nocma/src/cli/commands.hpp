/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <CLI/CLI.hpp>

#include "util/error.hpp"

/*
 * One function per subcommand, each in the file of its name. It adds its options to `app` and
 * sets a callback that does the work and leaves the verdict in `result`; errors are thrown
 * (util/error.hpp) and reported by main().
 */
namespace nocma::cli
{

void add_series(CLI::App &app, ExitCode &result);
void add_guest(CLI::App &app, ExitCode &result);
void add_test(CLI::App &app, ExitCode &result);
void add_kunit(CLI::App &app, ExitCode &result);
void add_bench(CLI::App &app, ExitCode &result);
void add_report(CLI::App &app, ExitCode &result);
void add_trace(CLI::App &app, ExitCode &result);
void add_doctor(CLI::App &app, ExitCode &result);

} // namespace nocma::cli

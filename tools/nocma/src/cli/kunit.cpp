// SPDX-License-Identifier: GPL-2.0-only
#include <cstdio>
#include <memory>
#include <string>

#include "cli/commands.hpp"
#include "kernel/kunit.hpp"

namespace nocma::cli
{

void add_kunit(CLI::App &app, ExitCode &result)
{
	CLI::App *command = app.add_subcommand(
		"kunit", "Print what the KUnit suites in this kernel found, as nested KTAP");
	auto folder = std::make_shared<std::string>("/sys/kernel/debug/kunit");

	command->add_option("--results", *folder, "Folder with a folder per suite")
		->capture_default_str();
	command->callback(
		[&result, folder] { result = print_kunit(stdout, read_kunit_suites(*folder)); });
}

} // namespace nocma::cli

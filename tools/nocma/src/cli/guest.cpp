// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands.hpp"

namespace nocma::cli
{

void add_guest(CLI::App &app, ExitCode &result)
{
	app.add_subcommand("guest", "TODO")->callback([&result] { result = ExitCode::fail; });
}

} // namespace nocma::cli

// SPDX-License-Identifier: GPL-2.0-only
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include "cli/commands.hpp"

/* nocma test of one driver. Should printing an error fail, there is nothing left but to end. */
// NOLINTNEXTLINE(bugprone-exception-escape)
int main()
{
	using nocma::ExitCode;
	ExitCode result = ExitCode::fail;

	try {
		CLI::App app;

		nocma::cli::add_test(app, result);
		app.parse("test --backend " NOCMA_DRIVER);
	} catch (const nocma::Error &error) {
		fmt::print("Bail out! {}\n", error.what());
		return static_cast<int>(error.code());
	} catch (const std::exception &error) {
		fmt::print("Bail out! {}\n", error.what());
		return static_cast<int>(ExitCode::fail);
	}
	return static_cast<int>(result);
}

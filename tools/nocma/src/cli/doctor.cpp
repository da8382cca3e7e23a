// SPDX-License-Identifier: GPL-2.0-only
#include <memory>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "doctor/diagnosis.hpp"
#include "util/json_text.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::string root = "/";
	bool json = false;
};

ExitCode examine(const Options &options)
{
	const doctor::Facts facts = doctor::read_facts(options.root);
	const doctor::Diagnosis diagnosis = diagnose(facts);

	fmt::print("{}", options.json ? json_text(to_json(facts, diagnosis), 2) + "\n"
				      : to_text(facts, diagnosis));
	return exit_code(diagnosis.status());
}

} // namespace

void add_doctor(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"doctor", "Say whether this machine is affected, and which patch would help");

	command->add_option("--root", options->root,
			    "Examine a recorded tree (proc, sys, boot) instead of this machine")
		->option_text("DIR");
	command->add_flag("--json", options->json, "Print one JSON object");
	command->callback([options, &result] { result = examine(*options); });
}

} // namespace nocma::cli

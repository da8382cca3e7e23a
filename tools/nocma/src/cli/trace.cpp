// SPDX-License-Identifier: GPL-2.0-only
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <sys/utsname.h>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cli/commands.hpp"
#include "kernel/graph_recorder.hpp"
#include "series/targets.hpp"
#include "trace/analysis.hpp"
#include "trace/functions.hpp"
#include "trace/input.hpp"
#include "util/file.hpp"
#include "util/json_text.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::string file;
	unsigned int live = 0; /* seconds */
	std::string output;
	bool json = false;
};

std::string read_text(const std::string &file)
{
	if (file == "-")
		return {std::istreambuf_iterator<char>(std::cin), {}};
	return read_file(file);
}

std::optional<std::string> series_of_this_kernel()
{
	utsname names{};

	::uname(&names);
	const series::Target *const target = series::served_target(names.release);
	return target != nullptr ? std::optional(target->name) : std::nullopt;
}

ExitCode print(const trace::Input &input, const std::optional<std::string> &series, bool json)
{
	if (const auto *const log = std::get_if<trace::KernelLog>(&input)) {
		fmt::print("{}", json ? json_text(to_json(*log), 2) + "\n" : to_text(*log));
		return log->findings.empty() ? ExitCode::skip : ExitCode::pass;
	}
	const trace::Analysis analysis = analyse(std::get<trace::CallTree>(input), series);

	fmt::print("{}", json ? json_text(to_json(analysis), 2) + "\n" : to_text(analysis));
	return analysis.cause == trace::Cause::not_told ? ExitCode::skip : ExitCode::pass;
}

ExitCode read_and_print(const Options &options)
{
	if (options.file.empty())
		throw UsageError("trace: name a FILE, - for standard input, or --live SECONDS");
	return print(trace::read_input(read_text(options.file), options.file), std::nullopt,
		     options.json);
}

ExitCode record_and_print(const Options &options)
{
	fmt::print(stderr, "trace: recording for {} s\n", options.live);
	const std::string text = record_graph({.roots = trace::populate_functions(),
					       .below = trace::allocation_functions(),
					       .common = trace::common_functions(),
					       .duration = std::chrono::seconds(options.live)});

	if (!options.output.empty())
		write_output(options.output, text);
	trace::CallTree calls = trace::read_calls(text);
	if (calls.calls().empty())
		throw SkipError(fmt::format("no populate in {} s: use the desktop, or start what "
					    "stalls, while it records",
					    options.live));
	return print(std::move(calls), series_of_this_kernel(), options.json);
}

} // namespace

void add_trace(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"trace", "Say which share of TTM's populate time went to CMA, and what removes it");
	CLI::Option *const file = command->add_option(
		"FILE", options->file,
		"function_graph text or kernel log as pasted in a report, - for standard input");
	CLI::Option *const live =
		command->add_option("--live", options->live, "Record this machine instead")
			->check(CLI::Range(1, 3600))
			->option_text("SECONDS")
			->excludes(file);

	command->add_option("-o,--output", options->output, "Keep the recorded text, too")
		->option_text("FILE")
		->needs(live);
	command->add_flag("--json", options->json, "Print one JSON object");
	command->callback([options, &result] {
		result = options->live != 0 ? record_and_print(*options) : read_and_print(*options);
	});
}

} // namespace nocma::cli

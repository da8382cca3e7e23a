// SPDX-License-Identifier: GPL-2.0-only
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "report/comparison.hpp"
#include "report/html.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

struct Options {
	std::vector<std::string> files;
	std::string output;
	bool text = false;
};

ExitCode report(const Options &options)
{
	Comparison comparison;

	for (const std::string &file : options.files)
		comparison.add(parse_bench_result(read_file(file), file), file);
	if (!options.output.empty())
		write_output(options.output, html_report(comparison));
	if (options.output.empty() || options.text)
		fmt::print("{}\n", comparison.table());
	const Comparison::Verdict verdict = comparison.verdict();
	fmt::print("{}: {}\n", verdict.good ? "PASS" : "FAIL", verdict.text);
	return verdict.good ? ExitCode::pass : ExitCode::fail;
}

} // namespace

void add_report(CLI::App &app, ExitCode &result)
{
	auto options = std::make_shared<Options>();
	CLI::App *const command = app.add_subcommand(
		"report", "Compare measurements of TTM with the flag, without it, and with cma=0");

	command->add_option("FILE", options->files,
			    "JSON of nocma bench; several runs of a label add up")
		->required();
	command->add_option("-o,--output", options->output,
			    "Write a page of HTML with figures, by gnuplot");
	command->add_flag("--text", options->text, "Print the table as well as writing the page");
	command->callback([options, &result] { result = report(*options); });
}

} // namespace nocma::cli

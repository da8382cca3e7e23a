// SPDX-License-Identifier: GPL-2.0-only
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/commands.hpp"
#include "report/comparison.hpp"
#include "util/file.hpp"

namespace nocma::cli
{

namespace
{

ExitCode report(const std::vector<std::string> &files)
{
	Comparison comparison;

	for (const std::string &file : files)
		comparison.add(parse_bench_result(read_file(file), file), file);
	const Comparison::Verdict verdict = comparison.verdict();
	fmt::print("{}\n{}: {}\n", comparison.table(), verdict.good ? "PASS" : "FAIL",
		   verdict.text);
	return verdict.good ? ExitCode::pass : ExitCode::fail;
}

} // namespace

void add_report(CLI::App &app, ExitCode &result)
{
	auto files = std::make_shared<std::vector<std::string>>();
	CLI::App *const command = app.add_subcommand(
		"report", "Compare measurements of TTM with the flag, without it, and with cma=0");

	command->add_option("FILE", *files, "JSON of nocma bench; several runs of a label add up")
		->required();
	command->callback([files, &result] { result = report(*files); });
}

} // namespace nocma::cli

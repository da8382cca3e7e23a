// SPDX-License-Identifier: GPL-2.0-only
#include "kernel/kunit.hpp"

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "util/file.hpp"
#include "util/number.hpp"

namespace nocma
{

namespace
{

namespace fs = std::filesystem;
using Verdict = KunitCase::Verdict;

constexpr std::size_t indentation = 4; /* of a subtest */

std::optional<std::string_view> after(std::string_view text, std::string_view prefix)
{
	if (!text.starts_with(prefix))
		return std::nullopt;
	return text.substr(prefix.size());
}

/* "ok 1 - name", "not ok 2 name", "ok 3 name # SKIP why": the dash is v5.10's. */
std::optional<KunitCase> parse_result(std::string_view line)
{
	KunitCase result;
	std::optional<std::string_view> rest = after(line, "not ok ");

	if (rest)
		result.verdict = Verdict::fail;
	else
		rest = after(line, "ok ");
	if (!rest)
		return std::nullopt;

	const std::size_t digits = std::min(rest->find_first_not_of("0123456789"), rest->size());
	if (digits == 0)
		return std::nullopt;
	std::string_view name = trim(rest->substr(digits));
	if (const auto without_dash = after(name, "- "))
		name = trim(*without_dash);

	const std::size_t directive = name.find("# SKIP");
	if (directive != std::string_view::npos) {
		result.verdict = Verdict::skip;
		result.reason = trim(name.substr(directive + std::string_view("# SKIP").size()));
		name = trim(name.substr(0, directive));
	}
	result.name = name;
	return result;
}

/*
 * A case that cannot skip says so in its log, "name: SKIP why", and passes. Both names have to
 * agree: what one case logs is no reason for another.
 */
void take_logged_skip(KunitCase &result)
{
	const std::string mark = fmt::format("# {}: SKIP ", result.name);

	if (result.verdict != Verdict::pass)
		return;
	for (auto line = result.diagnostics.begin(); line != result.diagnostics.end(); ++line) {
		if (const auto reason = after(*line, mark)) {
			result.verdict = Verdict::skip;
			result.reason = *reason;
			result.diagnostics.erase(line);
			return;
		}
	}
}

std::optional<std::size_t> parse_plan(std::string_view line)
{
	const auto number = after(line, "1..");

	return number ? parse_number(*number) : std::nullopt;
}

std::string_view word_of(Verdict verdict)
{
	return verdict == Verdict::fail ? "not ok" : "ok";
}

std::string directive_of(const KunitCase &result)
{
	if (result.verdict != Verdict::skip)
		return "";
	return result.reason.empty() ? " # SKIP" : " # SKIP " + result.reason;
}

void print_suite(std::FILE *out, const KunitSuite &suite)
{
	std::size_t number = 0;

	fmt::print(out, "    KTAP version 1\n    # Subtest: {}\n    1..{}\n", suite.name,
		   suite.planned);
	for (const KunitCase &result : suite.cases) {
		for (const std::string &line : result.diagnostics)
			fmt::print(out, "    {}{}\n", line.starts_with('#') ? "" : "# ", line);
		fmt::print(out, "    {} {} {}{}\n", word_of(result.verdict), ++number, result.name,
			   directive_of(result));
	}
}

} // namespace

Verdict KunitSuite::verdict() const
{
	const auto has = [this](Verdict wanted) {
		return std::ranges::any_of(cases, [wanted](const KunitCase &result) {
			return result.verdict == wanted;
		});
	};

	if (cases.size() != planned || has(Verdict::fail))
		return Verdict::fail;
	return has(Verdict::pass) ? Verdict::pass : Verdict::skip;
}

KunitSuite parse_kunit_results(std::string_view text)
{
	KunitSuite suite;
	std::vector<std::string> diagnostics;

	for (const std::string &line : split_lines(text)) {
		/* Less indented is what concerns the suite: its verdict is worked out anew. */
		if (!line.starts_with(std::string(indentation, ' ')))
			continue;
		const std::string_view inner = std::string_view(line).substr(indentation);
		if (const auto name = after(inner, "# Subtest: "); name && suite.name.empty()) {
			suite.name = trim(*name);
		} else if (const auto plan = parse_plan(inner); plan && suite.planned == 0) {
			suite.planned = *plan;
		} else if (auto result = parse_result(inner)) {
			result->diagnostics = std::exchange(diagnostics, {});
			take_logged_skip(*result);
			suite.cases.push_back(std::move(*result));
		} else if (inner != "KTAP version 1" && !inner.starts_with("# module: ")) {
			diagnostics.emplace_back(inner);
		}
	}
	if (suite.name.empty() || suite.planned == 0)
		throw Error("no KUnit results: neither a subtest's name nor its plan");
	return suite;
}

std::vector<KunitSuite> read_kunit_suites(const fs::path &folder)
{
	std::vector<fs::path> files;
	std::vector<KunitSuite> suites;
	std::error_code error;

	for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
	     entry.increment(error))
		files.push_back(entry->path() / "results");
	if (error)
		throw SkipError(
			fmt::format("{}: {}; needs CONFIG_KUNIT_DEBUGFS, debugfs mounted, and "
				    "root",
				    folder.native(), error.message()));
	if (files.empty())
		throw Error(fmt::format("{}: no suite there; booted with kunit.enable=0?",
					folder.native()));
	std::ranges::sort(files);
	for (const fs::path &file : files) {
		try {
			suites.push_back(parse_kunit_results(read_file(file)));
		} catch (const SystemError &) {
			throw;
		} catch (const Error &problem) {
			throw Error(fmt::format("{}: {}", file.native(), problem.what()));
		}
	}
	return suites;
}

ExitCode print_kunit(std::FILE *out, const std::vector<KunitSuite> &suites)
{
	std::size_t number = 0;
	bool failed = false;
	bool passed = false;

	fmt::print(out, "KTAP version 1\n1..{}\n", suites.size());
	for (const KunitSuite &suite : suites) {
		const Verdict verdict = suite.verdict();

		print_suite(out, suite);
		fmt::print(out, "{} {} {}{}\n", word_of(verdict), ++number, suite.name,
			   verdict == Verdict::skip ? " # SKIP no case could run" : "");
		failed = failed || verdict == Verdict::fail;
		passed = passed || verdict == Verdict::pass;
	}
	std::fflush(out);
	if (failed)
		return ExitCode::fail;
	return passed ? ExitCode::pass : ExitCode::skip;
}

} // namespace nocma

/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.hpp"

namespace nocma
{

/*
 * Writes KTAP version 1: the plan first, one line per test in the order of the plan, diagnostics
 * before the line they belong to. Every line is flushed, so that a crash loses none.
 */
class KtapWriter
{
public:
	/* Prints the header and the plan. Throws Error when the plan is empty. */
	KtapWriter(std::FILE *out, std::vector<std::string> names);

	/* "# text", a line of its own for each line of the text. */
	void diagnostic(std::string_view text);

	/* Results of the next test of the plan. */
	void pass();
	void fail(std::string_view why);
	void skip(std::string_view reason);

	/* Prints the totals; fail if one failed or was not run, skip if none passed. */
	ExitCode finish();

private:
	const std::string &next_name();
	void line(std::string_view text);

	std::FILE *out_;
	std::vector<std::string> names_;
	std::size_t done_ = 0;
	std::size_t passed_ = 0;
	std::size_t failed_ = 0;
	std::size_t skipped_ = 0;
};

} // namespace nocma

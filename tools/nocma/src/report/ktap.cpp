// SPDX-License-Identifier: GPL-2.0-only
#include "report/ktap.hpp"

#include <utility>

#include <fmt/format.h>

#include "util/file.hpp"

namespace nocma
{

KtapWriter::KtapWriter(std::FILE *out, std::vector<std::string> names)
	: out_(out), names_(std::move(names))
{
	if (names_.empty())
		throw Error("no test to run");
	line("KTAP version 1");
	line(fmt::format("1..{}", names_.size()));
}

void KtapWriter::line(std::string_view text)
{
	fmt::print(out_, "{}\n", text);
	std::fflush(out_);
}

void KtapWriter::diagnostic(std::string_view text)
{
	for (const std::string &part : split_lines(text))
		line("# " + part);
}

const std::string &KtapWriter::next_name()
{
	if (done_ == names_.size())
		throw Error("KTAP: more results than planned tests");
	return names_[done_++];
}

void KtapWriter::pass()
{
	const std::string &name = next_name();

	passed_++;
	line(fmt::format("ok {} {}", done_, name));
}

void KtapWriter::fail(std::string_view why)
{
	const std::string &name = next_name();

	failed_++;
	diagnostic(fmt::format("{}: {}", name, why));
	line(fmt::format("not ok {} {}", done_, name));
}

void KtapWriter::skip(std::string_view reason)
{
	const std::string &name = next_name();

	skipped_++;
	line(fmt::format("ok {} {} # SKIP {}", done_, name, reason));
}

ExitCode KtapWriter::finish()
{
	line(fmt::format("# Totals: pass:{} fail:{} xfail:0 xpass:0 skip:{} error:{}", passed_,
			 failed_, skipped_, names_.size() - done_));
	if (failed_ != 0 || done_ != names_.size())
		return ExitCode::fail;
	return passed_ != 0 ? ExitCode::pass : ExitCode::skip;
}

} // namespace nocma

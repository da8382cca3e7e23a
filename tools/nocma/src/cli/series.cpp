// SPDX-License-Identifier: GPL-2.0-only
#include "cli/commands.hpp"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "series/assess.hpp"
#include "series/export.hpp"
#include "series/session.hpp"
#include "series/transaction.hpp"
#include "series/verify.hpp"
#include "util/cache.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/json_text.hpp"

namespace nocma::cli
{

namespace
{

namespace fs = std::filesystem;
using nlohmann::json;
using namespace series;

struct Options {
	std::string patches;
	std::string tree;
	std::string target;
	std::string folder; /* export -o */
	std::string mbox;
	std::string base;
	bool no_tests = false;
	bool as_json = false;
	bool dry_run = false;
};

/* --patches, else NOCMA_PATCHES (CLI11 reads it), else those that belong to this nocma. */
fs::path patches_folder(const Options &options)
{
	return options.patches.empty() ? own_patches() : fs::path(options.patches);
}

/* Where scripts/kernel keeps the pristine sources. */
fs::path cached_sources(const Target &target)
{
	return cache_folder() / "src" / target.name / "base";
}

SessionOptions session_options(const Options &options)
{
	return {.patches = patches_folder(options),
		.tree = options.tree.empty() ? "." : options.tree,
		.target = options.target,
		.tests = !options.no_tests};
}

json to_json(const Conflict &conflict)
{
	json object = {{"file", conflict.file}, {"why", conflict.why}};

	if (conflict.hunk != 0) {
		object["hunk"] = conflict.hunk;
		object["line"] = conflict.line;
	}
	return object;
}

json to_json(const PatchState &patch)
{
	json conflicts = json::array();

	for (const Conflict &conflict : patch.conflicts)
		conflicts.push_back(to_json(conflict));
	return {{"name", patch.patch->name},	     {"subject", patch.patch->subject()},
		{"test", patch.patch->test},	     {"state", to_string(patch.state)},
		{"conflicts", std::move(conflicts)}, {"note", patch.note}};
}

/* The head that all reports share. `result` is what became of the tree, or its state. */
json report(const Session &session, std::string_view result)
{
	return {{"format", "nocma-series-1"},
		{"target", session.set().target.name},
		{"version", session.tree().version.full},
		{"tree", session.tree().path.native()},
		{"kind", to_string(session.tree().kind)},
		{"result", result}};
}

void print_json(const json &object)
{
	fmt::print("{}\n", json_text(object, 2));
}

std::string summary(const Assessment &assessment)
{
	std::string text;

	for (const State state : {State::needed, State::applied, State::upstream, State::conflict})
		if (assessment.count(state) > 0)
			text += fmt::format("{}{} {}", text.empty() ? "" : ", ",
					    assessment.count(state), to_string(state));
	return text;
}

void print_status(const Session &session, const Assessment &assessment)
{
	fmt::print("{}: Linux {}, {} tree, series {}\n", session.tree().path.native(),
		   session.tree().version.full, to_string(session.tree().kind),
		   session.set().target.name);
	for (const PatchState &patch : assessment.patches) {
		fmt::print("  {:<8}  {}{}{}\n", to_string(patch.state), patch.patch->name,
			   patch.patch->test ? " (tests)" : "",
			   patch.note.empty() ? "" : fmt::format(" ({})", patch.note));
		for (const Conflict &conflict : patch.conflicts)
			fmt::print("            {}\n", to_string(conflict));
	}
	for (const UpstreamState &entry : assessment.upstream)
		fmt::print("  {:<8}  {} ({}){}\n", entry.present ? "upstream" : "absent",
			   entry.upstream->subject, entry.upstream->commit,
			   entry.present ? ""
					 : fmt::format(": {} has no {}", entry.upstream->file,
						       entry.upstream->text));
	fmt::print("{}\n", summary(assessment));
}

void print_status_json(const Session &session, const Assessment &assessment)
{
	json object = report(session, assessment.count(State::conflict) > 0 ? "conflict"
				      : assessment.count(State::needed) > 0 ? "needed"
									    : "applied");

	object["patches"] = json::array();
	for (const PatchState &patch : assessment.patches)
		object["patches"].push_back(to_json(patch));
	object["upstream"] = json::array();
	for (const UpstreamState &entry : assessment.upstream)
		object["upstream"].push_back({{"commit", entry.upstream->commit},
					      {"subject", entry.upstream->subject},
					      {"file", entry.upstream->file},
					      {"present", entry.present}});
	print_json(object);
}

ExitCode run_status(const Options &options)
{
	const InterruptGuard guard;
	const Session session(session_options(options));
	const Assessment assessment = session.assess();

	if (options.as_json)
		print_status_json(session, assessment);
	else
		print_status(session, assessment);
	return assessment.count(State::conflict) > 0 ? ExitCode::fail : ExitCode::pass;
}

/* What apply and unapply say at their end. */
void print_result(const Options &options, const Session &session, std::string_view result,
		  const std::vector<const Patch *> &patches, std::size_t upstream)
{
	if (options.as_json) {
		json object = report(session, result);

		object["patches"] = json::array();
		for (const Patch *patch : patches)
			object["patches"].push_back(patch->name);
		object["upstream"] = upstream;
		print_json(object);
		return;
	}
	fmt::print("{}: {} ({}, Linux {}{})\n", session.tree().path.native(), result,
		   session.set().target.name, session.tree().version.full,
		   upstream > 0 ? fmt::format(", {} in this kernel already", upstream) : "");
	for (const Patch *patch : patches)
		fmt::print("  {}\n", patch->name);
}

/* What apply and unapply share: everything but the direction. */
enum class Command { apply, unapply };

void say_recovered(const Session &session)
{
	fmt::print(stderr, "nocma: {}: an interrupted run was undone first\n",
		   session.tree().path.native());
}

ExitCode run_change(const Options &options, Command command)
{
	const bool applying = command == Command::apply;
	const InterruptGuard guard;
	Session session(session_options(options));
	std::optional<TreeLock> lock;

	if (!options.dry_run) {
		lock.emplace(session.tree().path);
		if (session.recover())
			say_recovered(session);
	}
	session.refuse_unready(applying);

	const Assessment assessment = session.assess();
	const std::size_t upstream = assessment.count(State::upstream);
	if (applying)
		refuse_conflicts(session.tree(), assessment);
	const std::vector<const Patch *> patches =
		assessment.with(applying ? State::needed : State::applied);

	if (patches.empty()) {
		print_result(options, session, applying ? "already applied" : "not applied",
			     patches, upstream);
		return ExitCode::pass;
	}
	if (options.dry_run) {
		print_result(options, session, applying ? "would be applied" : "would be unapplied",
			     patches, upstream);
		return ExitCode::pass;
	}
	applying ? session.apply(patches) : session.unapply(patches);
	print_result(options, session, applying ? "applied" : "unapplied", patches, upstream);
	return ExitCode::pass;
}

ExitCode run_apply(const Options &options)
{
	return run_change(options, Command::apply);
}

ExitCode run_unapply(const Options &options)
{
	return run_change(options, Command::unapply);
}

/* Prints checks as TAP, or gathers them for JSON. */
class VerifyReport
{
public:
	explicit VerifyReport(bool as_json) : as_json_(as_json)
	{
		if (!as_json_)
			fmt::print("TAP version 13\n");
	}

	void add(const Check &check)
	{
		const bool passed = check.defects.empty();

		number_++;
		failed_ += passed ? 0 : 1;
		skipped_ += check.skipped.empty() ? 0 : 1;
		if (as_json_) {
			checks_.push_back({{"name", check.name},
					   {"result", !passed		      ? "fail"
						      : check.skipped.empty() ? "pass"
									      : "skip"},
					   {"defects", check.defects},
					   {"reason", check.skipped}});
			return;
		}
		for (const std::string &defect : check.defects)
			fmt::print("# {}\n", defect);
		fmt::print("{} {} {}{}\n", passed ? "ok" : "not ok", number_, check.name,
			   check.skipped.empty() ? "" : " # SKIP " + check.skipped);
		std::fflush(stdout);
	}

	void begin(const Target &target, const KernelTree &tree)
	{
		if (as_json_)
			trees_.push_back({{"target", target.name},
					  {"version", tree.version.full},
					  {"tree", tree.path.native()}});
		else
			fmt::print("# {}: checked against Linux {} in {}\n", target.name,
				   tree.version.full, tree.path.native());
	}

	ExitCode end()
	{
		const ExitCode result = failed_ > 0	      ? ExitCode::fail
					: skipped_ == number_ ? ExitCode::skip
							      : ExitCode::pass;

		if (as_json_)
			print_json({{"format", "nocma-series-verify-1"},
				    {"result", result == ExitCode::pass	  ? "pass"
					       : result == ExitCode::fail ? "fail"
									  : "skip"},
				    {"trees", trees_},
				    {"checks", checks_}});
		else
			fmt::print("1..{}\n# {} passed, {} failed, {} skipped\n", number_,
				   number_ - failed_ - skipped_, failed_, skipped_);
		return result;
	}

private:
	bool as_json_;
	std::size_t number_ = 0;
	std::size_t failed_ = 0;
	std::size_t skipped_ = 0;
	json trees_ = json::array();
	json checks_ = json::array();
};

std::string reason_to_skip(const Target &target, const fs::path &tree)
{
	if (!target.ready())
		return "no series yet";
	if (fs::exists(tree))
		return "";
	if (target.package.empty())
		return "in no Debian suite: give its sources with --tree DIR";
	return fmt::format("no sources: scripts/kernel prepare {}", target.name);
}

ExitCode run_verify(const Options &options)
{
	const InterruptGuard guard;
	const fs::path patches = patches_folder(options);
	std::vector<Target> targets = load_targets(patches);

	if (!options.tree.empty())
		targets = {target_of_tree(targets, open_tree(options.tree), options.target)};
	else if (!options.target.empty())
		targets = {find_target(targets, options.target)};
	VerifyReport report(options.as_json); /* the plan's line, so after all usage errors */
	for (const Target &target : targets) {
		const fs::path tree =
			options.tree.empty() ? cached_sources(target) : fs::path(options.tree);
		const std::string reason = reason_to_skip(target, tree);

		if (!reason.empty()) {
			report.add({.name = target.name, .skipped = reason});
			continue;
		}
		const KernelTree opened = open_tree(tree);
		report.begin(target, opened);
		verify_target(patches, target, opened.path,
			      [&](const Check &check) { report.add(check); });
	}
	return report.end();
}

ExitCode run_export(const Options &options)
{
	const fs::path patches = patches_folder(options);
	const std::vector<Target> targets = load_targets(patches);
	const PatchSet set =
		load_patch_set(patches, find_target(targets, options.target), !options.no_tests);

	if (!options.folder.empty()) {
		for (const std::string &name : export_folder(set, options.folder, options.dry_run))
			fmt::print("{}\n", (fs::path(options.folder) / name).native());
		return ExitCode::pass;
	}
	const std::string mbox = to_mbox(set, resolve_base(options.base, options.tree));
	if (options.mbox == "-") {
		fmt::print("{}", mbox);
		return ExitCode::pass;
	}
	if (!options.dry_run)
		write_output(options.mbox, mbox);
	fmt::print("{}\n", options.mbox);
	return ExitCode::pass;
}

using Shared = std::shared_ptr<Options>;

std::string way_out(int error)
{
	switch (error) {
	case ENOSPC:
	case EDQUOT:
		return "; make some room and run again";
	case EROFS:
	case EACCES:
	case EPERM:
		return "; make it writable, or work on a copy";
	default:
		return "";
	}
}

/* Runs the command; errors of files are completed by what the user can do about them. */
void explain(ExitCode &result, ExitCode (*command)(const Options &), const Options &options)
{
	try {
		result = command(options);
	} catch (const SystemError &error) {
		throw Error(error.what() + way_out(error.error()));
	} catch (const fs::filesystem_error &error) {
		throw Error(fmt::format(
			"{}: {}{}",
			(error.path2().empty() ? error.path1() : error.path2()).native(),
			error.code().message(), way_out(error.code().value())));
	}
}

void add_common(CLI::App &app, const Shared &options)
{
	app.add_option("--patches", options->patches,
		       "folder with targets.conf and the series (default: the repository that "
		       "nocma was built from)")
		->envname("NOCMA_PATCHES")
		->type_name("DIR");
	app.add_option("TARGET", options->target,
		       "v6.12 and the like, a line of targets.conf (default: by the tree)");
}

void add_tree(CLI::App &app, const Shared &options, const std::string &help)
{
	app.add_option("--tree", options->tree, help)->type_name("DIR");
}

void add_json(CLI::App &app, const Shared &options)
{
	app.add_flag("--json", options->as_json, "print one JSON object instead of text");
}

void add_no_tests(CLI::App &app, const Shared &options)
{
	app.add_flag("--no-tests", options->no_tests,
		     "leave out the patches under the series' '# tests' heading");
}

void add_dry_run(CLI::App &app, const Shared &options)
{
	app.add_flag("--dry-run", options->dry_run, "say what would be done, change nothing");
}

constexpr const char *tree_help = "kernel source tree, a folder or a git work tree (default: .)";

void add_status(CLI::App &parent, ExitCode &result)
{
	CLI::App &app = *parent.add_subcommand(
		"status", "say for each patch: needed, applied, upstream or conflict");
	const Shared options = std::make_shared<Options>();

	add_common(app, options);
	add_tree(app, options, tree_help);
	add_no_tests(app, options);
	add_json(app, options);
	app.callback([options, &result] { explain(result, run_status, *options); });
}

void add_change(CLI::App &parent, ExitCode &result, Command command)
{
	const bool applying = command == Command::apply;
	CLI::App &app = *parent.add_subcommand(applying ? "apply" : "unapply",
					       applying ? "apply the series, all of it or nothing"
							: "take the series out again");
	const Shared options = std::make_shared<Options>();

	add_common(app, options);
	add_tree(app, options, tree_help);
	if (applying)
		add_no_tests(app, options);
	add_dry_run(app, options);
	add_json(app, options);
	app.callback([options, &result, applying] {
		explain(result, applying ? run_apply : run_unapply, *options);
	});
}

void add_verify(CLI::App &parent, ExitCode &result)
{
	CLI::App &app = *parent.add_subcommand(
		"verify", "prove the series against pristine sources (default: of all targets)");
	const Shared options = std::make_shared<Options>();

	add_common(app, options);
	add_tree(app, options, "pristine sources (default: those that scripts/kernel prepared)");
	add_json(app, options);
	app.callback([options, &result] { explain(result, run_verify, *options); });
}

void add_export(CLI::App &parent, ExitCode &result)
{
	CLI::App &app =
		*parent.add_subcommand("export", "write the series for other tools to take");
	const Shared options = std::make_shared<Options>();

	add_common(app, options);
	app.get_option("TARGET")->required();
	CLI::Option_group &form = *app.add_option_group("form", "one of these");
	form.add_option("-o,--output", options->folder, "new folder for quilt")->type_name("DIR");
	CLI::Option *mbox = form.add_option("--mbox", options->mbox,
					    "mbox for git am and b4; - is standard output")
				    ->type_name("FILE");
	form.require_option(1);
	app.add_option("--base", options->base, "commit to note as base-commit in the mbox")
		->needs(mbox);
	add_tree(app, options, "git tree that knows --base");
	add_no_tests(app, options);
	add_dry_run(app, options);
	app.callback([options, &result] { explain(result, run_export, *options); });
}

} // namespace

void add_series(CLI::App &app, ExitCode &result)
{
	CLI::App &series = *app.add_subcommand(
		"series", "apply, check and carry the patch series of a kernel");

	series.require_subcommand(1);
	add_status(series, result);
	add_change(series, result, Command::apply);
	add_change(series, result, Command::unapply);
	add_verify(series, result);
	add_export(series, result);
}

} // namespace nocma::cli

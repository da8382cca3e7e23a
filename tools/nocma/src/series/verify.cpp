// SPDX-License-Identifier: GPL-2.0-only
#include "series/verify.hpp"

#include <optional>
#include <set>

#include <fmt/format.h>

#include "series/export.hpp"
#include "series/patch_set.hpp"
#include "series/scratch.hpp"
#include "util/error.hpp"
#include "util/file.hpp"
#include "util/interrupt.hpp"
#include "util/process.hpp"

namespace nocma::series
{

namespace
{

namespace fs = std::filesystem;

std::vector<std::string> output_lines(const ProcessResult &result)
{
	std::vector<std::string> lines = split_lines(trim(result.out));

	for (const std::string &line : split_lines(trim(result.err)))
		lines.push_back(line);
	if (lines.empty())
		lines.push_back(fmt::format("exit status {}", result.status));
	return lines;
}

/* Runs the commands until one fails, whose output are the defects. */
std::vector<std::string> run_all(const std::vector<std::vector<std::string>> &commands,
				 const ProcessOptions &options)
{
	for (const std::vector<std::string> &command : commands) {
		InterruptGuard::check();
		const ProcessResult result = run(command, options);

		if (!result.ok())
			return output_lines(result);
	}
	return {};
}

/* Nothing of the user's configuration, so that the verdict is the same everywhere. */
std::vector<std::string> git_environment()
{
	return {"LC_ALL=C",
		"GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=nocma",
		"GIT_AUTHOR_EMAIL=nocma@localhost",
		"GIT_COMMITTER_NAME=nocma",
		"GIT_COMMITTER_EMAIL=nocma@localhost"};
}

std::vector<std::string> git_am(const fs::path &dir, const PatchSet &set, const fs::path &patches)
{
	std::vector<std::string> am = {"git", "am", "-q", "--no-3way"};

	for (const Patch &patch : set.patches)
		am.push_back((patches / patch.name).native());
	return run_all({{"git", "init", "-q"},
			{"git", "add", "--force", "--all"},
			{"git", "commit", "-q", "--allow-empty", "-m", "base"},
			am},
		       {.directory = dir, .environment = git_environment()});
}

std::vector<std::string> quilt_push(const fs::path &dir, const fs::path &patches)
{
	return run_all({{"quilt", "--quiltrc=-", "push", "-a", "--fuzz=0"}},
		       {.directory = dir,
			.environment = {"LC_ALL=C", "QUILT_PC=.pc", "QUILT_SERIES=series",
					fmt::format("QUILT_PATCHES={}", patches.native())}});
}

bool is_executable(const fs::path &path)
{
	return (fs::status(path).permissions() & fs::perms::owner_exec) != fs::perms::none;
}

std::vector<std::string> differences(const fs::path &one, const fs::path &other,
				     const std::set<std::string> &files)
{
	std::vector<std::string> defects;

	for (const std::string &file : files) {
		const std::optional<std::string> text = try_read_file(one / file);

		if (text != try_read_file(other / file) ||
		    (text && is_executable(one / file) != is_executable(other / file)))
			defects.push_back(fmt::format("{}: not the same after both", file));
	}
	return defects;
}

std::vector<std::string> checkpatch(const fs::path &tree, const fs::path &patch)
{
	/* A source package cannot say whether it has the commits that a patch names. */
	const ProcessResult result =
		run({"perl", (tree / "scripts/checkpatch.pl").native(), "--strict", "--terse",
		     "--show-types", "--no-summary", "--color=never", "--ignore",
		     "UNKNOWN_COMMIT_ID", patch.native()},
		    {.directory = tree, .environment = {"LC_ALL=C"}});

	/* It exits with 0 for a patch with CHECKs only. */
	if (result.ok() && trim(result.out).empty())
		return {};
	return output_lines(result);
}

class Verifier
{
public:
	Verifier(const Target &target, const fs::path &tree, const CheckSink &sink)
		: target_(target), tree_(tree), sink_(sink)
	{
	}

	void verify(const fs::path &patches)
	{
		std::optional<PatchSet> set;

		check("patches and SHA256SUMS", [&] {
			set = load_patch_set(patches, target_, true);
			return std::vector<std::string>();
		});
		if (set)
			verify(*set);
	}

private:
	void verify(const PatchSet &set)
	{
		for (const Patch &patch : set.patches)
			if (!patch.generated)
				check(patch.name + " mail form",
				      [&] { return mail_form_defects(patch); });
		for (const Upstream &upstream : set.upstream)
			check(fmt::format("upstream {}", upstream.commit),
			      [&] { return absent(upstream); });
		verify_applying(set);
		for (const Patch &patch : set.patches)
			if (!patch.generated)
				check(patch.name + " checkpatch --strict",
				      [&] { return checkpatch(tree_, set.dir / patch.name); });
	}

	void verify_applying(const PatchSet &set)
	{
		const TempDir by_git("nocma-git-am");
		const TempDir by_quilt("nocma-quilt");
		const TempDir exported("nocma-export");

		export_folder(set, exported.path(), false);
		copy_files(tree_, by_git.path(), set.files());
		copy_files(tree_, by_quilt.path(), set.files());
		const bool git = check("git am",
				       [&] { return git_am(by_git.path(), set, exported.path()); });
		const bool quilt = check("quilt push --fuzz=0", [&] {
			return quilt_push(by_quilt.path(), exported.path());
		});
		if (git && quilt)
			check("git am and quilt agree", [&] {
				return differences(by_git.path(), by_quilt.path(), set.files());
			});
	}

	[[nodiscard]] std::vector<std::string> absent(const Upstream &upstream) const
	{
		const std::optional<std::string> text = try_read_file(tree_ / upstream.file);

		if (text && text->find(upstream.text) != std::string::npos)
			return {};
		return {fmt::format("{} is not in {}: {}", upstream.text, upstream.file,
				    upstream.subject)};
	}

	template <typename Work> bool check(const std::string &name, const Work &work)
	{
		Check result{.name = fmt::format("{} {}", target_.name, name)};

		InterruptGuard::check();
		try {
			result.defects = work();
		} catch (const Error &error) {
			result.defects = {error.what()};
		}
		sink_(result);
		return result.defects.empty();
	}

	const Target &target_;
	const fs::path &tree_;
	const CheckSink &sink_;
};

} // namespace

void verify_target(const fs::path &patches, const Target &target, const fs::path &tree,
		   const CheckSink &sink)
{
	Verifier(target, tree, sink).verify(patches);
}

} // namespace nocma::series

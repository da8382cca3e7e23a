// SPDX-License-Identifier: GPL-2.0-only
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "series/assess.hpp"
#include "series/export.hpp"
#include "series/patch.hpp"
#include "series/patch_set.hpp"
#include "series/scratch.hpp"
#include "series/targets.hpp"
#include "series/transaction.hpp"
#include "series/tree.hpp"
#include "util/error.hpp"
#include "util/file.hpp"

using namespace nocma;
using namespace nocma::series;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace
{

namespace fs = std::filesystem;

/* The message of the Error that `work` throws; empty when it throws none. */
template <typename Work> std::string error_of(const Work &work)
{
	try {
		work();
	} catch (const Error &error) {
		return error.what();
	}
	return {};
}

const std::string head = "From 0000 Mon Sep 17 00:00:00 2001\n"
			 "From: A Dev\n <dev@example.org>\n"
			 "Date: Mon, 30 Nov 2026 12:00:00 +0000\n"
			 "Subject: [PATCH 1/2] mm: a subject that is\n so long that it is folded\n"
			 "Origin: other, test\nForwarded: not-needed\nLast-Update: 2026-11-30\n\n"
			 "Why this is so.\n\nSigned-off-by: A Dev <dev@example.org>\n---\n"
			 " f | 2 +-\n\n";
const std::string diff = "diff --git a/dir/f b/dir/f\n--- a/dir/f\n+++ b/dir/f\n"
			 "@@ -2,3 +2,3 @@ context\n two\n-three\n+drei\n four\n";
const std::string creation = "diff --git a/new b/new\nnew file mode 100644\n--- /dev/null\n"
			     "+++ b/new\n@@ -0,0 +1,2 @@\n+one\n+two\n";

std::string replaced(std::string text, const std::string &from, const std::string &to)
{
	const std::size_t at = text.find(from);

	EXPECT_NE(at, std::string::npos) << from;
	return text.replace(at, from.size(), to);
}

std::string refusal(const std::string &text)
{
	return error_of([&] { parse_patch("p.patch", text); });
}

void write(const fs::path &path, const std::string &text)
{
	fs::create_directories(path.parent_path());
	write_atomic(path, text);
}

} // namespace

TEST(SeriesTargets, ReadsColumnsListsAndNote)
{
	const std::vector<Target> targets =
		parse_targets("# comment\n\nv4.15 - 4.15,4.16 - planned\n"
			      "v6.12  linux-source-6.12  6.12  a,b  ready  two words\n",
			      "conf");

	ASSERT_EQ(targets.size(), 2U);
	EXPECT_EQ(targets[0].package, "");
	EXPECT_THAT(targets[0].versions, ElementsAre("4.15", "4.16"));
	EXPECT_THAT(targets[0].suites, IsEmpty());
	EXPECT_FALSE(targets[0].ready());
	EXPECT_THAT(targets[1].suites, ElementsAre("a", "b"));
	EXPECT_EQ(targets[1].note, "two words");
	EXPECT_TRUE(targets[1].ready());
	EXPECT_EQ(target_for_version(targets, "4.16").name, "v4.15");
	EXPECT_THAT(error_of([&] { target_for_version(targets, "6.1"); }),
		    HasSubstr("series exist for v4.15, v6.12"));
	EXPECT_THAT(error_of([&] { find_target(targets, "v1"); }), HasSubstr("v4.15, v6.12"));
}

TEST(SeriesTargets, NamesTheMalformedLine)
{
	EXPECT_THAT(error_of([] { parse_targets("\nv6.12 package 6.12 suite\n", "conf"); }),
		    HasSubstr("conf line 2"));
	EXPECT_THAT(error_of([] { parse_targets("a - 1 - ready\na - 2 - ready\n", "conf"); }),
		    HasSubstr("line 2: a is there twice"));
}

TEST(SeriesTree, ReadsTheVersionOfEveryKindOfRelease)
{
	EXPECT_EQ(parse_makefile("# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\n"
				 "EXTRAVERSION =\nNAME = x\n",
				 "Makefile")
			  .full,
		  "6.12.117");
	const TreeVersion candidate = parse_makefile(
		"VERSION=7\nPATCHLEVEL=2\nSUBLEVEL=0\nEXTRAVERSION = -rc3\n", "Makefile");
	EXPECT_EQ(candidate.series, "7.2");
	EXPECT_EQ(candidate.full, "7.2.0-rc3");
}

TEST(SeriesTree, RefusesOtherMakefiles)
{
	EXPECT_THROW(parse_makefile("all:\n\ttrue\n", "Makefile"), UsageError);
	EXPECT_THROW(parse_makefile("VERSION = 1.0\nPATCHLEVEL = x\n", "Makefile"), UsageError);
	/* Assignments further down are not the kernel's version. */
	EXPECT_THROW(parse_makefile("all:\nVERSION = 6\nPATCHLEVEL = 1\n", "Makefile"), UsageError);
}

TEST(SeriesPatch, ReadsHeadersMessageAndFiles)
{
	const Patch patch = parse_patch("p.patch", head + diff + creation);

	EXPECT_EQ(patch.header("from"), "A Dev <dev@example.org>");
	EXPECT_EQ(patch.subject(), "mm: a subject that is so long that it is folded");
	ASSERT_EQ(patch.files.size(), 2U);
	EXPECT_EQ(patch.files[0].name(), "dir/f");
	ASSERT_EQ(patch.files[0].hunks.size(), 1U);
	EXPECT_EQ(patch.files[0].hunks[0].line, 2U);
	EXPECT_TRUE(patch.files[1].old_name.empty());
	EXPECT_THAT(mail_form_defects(patch), IsEmpty());
	EXPECT_THAT(files_of({&patch}), ElementsAre("dir/f", "new"));
}

TEST(SeriesPatch, TakesSignaturesAndStrippedBlanks)
{
	EXPECT_EQ(refusal(head + diff + "-- \n2.39.5\n"), "");
	EXPECT_EQ(refusal(head + replaced(diff, " two\n", "\n")), "");
	EXPECT_EQ(refusal(head + diff + "\\ No newline at end of file\n"), "");
	/* A removed line that looks like a header of a file. */
	EXPECT_EQ(refusal(head + replaced(replaced(diff, "-three", "--- a/x"), "+drei", "+++ b/x")),
		  "");
}

TEST(SeriesPatch, RefusesWhatWouldApplyWrongly)
{
	EXPECT_THAT(refusal(head + replaced(diff, "drei\n", "drei\r\n")), HasSubstr("CRLF"));
	EXPECT_THAT(refusal(head + replaced(creation, "+two\n", "+two\r\n")), HasSubstr("CRLF"));
	EXPECT_THAT(refusal(head + diff + std::string(1, '\0')), HasSubstr("NUL"));
	EXPECT_THAT(
		refusal(replaced(head, "Origin:", "Content-Transfer-Encoding: BASE64\nOrigin:") +
			"ZGlmZg==\n"),
		HasSubstr("base64-encoded"));
	EXPECT_THAT(refusal(replaced(head, "Origin:",
				     "Content-Transfer-Encoding: quoted-printable\nOrigin:") +
			    replaced(diff, "drei", "=64rei")),
		    HasSubstr("quoted-printable-encoded"));
	EXPECT_THAT(refusal(replaced(head, "Origin:",
				     "Content-Type: multipart/mixed; boundary=x\nOrigin:") +
			    diff),
		    HasSubstr("several parts"));
	EXPECT_THAT(refusal(replaced(head, "Signed-off-by", "Acked-by") + diff),
		    HasSubstr("no Signed-off-by"));
	EXPECT_THAT(refusal(head + replaced(diff, "--- a/dir", "--- dir")),
		    HasSubstr("wrong strip level"));
	EXPECT_THAT(refusal(head + replaced(diff, "+++ b/dir/f", "+++ b/../f")),
		    HasSubstr("leaves the tree"));
	EXPECT_THAT(refusal(head + replaced(diff, "+++ b/dir/f", "+++ b//etc/f")),
		    HasSubstr("leaves the tree"));
	EXPECT_THAT(refusal(head + replaced(diff, "+++ b/dir/f", "+++ b/dir/g")),
		    HasSubstr("--no-renames"));
	EXPECT_THAT(refusal(head + diff + "diff --git a/x b/x\nold mode 100644\nnew mode 100755\n"),
		    HasSubstr("without changing its lines"));
	EXPECT_THAT(refusal(head + diff + "diff --git a/x b/x\nGIT binary patch\n"),
		    HasSubstr("binary"));
	EXPECT_THAT(refusal(head), HasSubstr("no diff"));
	EXPECT_THAT(refusal("not a mail\n" + diff), HasSubstr("line 1: no mail header"));
}

TEST(SeriesPatch, RefusesTruncatedAndDamagedHunks)
{
	EXPECT_THAT(refusal(head + replaced(diff, " four\n", "")), HasSubstr("truncated"));
	EXPECT_THAT(refusal(head + replaced(diff, " four\n", " four")), HasSubstr("truncated"));
	EXPECT_THAT(refusal(head + replaced(diff, "-2,3", "-2,2")), HasSubstr("damaged"));
	EXPECT_THAT(refusal(head + replaced(diff, "+drei", "drei")), HasSubstr("damaged"));
	EXPECT_THAT(refusal(head + replaced(diff, "@@ -2,3", "@@ -x,3")), HasSubstr("damaged"));
	EXPECT_THAT(refusal(head + "--- a/dir/f\n+++ b/dir/f\n"), HasSubstr("no hunk for dir/f"));
	/* More digits than any line number has: an answer, not a crash. */
	EXPECT_THAT(refusal(head + replaced(diff, "-2,3", "-2,99999999999999999999999")),
		    HasSubstr("damaged"));
}

TEST(SeriesPatch, EachPartOfTheMailFormIsMissed)
{
	const auto defects = [](const std::string &from, const std::string &to) {
		return mail_form_defects(parse_patch("p", replaced(head, from, to) + diff));
	};

	EXPECT_THAT(defects("A Dev\n <dev@example.org>", "dev@example.org"),
		    ElementsAre(HasSubstr("From:")));
	EXPECT_THAT(defects("Date:", "X-Date:"), ElementsAre(HasSubstr("Date:")));
	EXPECT_THAT(defects("[PATCH 1/2] ", ""), ElementsAre(HasSubstr("[PATCH")));
	EXPECT_THAT(defects("Why this is so.\n", ""), ElementsAre(HasSubstr("why")));
	EXPECT_THAT(defects("Origin:", "X-Origin:"), ElementsAre(HasSubstr("Origin")));
	EXPECT_THAT(defects("not-needed", "maybe"), ElementsAre(HasSubstr("Forwarded")));
	EXPECT_THAT(defects("2026-11-30", "30.11.2026"), ElementsAre(HasSubstr("Last-Update")));
	EXPECT_THAT(defects("\n---\n", "\n----\n"), ElementsAre(HasSubstr("'---'")));
}

TEST(SeriesFile, ReadsHeadingCommentsAndUpstream)
{
	const SeriesFile series = parse_series(
		"# a series\n# upstream: 74388ca483a4 a/b.c within_size drm/i915: huge\n"
		"1.patch\n2.patch -p1 # comment\n# tests\n3.patch\n",
		"series");

	ASSERT_EQ(series.entries.size(), 3U);
	EXPECT_EQ(series.entries[1].name, "2.patch");
	EXPECT_FALSE(series.entries[1].test);
	EXPECT_TRUE(series.entries[2].test);
	ASSERT_EQ(series.upstream.size(), 1U);
	EXPECT_EQ(series.upstream[0].commit, "74388ca483a4");
	EXPECT_EQ(series.upstream[0].file, "a/b.c");
	EXPECT_EQ(series.upstream[0].text, "within_size");
	EXPECT_EQ(series.upstream[0].subject, "drm/i915: huge");
	EXPECT_THAT(series.comments, HasSubstr("# a series\n"));
}

TEST(SeriesFile, RefusesWhatQuiltWouldDoOtherwise)
{
	EXPECT_THAT(error_of([] { parse_series("1.patch -p0\n", "s"); }), HasSubstr("-p0"));
	EXPECT_THAT(error_of([] { parse_series("x/1.patch\n", "s"); }), HasSubstr("folder"));
	EXPECT_THAT(error_of([] { parse_series("# nothing\n", "s"); }), HasSubstr("no patch"));
	EXPECT_THAT(error_of([] { parse_series("1.patch\r\n", "s"); }), HasSubstr("CRLF"));
	EXPECT_THAT(error_of([] { parse_series("# upstream: 1 f\n1.patch\n", "s"); }),
		    HasSubstr("line 1"));
}

TEST(SeriesChecksums, ComparesEveryFileBothWays)
{
	const TempDir dir("nocma-test");
	/* sha256sum of "x\n" */
	const std::string sum = "73cb3858a687a8494ca3323053016282f3dad39d42cf62ca4e79dda2aac7d9ac";

	write(dir.path() / "1.patch", "x\n");
	write(dir.path() / "SHA256SUMS", sum + "  1.patch\n");
	EXPECT_EQ(error_of([&] { check_checksums(dir.path()); }), "");
	write(dir.path() / "1.patch", "y\n");
	EXPECT_THAT(error_of([&] { check_checksums(dir.path()); }), HasSubstr("1.patch: does not"));
	write(dir.path() / "1.patch", "x\n");
	write(dir.path() / "2.patch", "x\n");
	EXPECT_THAT(error_of([&] { check_checksums(dir.path()); }),
		    HasSubstr("no sum for 2.patch"));
	write(dir.path() / "SHA256SUMS", sum + "  1.patch\n" + sum + "  2.patch\n" + sum + "  3\n");
	EXPECT_THAT(error_of([&] { check_checksums(dir.path()); }), HasSubstr("lists 3"));
	write(dir.path() / "SHA256SUMS", "nonsense\n");
	EXPECT_THAT(error_of([&] { check_checksums(dir.path()); }), HasSubstr("sha256sum"));
}

TEST(SeriesScratch, ReadsWhatPatchPrints)
{
	const std::vector<Conflict> conflicts = parse_patch_output(
		"checking file mm/a.c\nHunk #1 succeeded at 5 (offset 2 lines).\n"
		"Hunk #2 FAILED at 20.\n1 out of 2 hunks FAILED\nchecking file mm/b.c\n"
		"Not deleting file mm/b.c as content differs from patch\n");

	ASSERT_EQ(conflicts.size(), 2U);
	EXPECT_EQ(to_string(conflicts[0]), "mm/a.c: hunk 2 at line 20 does not match");
	EXPECT_EQ(to_string(conflicts[1]), "mm/b.c: has other content");
}

TEST(SeriesScratch, AppliesAllOrNothingWithoutFuzz)
{
	const TempDir tree("nocma-test");
	const Patch patch = parse_patch("p", head + diff + creation);
	const std::string before = "one\ntwo\nthree\nfour\nfive\n";

	write(tree.path() / "dir/f", before);
	Scratch scratch(tree.path(), files_of({&patch}));
	EXPECT_THAT(scratch.apply(patch, Direction::forward), IsEmpty());
	EXPECT_EQ(read_file(scratch.path() / "dir/f"), "one\ntwo\ndrei\nfour\nfive\n");
	EXPECT_EQ(read_file(scratch.path() / "new"), "one\ntwo\n");
	EXPECT_THAT(scratch.apply(patch, Direction::reverse), IsEmpty());
	EXPECT_EQ(read_file(scratch.path() / "dir/f"), before);
	EXPECT_FALSE(fs::exists(scratch.path() / "new"));
	EXPECT_EQ(read_file(tree.path() / "dir/f"), before);

	/* Context of one line differs: patch would take that with fuzz. */
	write(scratch.path() / "dir/f", "one\nzwei\nthree\nfour\nfive\n");
	const std::vector<Conflict> conflicts = scratch.apply(patch, Direction::forward);
	ASSERT_EQ(conflicts.size(), 1U);
	EXPECT_EQ(conflicts[0].file, "dir/f");
	EXPECT_EQ(conflicts[0].hunk, 1U);
	EXPECT_FALSE(fs::exists(scratch.path() / "new"));
}

TEST(SeriesAssess, TellsTheStatesApart)
{
	const TempDir tree("nocma-test");
	PatchSet set;
	const auto states = [&](const std::set<std::string> &recorded) {
		std::vector<State> result;
		for (const PatchState &state : assess(tree.path(), set, recorded).patches)
			result.push_back(state.state);
		return result;
	};

	set.patches.push_back(parse_patch("1", head + diff));
	set.patches.push_back(parse_patch("2", head + creation));
	write(tree.path() / "dir/f", "one\ntwo\nthree\nfour\n");
	EXPECT_THAT(states({}), ElementsAre(State::needed, State::needed));
	write(tree.path() / "new", "one\ntwo\n");
	EXPECT_THAT(states({}), ElementsAre(State::needed, State::upstream));
	EXPECT_THAT(states({"2"}), ElementsAre(State::needed, State::applied));
	write(tree.path() / "dir/f", "one\ntwo\ndrei\nfour\n");
	EXPECT_THAT(states({}), ElementsAre(State::applied, State::applied));
	EXPECT_THAT(states({"1"}), ElementsAre(State::applied, State::upstream));
	write(tree.path() / "dir/f", "one\ntwo\nother\nfour\n");
	EXPECT_THAT(states({}), ElementsAre(State::conflict, State::upstream));
	EXPECT_THAT(states({"1"}), ElementsAre(State::applied, State::upstream));
}

TEST(SeriesTestSources, AreOneMorePatchMadeFromTheFiles)
{
	const TempDir root("nocma-test");
	const Patch like = parse_patch("p", head + diff);

	EXPECT_FALSE(test_sources(root.path() / "patches", like));
	write(root.path() / "mm/t.c", "one\n\ntwo");
	write(root.path() / "include/uapi/t.h", "three\n");
	const std::optional<Patch> patch = test_sources(root.path() / "patches", like);
	ASSERT_TRUE(patch);
	EXPECT_TRUE(patch->test);
	EXPECT_THAT(mail_form_defects(*patch), IsEmpty());
	Scratch scratch(root.path() / "absent", {});
	EXPECT_THAT(scratch.apply(*patch, Direction::forward), IsEmpty());
	EXPECT_EQ(read_file(scratch.path() / "mm/t.c"), "one\n\ntwo");
	EXPECT_EQ(read_file(scratch.path() / "include/uapi/t.h"), "three\n");
}

TEST(SeriesExport, NumbersAndThreadsTheMbox)
{
	PatchSet set;

	set.target.name = "v1";
	set.patches.push_back(parse_patch("1", head + diff));
	set.patches.push_back(parse_patch("2", head + creation));
	const std::string mbox = to_mbox(set, "0123");
	EXPECT_THAT(mbox, HasSubstr("Subject: [PATCH 1/2] mm: a subject"));
	EXPECT_THAT(mbox, HasSubstr("Subject: [PATCH 2/2] mm: a subject"));
	EXPECT_THAT(mbox, HasSubstr("\nbase-commit: 0123\n"));
	EXPECT_EQ(mbox, to_mbox(set, "0123"));
	EXPECT_EQ(to_mbox(set, "").find("base-commit"), std::string::npos);
}

/* What a process that dies after so many steps leaves behind, and recover() makes of it. */
class SeriesTransaction : public testing::TestWithParam<std::size_t>
{
protected:
	SeriesTransaction() : tree_("nocma-test"), content_("nocma-test")
	{
		write(tree_.path() / "a/changed", "old\n");
		write(tree_.path() / "b/removed", "old\n");
		write(content_.path() / "changed", "new\n");
		write(content_.path() / "created", "new\n");
	}

	void stage(Transaction &transaction)
	{
		transaction.stage("a/changed", content_.path() / "changed");
		transaction.stage_removal("b/removed");
		transaction.stage("c/d/created", content_.path() / "created");
	}

	void expect_old() const
	{
		EXPECT_EQ(read_file(tree_.path() / "a/changed"), "old\n");
		EXPECT_EQ(read_file(tree_.path() / "b/removed"), "old\n");
		EXPECT_FALSE(fs::exists(tree_.path() / "c"));
		EXPECT_FALSE(fs::exists(tree_.path() / ".nocma"));
	}

	TempDir tree_;
	TempDir content_;
};

TEST_P(SeriesTransaction, IsUndoneWhereverItStops)
{
	/* The destructor must not help: a killed process has none. */
	const auto abandoned = std::make_unique<Transaction>(tree_.path()).release();

	stage(*abandoned);
	if (GetParam() > 0) {
		abandoned->prepare({"1.patch"});
		EXPECT_TRUE(is_interrupted(tree_.path()));
	}
	for (std::size_t i = 0; i + 1 < GetParam(); i++)
		abandoned->install(i);
	EXPECT_EQ(recover(tree_.path()), GetParam() > 0);
	expect_old();
	EXPECT_FALSE(recover(tree_.path()));
	/* Only its memory: the tree is as it was, so this does nothing to it. */
	delete abandoned;
	expect_old();
}

/* 0: staged only; 1: prepared; then one, two, three files exchanged. */
INSTANTIATE_TEST_SUITE_P(Steps, SeriesTransaction, testing::Range<std::size_t>(0, 5));

TEST_F(SeriesTransaction, CommitsWithARecord)
{
	Transaction transaction(tree_.path());

	stage(transaction);
	transaction.run({"1.patch"});
	EXPECT_EQ(read_file(tree_.path() / "a/changed"), "new\n");
	EXPECT_FALSE(fs::exists(tree_.path() / "b"));
	EXPECT_EQ(read_file(tree_.path() / "c/d/created"), "new\n");
	EXPECT_FALSE(is_interrupted(tree_.path()));
	EXPECT_THAT(recorded_patches(tree_.path()), ElementsAre("1.patch"));
}

TEST_F(SeriesTransaction, AnErrorInTheMiddleUndoesIt)
{
	EXPECT_NE(error_of([&] {
			  Transaction transaction(tree_.path());
			  stage(transaction);
			  /* In the way of a folder. */
			  write(tree_.path() / "c", "file\n");
			  try {
				  transaction.run({"1.patch"});
			  } catch (const fs::filesystem_error &error) {
				  throw Error(error.what());
			  }
		  }),
		  "");
	fs::remove(tree_.path() / "c");
	expect_old();
}

TEST_F(SeriesTransaction, RecoveryKeepsLaterWork)
{
	const auto abandoned = std::make_unique<Transaction>(tree_.path()).release();

	stage(*abandoned);
	abandoned->prepare({});
	abandoned->install(0);
	write(tree_.path() / "a/changed", "somebody's work\n");
	EXPECT_THAT(error_of([&] { recover(tree_.path()); }),
		    HasSubstr("a/changed: changed after"));
	EXPECT_EQ(read_file(tree_.path() / "a/changed"), "somebody's work\n");
	fs::remove(tree_.path() / "a/changed");
	EXPECT_TRUE(recover(tree_.path()));
	expect_old();
	delete abandoned;
}

TEST(SeriesLock, KeepsASecondOneOut)
{
	const TempDir tree("nocma-test");
	const TreeLock lock(tree.path());

	EXPECT_THAT(error_of([&] { const TreeLock second(tree.path()); }), HasSubstr("at work"));
}

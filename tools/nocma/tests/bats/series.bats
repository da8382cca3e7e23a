#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# `nocma series` as its users call it, on a small tree that looks like a kernel's and a series of
# three patches for it. NOCMA names the binary.
#
# shellcheck disable=SC2154,SC2164,SC2030,SC2031 # bats: run's variables, set -e, subshells

bats_require_minimum_version 1.5.0

# --- the fixture ---------------------------------------------------------------------------

git_quiet() {
	git -c user.name='A Dev' -c user.email=dev@example.org -c init.defaultBranch=main \
		-c core.autocrlf=false "$@"
}

make_tree() {
	mkdir -p "$1"/{mm,kernel/dma,scripts,drivers}
	printf '%s\n' '# SPDX' 'VERSION = 6' 'PATCHLEVEL = 12' 'SUBLEVEL = 117' 'EXTRAVERSION =' \
		'NAME = Test' '' 'all:' >"$1/Makefile"
	echo '# Kbuild' >"$1/Kbuild"
	echo '# Kconfig' >"$1/Kconfig"
	seq -f 'page_alloc line %g' 60 >"$1/mm/page_alloc.c"
	seq -f 'contiguous line %g' 60 >"$1/kernel/dma/contiguous.c"
	seq -f 'untouched line %g' 5 >"$1/drivers/other.c"
	# Complains about what the tests want it to complain about.
	cat >"$1/scripts/checkpatch.pl" <<-'PERL'
		open(my $file, '<', $ARGV[-1]) or die;
		while (<$file>) {
			if (/BADSTYLE/) {
				print "$ARGV[-1]:$.: CHECK:BADSTYLE: bad\n";
				exit 0;
			}
		}
	PERL
}

# commit SUBJECT: what is changed in the current folder
commit() {
	git_quiet add -A
	git_quiet commit -q -s -m "$1" -m "Because the test wants it so."
}

# make_series REPOSITORY FOLDER: its commits after the first as a series
make_series() {
	local base file
	base=$(git -C "$1" rev-list --max-parents=0 HEAD)

	mkdir -p "$2"
	git_quiet -C "$1" format-patch -q --no-signature -o "$2" "$base..HEAD"
	for file in "$2"/*.patch; do
		sed -i '0,/^$/s/^$/Origin: other, test\nForwarded: no\nLast-Update: 2026-01-31\n/' "$file"
	done
	(cd "$2" && printf '# a series\n' >series && printf '%s\n' -- *.patch | sed 1d >>series)
	sums "$2"
}

sums() {
	(cd "$1" && sha256sum -- *.patch series >SHA256SUMS)
}

setup_file() {
	: "${NOCMA:?names the nocma binary}"
	local repo=$BATS_FILE_TMPDIR/repo

	make_tree "$repo"
	cd "$repo"
	git_quiet init -q
	commit 'base'
	sed -i 's/^page_alloc line 20$/page_alloc flag/' mm/page_alloc.c
	commit 'mm: add the flag'
	sed -i 's/^contiguous line 30$/contiguous asks the flag/' kernel/dma/contiguous.c
	sed -i 's/^page_alloc line 24$/page_alloc honours the flag/' mm/page_alloc.c
	commit 'dma: honour the flag'
	mkdir -p drivers/new/deep
	echo 'new driver' >drivers/new/deep/driver.c
	sed -i 's/^page_alloc line 50$/page_alloc last/' mm/page_alloc.c
	commit 'drm/new: use the flag'
	make_series "$repo" "$BATS_FILE_TMPDIR/patches/v6.12"
	cat >"$BATS_FILE_TMPDIR/patches/targets.conf" <<-'END'
		# target package version suites status
		v6.12 linux-source-6.12 6.12 bookworm-security ready a note
		v7.2 - 7.2 - planned
	END
	make_tree "$BATS_FILE_TMPDIR/tree"
	cp -a "$repo" "$BATS_FILE_TMPDIR/patched"
	rm -rf "$BATS_FILE_TMPDIR/patched/.git"
}

setup() {
	cd "$BATS_TEST_TMPDIR"
	cp -a "$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/patches" .
	export NOCMA_PATCHES=$PWD/patches TMPDIR=$PWD/tmp HOME=$PWD GIT_CEILING_DIRECTORIES=$PWD
	mkdir tmp
	printf '[user]\n\tname = A User\n\temail = user@example.org\n' >.gitconfig
	series=$PWD/patches/v6.12
	first=$(sed -n 2p "$series/series")
	second=$(sed -n 3p "$series/series")
	third=$(sed -n 4p "$series/series")
}

series() {
	"$NOCMA" series "$@"
}

make_git() {
	git_quiet -C tree init -q
	git_quiet -C tree add -A
	git_quiet -C tree commit -q -m base
}

make_quilt() {
	mkdir -p tree/debian/patches
	(
		cd tree
		export QUILT_PATCHES=debian/patches
		quilt new distro.patch
		quilt add drivers/other.c
		echo 'from the distro' >>drivers/other.c
		quilt refresh
	) >/dev/null
}

snapshot() {
	rm -rf before
	cp -a tree before
}

# Contents, names and modes; a git tree's own data apart.
same_as() {
	diff -r --exclude=.git --exclude=.nocma "$1" tree
	diff <(cd "$1" && find . -path ./.git -prune -o -path ./.nocma -prune -o -printf '%p %m\n' | sort) \
		<(cd tree && find . -path ./.git -prune -o -path ./.nocma -prune -o -printf '%p %m\n' | sort)
}

# A refusal: status, one line that matches, tree untouched, nothing left behind.
refused() {
	local want=$1 pattern=$2
	shift 2

	snapshot
	run --separate-stderr series "$@"
	[ "$status" -eq "$want" ] || fail "status $status, not $want: $output $stderr"
	[ "${#stderr_lines[@]}" -eq 1 ] || fail "not one line: $stderr"
	[[ $stderr == nocma:* && $stderr =~ $pattern ]] || fail "not '$pattern': $stderr"
	diff -r before tree
	[ ! -e tree/.nocma ]
	[ -z "$(ls -A tmp)" ] || fail "left in TMPDIR: $(ls tmp)"
}

fail() {
	echo "$*" >&2
	return 1
}

# fake NAME: a program of that name in front of the real one; its script is read from stdin and
# finds the real one in $real.
fake() {
	mkdir -p bin
	{
		echo '#!/bin/bash'
		echo "real=$(command -v "$1")"
		cat
	} >"bin/$1"
	chmod +x "bin/$1"
}

with_fakes() {
	PATH=$PWD/bin:$PATH "$@"
}

# --- apply, unapply, status ----------------------------------------------------------------

@test "apply to a plain folder gives what git would, a second run changes nothing" {
	run -0 series apply --tree tree
	[[ $output == *": applied (v6.12, Linux 6.12.117)"* ]]
	same_as "$BATS_FILE_TMPDIR/patched"
	snapshot
	run -0 series apply --tree tree
	[[ $output == *": already applied "* ]]
	diff -r before tree
}

@test "unapply restores a plain folder, also new folders and modes" {
	chmod 755 tree/mm/page_alloc.c
	snapshot
	series apply --tree tree
	[ -x tree/mm/page_alloc.c ]
	run -0 series unapply --tree tree
	same_as before
	[ ! -e tree/.nocma ]
	[ ! -e tree/drivers/new ]
	run -0 series unapply --tree tree
	[[ $output == *": not applied "* ]]
}

@test "apply leaves hard links of other trees alone" {
	cp -al tree linked
	series apply --tree tree
	diff -r linked "$BATS_FILE_TMPDIR/tree"
}

@test "apply to a git tree makes signed-off commits, unapply drops them" {
	make_git
	snapshot
	head=$(git -C tree rev-parse HEAD)
	run -0 series apply --tree tree v6.12
	same_as "$BATS_FILE_TMPDIR/patched"
	[ -z "$(git -C tree status --porcelain)" ]
	[ "$(git -C tree symbolic-ref HEAD)" = refs/heads/main ]
	[ "$(git -C tree rev-list --count "$head..HEAD")" -eq 3 ]
	[ "$(git -C tree log --format=%s -1)" = 'drm/new: use the flag' ]
	[ "$(git -C tree log --format=%an -1)" = 'A Dev' ]
	git -C tree log -1 | grep -q 'Signed-off-by: A User <user@example.org>'
	[ "$(git -C tree worktree list | wc -l)" -eq 1 ]
	[ ! -e tree/.git/nocma ]
	run -0 series apply --tree tree
	[[ $output == *": already applied "* ]]
	run -0 series unapply --tree tree
	[ "$(git -C tree rev-parse HEAD)" = "$head" ]
	same_as before
}

@test "apply in a git work tree and on a detached HEAD" {
	make_git
	git -C tree worktree add -q --detach ../second
	run -0 series apply --tree second
	[ "$(git -C second rev-list --count HEAD)" -eq 4 ]
	[ "$(git -C tree rev-list --count HEAD)" -eq 1 ]
	run -0 series unapply --tree second
	[ "$(git -C second rev-parse HEAD)" = "$(git -C tree rev-parse HEAD)" ]
}

@test "a folder inside another git repository is a plain one" {
	git_quiet init -q .
	run -0 series apply --tree tree
	same_as "$BATS_FILE_TMPDIR/patched"
	[ -e tree/.nocma/applied ]
}

@test "hooks, signing and line end settings of the user do not get in the way" {
	make_git
	mkdir hooks
	printf '#!/bin/sh\nexit 1\n' | tee hooks/applypatch-msg >hooks/post-checkout
	chmod +x hooks/*
	git config --global core.hooksPath "$PWD/hooks"
	git config --global commit.gpgSign true
	git config --global core.autocrlf true
	run -0 series apply --tree tree
	same_as "$BATS_FILE_TMPDIR/patched"
}

@test "in a folder that quilt manages the patches join its series" {
	make_quilt
	snapshot
	run -0 series apply --tree tree
	(cd tree && QUILT_PATCHES=debian/patches quilt applied) | grep -c '^debian/patches/nocma/' | grep -qx 3
	cmp tree/mm/page_alloc.c "$BATS_FILE_TMPDIR/patched/mm/page_alloc.c"
	run -0 series apply --tree tree
	[[ $output == *": already applied "* ]]
	run -0 series unapply --tree tree
	same_as before
	series apply --tree tree
	(cd tree && QUILT_PATCHES=debian/patches quilt pop -q 3 >/dev/null)
	cmp tree/mm/page_alloc.c before/mm/page_alloc.c
}

@test "quilt: patches on top of the series keep it from being taken out" {
	make_quilt
	series apply --tree tree
	(
		cd tree
		export QUILT_PATCHES=debian/patches
		quilt new top.patch
		quilt add Kbuild
		echo top >>Kbuild
		quilt refresh
	) >/dev/null
	snapshot
	run -1 series unapply --tree tree
	[[ $output == *'quilt pop'* ]]
	diff -r before tree
}

@test "status names needed, applied, upstream and conflicting patches" {
	run -0 series status --tree tree
	[[ $output == *"needed    $first"* && $output == *'3 needed'* ]]
	(cd tree && patch -sp1 <"$series/$second")
	run -0 series status --tree tree
	[[ $output == *"needed    $first"* && $output == *"upstream  $second"* ]]
	sed -i 's/^page_alloc line 50$/other/' tree/mm/page_alloc.c
	run -1 series status --tree tree
	[[ $output == *"conflict  $third"* ]]
	[[ $output == *'mm/page_alloc.c: hunk 1 at line 47 does not match'* ]]
}

@test "status --json says the same to programs" {
	sed -i 's/^page_alloc line 50$/other/' tree/mm/page_alloc.c
	run -1 series status --tree tree --json
	python3 - "$output" <<-'END'
		import json, sys
		report = json.loads(sys.argv[1])
		assert report["format"] == "nocma-series-1"
		assert (report["target"], report["version"]) == ("v6.12", "6.12.117")
		assert (report["kind"], report["result"]) == ("plain", "conflict")
		assert [p["state"] for p in report["patches"]] == ["needed", "needed", "conflict"]
		assert report["patches"][2]["conflicts"][0] == {
		    "file": "mm/page_alloc.c", "hunk": 1, "line": 47, "why": "does not match"}
	END
}

@test "a patch that the kernel has already is skipped, counted and left in by unapply" {
	(cd tree && patch -sp1 <"$series/$second")
	snapshot
	run -0 series apply --tree tree
	[[ $output == *'1 in this kernel already'* ]]
	[[ $output != *"$second"* ]]
	same_as "$BATS_FILE_TMPDIR/patched"
	run -0 series status --tree tree
	run -0 series unapply --tree tree
	same_as before
}

@test "the same in git: only the missing patches become commits" {
	(cd tree && patch -sp1 <"$series/$second")
	make_git
	run -0 series apply --tree tree
	[[ $output == *'1 in this kernel already'* ]]
	[ "$(git -C tree rev-list --count HEAD)" -eq 3 ]
	run -0 series unapply --tree tree
	[ "$(git -C tree rev-list --count HEAD)" -eq 1 ]
}

@test "a series applied by other means is found applied" {
	(cd tree && cat "$series"/*.patch | patch -sp1)
	snapshot
	run -0 series apply --tree tree
	[[ $output == *": already applied "* ]]
	diff -r before tree
}

@test "commits under other commits are still known as applied, and are not dropped" {
	make_git
	series apply --tree tree
	(cd tree && sed -i 's/^page_alloc flag/& changed/' mm/page_alloc.c && git commit -qam later)
	run -0 series status --tree tree
	[[ $output == *"applied   $first (the tree has changed there since)"* ]]
	head=$(git -C tree rev-parse HEAD)
	run -1 series unapply --tree tree
	[[ $output == *'not the top of the branch'* ]]
	[ "$(git -C tree rev-parse HEAD)" = "$head" ]
}

@test "a commit of the series that was amended is not thrown away" {
	make_git
	series apply --tree tree
	(cd tree && echo more >>drivers/other.c && git commit -q --amend --no-edit -a)
	head=$(git -C tree rev-parse HEAD)
	run -1 series unapply --tree tree
	[[ $output == *'drivers/other.c'* ]]
	[ "$(git -C tree rev-parse HEAD)" = "$head" ]
}

@test "--dry-run changes nothing, in folders, quilt and git" {
	snapshot
	run -0 series apply --tree tree --dry-run
	[[ $output == *'would be applied'* && $output == *"$third"* ]]
	diff -r before tree
	make_git
	run -0 series apply --tree tree --dry-run --json
	[[ $output == *'"result": "would be applied"'* ]]
	[ ! -e tree/.git/nocma ]
	[ "$(git -C tree rev-list --count HEAD)" -eq 1 ]
	series apply --tree tree
	run -0 series unapply --tree tree --dry-run
	[ "$(git -C tree rev-list --count HEAD)" -eq 4 ]
}

@test "--no-tests stops at the heading; with tests their sources come along" {
	mkdir -p mm
	echo '/* a test */' >mm/nocma_test.c
	sed -i "s/^$third/# tests\n&/" "$series/series"
	sums "$series"
	run -0 series apply --tree tree --no-tests
	[[ $output != *"$third"* ]]
	[ ! -e tree/mm/nocma_test.c ]
	[ ! -e tree/drivers/new ]
	run -0 series status --tree tree
	[[ $output == *"needed    $third (tests)"* ]]
	run -0 series apply --tree tree
	cmp mm/nocma_test.c tree/mm/nocma_test.c
	[ -e tree/drivers/new/deep/driver.c ]
	run -0 series unapply --tree tree
	same_as "$BATS_FILE_TMPDIR/tree"
}

@test "what a kernel has already is looked for and reported" {
	echo '# upstream: 0123456789ab drivers/other.c untouched drm/other: have it' >>"$series/series"
	sums "$series"
	run -0 series status --tree tree
	[[ $output == *'upstream  drm/other: have it (0123456789ab)'* ]]
	echo nothing >tree/drivers/other.c
	run -0 series status --tree tree
	[[ $output == *'absent    drm/other: have it'*'drivers/other.c has no untouched'* ]]
	run -1 series verify --tree tree
	[[ $output == *'not ok '*'v6.12 upstream 0123456789ab'* ]]
}

# --- refusals ------------------------------------------------------------------------------

@test "refused: no tree, no kernel, no version, a file" {
	refused 2 'No such file' apply --tree absent
	refused 2 'not a folder' apply --tree tree/Makefile
	refused 2 'no kernel source tree, it has no Kbuild' apply --tree patches/v6.12 ||
		refused 2 'no kernel source tree, it has no Makefile' apply --tree patches/v6.12
	sed -i '/PATCHLEVEL/d' tree/Makefile
	refused 2 'no VERSION and PATCHLEVEL' apply --tree tree
}

@test "refused: a version that is not served, a target that is not the tree's, none of the name" {
	refused 2 'v6.12, v7.2' apply --tree tree v9
	refused 2 'is Linux 6.12.117, not one that v7.2 is for' apply --tree tree v7.2
	sed -i 's/^PATCHLEVEL.*/PATCHLEVEL = 2/' tree/Makefile
	refused 2 'Linux 6.2 is not served; series exist for v6.12, v7.2' apply --tree tree
	sed -i 's/^VERSION.*/VERSION = 7/' tree/Makefile
	refused 2 'no series for v7.2 yet' apply --tree tree
}

@test "refused: a path with a blank or a colon, for every command with a tree" {
	for path in 'a b' 'a:b'; do
		cp -a tree "$path"
		for command in status apply unapply verify; do
			refused 2 'kbuild refuses' "$command" --tree "$path"
		done
		diff -r tree "$path"
	done
	ln -s 'a b' link
	refused 2 'kbuild refuses' apply --tree link
}

@test "refused: a git tree with local changes, staged or not" {
	make_git
	echo more >>tree/drivers/other.c
	refused 2 'local changes \(drivers/other.c\)' apply --tree tree
	refused 2 'local changes' unapply --tree tree
	git -C tree add -A
	refused 2 'git stash' apply --tree tree
}

@test "refused: am, rebase, merge or cherry-pick going on, index locked" {
	make_git
	touch tree/.git/index.lock
	refused 2 'another git is at work' apply --tree tree
	rm tree/.git/index.lock
	git -C tree branch other
	(cd tree && echo a >>Kbuild && git commit -qam a)
	(cd tree && git checkout -q other && echo b >>Kbuild && git commit -qam b)
	git -C tree merge main >/dev/null || :
	refused 2 'a git merge is in progress' apply --tree tree
	git -C tree merge --abort
	git -C tree rebase main >/dev/null 2>&1 || :
	refused 2 'a git rebase is in progress' apply --tree tree
	git -C tree rebase --abort
	git -C tree format-patch -q -1 --stdout main >a.patch
	git -C tree am -q <a.patch >/dev/null 2>&1 || :
	refused 2 'a git am is in progress' apply --tree tree
}

@test "refused: a git tree without a commit, or of somebody without a name" {
	git_quiet -C tree init -q
	refused 2 'no commit yet' apply --tree tree
	make_git
	printf '[user]\n\tuseConfigOnly = true\n' >.gitconfig
	refused 2 'user.name and user.email' apply --tree tree
}

@test "refused: a file in the way of one that the series creates" {
	mkdir -p tree/drivers/new/deep
	echo mine >tree/drivers/new/deep/driver.c
	refused 1 'drivers/new/deep/driver.c: exists already' apply --tree tree
	make_git
	refused 1 'exists already' apply --tree tree
}

@test "refused: the first conflict is named with file and hunk, nothing is half applied" {
	sed -i 's/^page_alloc line 50$/other/' tree/mm/page_alloc.c
	refused 1 "$third does not apply .*mm/page_alloc.c: hunk 1 at line 47" apply --tree tree
	make_git
	refused 1 "$third does not apply" apply --tree tree
	[ "$(git -C tree rev-list --count HEAD)" -eq 1 ]
}

@test "refused: a patch that needs fuzz, though patch and quilt would take it" {
	sed -i 's/^page_alloc line 47$/changed context/' tree/mm/page_alloc.c
	cp -a tree fuzzy
	(cd fuzzy && patch -sp1 <"$series/$third")
	refused 1 "$third does not apply .*mm/page_alloc.c: hunk 1" apply --tree tree
	make_git
	refused 1 "$third does not apply" apply --tree tree
}

@test "an offset is no fuzz" {
	sed -i '1i one line more' tree/mm/page_alloc.c
	run -0 series apply --tree tree
	grep -q 'page_alloc last' tree/mm/page_alloc.c
}

@test "refused: a patch with CRLF, also one that only creates a file" {
	sed -i 's/$/\r/' "$series/$first"
	refused 1 "$first: has CRLF line ends.*dos2unix" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$first" "$series/"
	sed -i '/^+new driver/s/$/\r/' "$series/$third"
	refused 1 "$third: has CRLF" apply --tree tree
}

@test "refused: a target file with CRLF" {
	sed -i 's/$/\r/' tree/mm/page_alloc.c
	refused 1 'mm/page_alloc.c: has CRLF line ends.*autocrlf' apply --tree tree
}

@test "refused: encoded mail, several parts" {
	{
		sed '/^$/q' "$series/$first" | sed "\$iContent-Transfer-Encoding: base64"
		sed '1,/^$/d' "$series/$first" | base64
	} >new
	mv new "$series/$first"
	refused 1 "$first: the mail is base64-encoded" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$first" "$series/"
	sed -i '0,/^$/s/^$/Content-Type: multipart\/mixed; boundary=x\n/' "$series/$first"
	refused 1 "$first: the mail has several parts" apply --tree tree
}

@test "refused: no Signed-off-by" {
	sed -i '/^Signed-off-by/d' "$series/$second"
	sums "$series"
	refused 1 "$second: no Signed-off-by" apply --tree tree
}

@test "refused: another strip level, by its names, by the series, by the tree" {
	sed -i 's,^--- a/,--- ,; s,^+++ b/,+++ ,' "$series/$first"
	refused 1 "$first: line [0-9]+: wrong strip level" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$first" "$series/"
	sed -i 's,^--- a/,&linux/,; s,^+++ b/,&linux/,' "$series/$first"
	sums "$series"
	refused 1 "$first: wrong strip level: linux/mm/page_alloc.c is in the tree as mm/" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$first" "$series/"
	sed -i "s/^$first/& -p0/" "$series/series"
	refused 1 "wrong strip level '-p0'" apply --tree tree
}

@test "refused: truncated and damaged patches, names that leave the tree" {
	sed -i '$d' "$series/$second"
	refused 1 "$second: .*truncated" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$second" "$series/"
	sed -i 's,^+++ b/.*,+++ b/../../etc/passwd,' "$series/$first"
	refused 1 "$first: .*leaves the tree" apply --tree tree
}

@test "refused: sums that are wrong, absent, or of files that are not there" {
	echo ' ' >>"$series/$first"
	refused 1 "$first: does not have the sum" apply --tree tree
	cp "$BATS_FILE_TMPDIR/patches/v6.12/$first" "$series/"
	sed -i "/$first/d" "$series/SHA256SUMS"
	refused 1 "no sum for $first" apply --tree tree
	sums "$series"
	sed -i "s/$first/gone.patch/" "$series/SHA256SUMS"
	refused 1 'gone.patch|no sum for' apply --tree tree
	rm "$series/SHA256SUMS"
	refused 1 'SHA256SUMS' apply --tree tree
}

@test "refused: no folder of patches" {
	NOCMA_PATCHES=$PWD/absent refused 2 'absent/targets.conf: .*--patches' apply --tree tree
}

@test "a read-only tree is refused" {
	if [ "$(id -u)" -ne 0 ]; then
		chmod a-w tree
		run -2 series apply --tree tree
		chmod u+w tree
	else
		mount --bind tree tree 2>/dev/null && mount -o remount,ro,bind tree ||
			skip 'root here may not mount'
		run -2 series apply --tree tree
		umount tree
	fi
	[[ ${#lines[@]} -eq 1 && $output == *'remount it or copy the tree'* ]]
	same_as "$BATS_FILE_TMPDIR/tree"
}

@test "a full disk leaves the tree as it was" {
	mkdir disk
	unshare -rm true 2>/dev/null || skip 'no user namespaces here'
	cat >in-namespace <<-'END'
		set -eu
		mount -t tmpfs -o size=64k none disk
		cp -a tree disk/tree
		if [ "$1" = git ]; then
			git -C disk/tree init -q
			git -C disk/tree add -A
			git -C disk/tree commit -q -m base
			head=$(git -C disk/tree rev-parse HEAD)
		fi
		dd if=/dev/zero of=disk/filler bs=1k count=64 2>/dev/null || :
		status=0
		"$NOCMA" series apply --tree disk/tree 2>message || status=$?
		cat message
		[ "$status" -eq 1 ]
		[ "$(wc -l <message)" -eq 1 ]
		grep -q 'No space left' message
		diff -r --exclude=.git tree disk/tree
		[ "$1" = plain ] || [ "$(git -C disk/tree rev-parse HEAD)" = "$head" ]
		rm disk/filler
		"$NOCMA" series status --tree disk/tree | grep -q '3 needed'
	END
	unshare -rm bash in-namespace plain
	sed -i 's/size=64k/size=512k/; s/count=64/count=512/' in-namespace
	unshare -rm bash in-namespace git
}

@test "wrong calls end with 2" {
	run -2 series
	run -2 series frobnicate
	run -2 series apply --tree
	run -2 series export v6.12
	run -2 series export v6.12 -o a --mbox b
	run -2 series export --mbox b
	run -2 series export v6.12 -o a --base HEAD
	run -0 series apply --help
}

@test "a wrong call is one line that names what is wrong" {
	local call

	for call in frobnicate --frobnicate 'series frobnicate'; do
		# shellcheck disable=SC2086 # words
		run -2 "$NOCMA" $call
		[ "$output" = "nocma: '${call#series }': no such command or option, see --help" ]
	done
	run -2 "$NOCMA"
	[ "$output" = 'nocma: A subcommand is required, see --help' ]
	run -2 "$NOCMA" bench --duration nan
	[ "$output" = "nocma: --duration: 'nan': not a number above 0, see --help" ]
	run -2 "$NOCMA" test --backend voodoo --list
	[[ $output == *"'voodoo': not one of radeon, vttm, i915, tmpfs, igdstub" ]]
	run -2 series verify v9.9
	[ "${#lines[@]}" -eq 1 ]
}

@test "export --mbox to what is no regular file writes to it" {
	mkfifo pipe
	cat pipe >mail &
	run -0 series export v6.12 --mbox pipe
	wait $!
	[ -p pipe ]
	[ "$(grep -c '^Signed-off-by' mail)" -gt 0 ]
}

# --- interrupts ----------------------------------------------------------------------------

@test "killed while patches are tried: the tree is untouched" {
	snapshot
	fake patch <<-'END'
		kill -9 "$PPID"
	END
	run with_fakes series apply --tree tree
	[ "$status" -eq 137 ]
	diff -r before tree
	run -0 series apply --tree tree
	same_as "$BATS_FILE_TMPDIR/patched"
}

@test "SIGINT while patches are tried: untouched, said so, nothing left behind" {
	snapshot
	fake patch <<-'END'
		kill -INT "$PPID"
		exec "$real" "$@"
	END
	run -1 with_fakes series apply --tree tree
	[[ $output == *'interrupted by signal '*'; what was begun is undone'* ]]
	diff -r before tree
	[ -z "$(ls -A tmp)" ]
}

# kill_at COMMAND N: SIGKILL at the Nth rename; fails when there are not so many
kill_at() {
	run strace -qq -o /dev/null -e trace=rename -e "inject=rename:signal=KILL:when=$2" \
		"$NOCMA" series "$1" --tree tree
	[ "$status" -eq 137 ]
}

@test "killed at every single rename of apply and unapply: the next run recovers" {
	strace -qq -o /dev/null true 2>/dev/null || skip 'no strace, or no ptrace here'
	half=0
	for ((n = 1; ; n++)); do
		rm -rf tree
		cp -a "$BATS_FILE_TMPDIR/tree" tree
		kill_at apply "$n" || break
		if [ -e tree/.nocma/journal ]; then
			run -1 series status --tree tree
			[[ $output == *'was interrupted here'* ]]
		fi
		diff -rq --exclude=.nocma "$BATS_FILE_TMPDIR/tree" tree >/dev/null || half=$((half + 1))
		run -0 series apply --tree tree
		same_as "$BATS_FILE_TMPDIR/patched"
		[ ! -e tree/.nocma/journal ]
	done
	[ "$n" -gt 4 ]
	[ "$half" -ge 3 ] # it did die with the tree half changed
	for ((n = 1; ; n++)); do
		rm -rf tree
		cp -a "$BATS_FILE_TMPDIR/tree" tree
		series apply --tree tree
		kill_at unapply "$n" || break
		run -0 series unapply --tree tree
		same_as "$BATS_FILE_TMPDIR/tree"
		[ ! -e tree/.nocma ]
	done
	[ "$n" -gt 3 ]
}

@test "recovery does not undo what somebody did to a file in the meantime" {
	strace -qq -o /dev/null true 2>/dev/null || skip 'no strace, or no ptrace here'
	kill_at apply 4
	grep -q 'asks the flag' tree/kernel/dma/contiguous.c
	echo precious >>tree/mm/page_alloc.c # not exchanged yet
	echo precious >>tree/kernel/dma/contiguous.c
	run -1 series apply --tree tree
	[[ $output == *'contiguous.c: changed after an interrupted run'* ]]
	grep -q precious tree/kernel/dma/contiguous.c
	mv tree/kernel/dma/contiguous.c saved
	run -0 series apply --tree tree
	grep -q 'asks the flag' tree/kernel/dma/contiguous.c
	grep -q precious tree/mm/page_alloc.c
}

@test "git: killed in the commits apart: branch and files untouched, the next run works" {
	make_git
	snapshot
	head=$(git -C tree rev-parse HEAD)
	fake git <<-'END'
		case " $* " in
		*' am '*)
			kill -9 "$PPID"
			exit 1
			;;
		esac
		exec "$real" "$@"
	END
	run with_fakes series apply --tree tree
	[ "$status" -eq 137 ]
	[ "$(git -C tree rev-parse HEAD)" = "$head" ]
	same_as before
	run -0 series apply --tree tree
	same_as "$BATS_FILE_TMPDIR/patched"
	[ "$(git -C tree worktree list | wc -l)" -eq 1 ]
}

# A git that does half of the last step, then dies with its parent.
half_merge() {
	fake git <<-'END'
		case " $* " in
		*' merge '*)
			commit=${!#}
			"$real" -C tree show "$commit:mm/page_alloc.c" >tree/mm/page_alloc.c
			mkdir -p tree/drivers/new/deep
			"$real" -C tree show "$commit:drivers/new/deep/driver.c" >tree/drivers/new/deep/driver.c
			kill -9 "$PPID"
			exit 1
			;;
		esac
		exec "$real" "$@"
	END
	run with_fakes series apply --tree tree
	[ "$status" -eq 137 ]
}

@test "git: killed with half of the files exchanged: the next run recovers" {
	make_git
	half_merge
	[ -n "$(git -C tree status --porcelain)" ]
	run -1 series status --tree tree
	[[ $output == *'was interrupted here'* ]]
	run -0 series apply --tree tree
	[[ $output == *'an interrupted run was undone first'* ]]
	same_as "$BATS_FILE_TMPDIR/patched"
	[ -z "$(git -C tree status --porcelain)" ]
	[ "$(git -C tree rev-list --count HEAD)" -eq 4 ]
}

@test "git: recovery spares what was edited since, and waits for a lock" {
	make_git
	half_merge
	cp tree/mm/page_alloc.c saved
	echo precious >>tree/mm/page_alloc.c
	run -1 series apply --tree tree
	[[ $output == *'changed after an interrupted run'* ]]
	grep -q precious tree/mm/page_alloc.c
	cp saved tree/mm/page_alloc.c
	touch tree/.git/index.lock
	run -1 series unapply --tree tree
	[[ $output == *'index.lock'* ]]
	rm tree/.git/index.lock
	run -0 series unapply --tree tree
	same_as "$BATS_FILE_TMPDIR/tree"
}

@test "git: killed after the branch had moved: nothing is left to do" {
	make_git
	fake git <<-'END'
		case " $* " in
		*' merge '*)
			"$real" "$@"
			kill -9 "$PPID"
			exit 1
			;;
		esac
		exec "$real" "$@"
	END
	run with_fakes series apply --tree tree
	[ "$status" -eq 137 ]
	run -0 series apply --tree tree
	[[ $output == *'already applied'* ]]
	[ ! -e tree/.git/nocma ]
}

@test "git: an am that fails leaves the tree as it was" {
	make_git
	snapshot
	fake git <<-'END'
		case " $* " in
		*' am '*)
			echo 'fatal: on purpose' >&2
			exit 128
			;;
		esac
		exec "$real" "$@"
	END
	run -1 with_fakes series apply --tree tree
	[[ ${#lines[@]} -eq 1 && $output == *'git am failed: fatal: on purpose'* ]]
	same_as before
	[ -z "$(git -C tree status --porcelain)" ]
	[ "$(git -C tree worktree list | wc -l)" -eq 1 ]
}

@test "two at a time: the second is told to wait" {
	fake patch <<-'END'
		touch started
		while [ ! -e go ]; do sleep 0.05; done
		exec "$real" "$@"
	END
	cp bin/patch patch.waiting
	sed -i "s,touch started,touch $PWD/started,; s,-e go,-e $PWD/go," bin/patch
	with_fakes series apply --tree tree >first.log 2>&1 3>&- &
	for ((i = 0; i < 2400; i++)); do # bounded, but a busy machine is no failure
		[ ! -e started ] || break
		sleep 0.05
	done
	run -1 series apply --tree tree
	[[ $output == *'another nocma'* ]]
	touch go
	wait
	same_as "$BATS_FILE_TMPDIR/patched"
}

# --- verify --------------------------------------------------------------------------------

@test "verify proves the series on pristine sources and only reads them" {
	snapshot
	run -0 series verify --tree tree
	[[ $output == *'checked against Linux 6.12.117'* ]]
	[[ $output == *'v6.12 git am'* && $output == *'v6.12 quilt push --fuzz=0'* ]]
	[[ $output == *' 0 failed, 0 skipped'* ]]
	diff -r before tree
	[ -z "$(ls -A tmp)" ]
}

@test "verify refuses a tree that is not the named target's" {
	sed -i 's/^PATCHLEVEL = 12/PATCHLEVEL = 13/' tree/Makefile
	run -2 series verify v6.12 --tree tree
	[ "${#lines[@]}" -eq 1 ]
	[[ $output == *'is Linux 6.13.117, not one that v6.12 is for'* ]]
}

@test "verify without sources is a skip that says how to get them" {
	NOCMA_CACHE=$PWD/cache run -4 series verify
	[[ $output == *'v6.12 # SKIP no sources: scripts/kernel prepare v6.12'* ]]
	[[ $output == *'v7.2 # SKIP no series yet'* ]]
}

@test "verify finds the sources in the cache" {
	mkdir -p cache/src/v6.12
	mv tree cache/src/v6.12/base
	NOCMA_CACHE=$PWD/cache run -0 series verify v6.12
	[[ $output == *' 0 failed, 0 skipped'* ]]
	NOCMA_CACHE=$PWD/cache run -0 series verify --json
	python3 - "$output" <<-'END'
		import json, sys
		report = json.loads(sys.argv[1])
		assert report["result"] == "pass"
		assert report["trees"][0]["version"] == "6.12.117"
		assert {"pass", "skip"} == {check["result"] for check in report["checks"]}
	END
	mv cache/src/v6.12/base tree
}

# verify_fails PATTERN: not ok, for that reason
verify_fails() {
	run series verify --tree tree
	[ "$status" -eq 1 ] || fail "status $status: $output"
	[[ $output =~ $1 ]] || fail "not '$1': $output"
}

@test "verify fails for each thing that is not right" {
	local good=$BATS_FILE_TMPDIR/patches/v6.12
	sed -i 's/^page_alloc line 47$/changed context/' tree/mm/page_alloc.c
	verify_fails 'not ok [0-9]+ v6.12 git am'
	verify_fails 'not ok [0-9]+ v6.12 quilt push --fuzz=0'
	cp "$BATS_FILE_TMPDIR/tree/mm/page_alloc.c" tree/mm/
	for field in Origin Forwarded Last-Update From Date; do
		cp "$good"/* "$series/"
		sed -i "0,/^$/{/^$field: /d}" "$series/$first"
		sums "$series"
		verify_fails "$field.*not ok [0-9]+ v6.12 $first mail form"
	done
	cp "$good"/* "$series/"
	sed -i 's/^Because the test.*/BADSTYLE/' "$series/$first"
	sums "$series"
	verify_fails "CHECK:BADSTYLE.*not ok [0-9]+ v6.12 $first checkpatch --strict"
	sed -i 's/$/\r/' "$series/$first"
	verify_fails 'CRLF.*not ok 1 v6.12 patches and SHA256SUMS'
}

# --- export --------------------------------------------------------------------------------

@test "export --mbox is what git am takes, with base and threading" {
	make_git
	base=$(git -C tree rev-parse HEAD)
	run -0 series export v6.12 --mbox out.mbox --base HEAD --tree tree
	grep -qx "base-commit: $base" out.mbox
	[ "$(grep -c '^In-Reply-To: ' out.mbox)" -eq 2 ]
	grep -q '^Subject: \[PATCH 2/3\] dma: honour the flag' out.mbox
	git -C tree am -q "$PWD/out.mbox"
	same_as "$BATS_FILE_TMPDIR/patched"
	git -C tree reset -q --hard "$base"
	series export v6.12 --mbox - | git -C tree am -q
	[ "$(git -C tree rev-list --count HEAD)" -eq 4 ]
	run -2 series export v6.12 --mbox out --base nonsense --tree tree
	[[ $output == *'nonsense: no commit of that name'* ]]
}

@test "export -o is a folder that quilt takes" {
	run -0 series export v6.12 -o out --dry-run
	[ ! -e out ]
	run -0 series export v6.12 -o out
	(cd out && sha256sum --quiet -c SHA256SUMS)
	(cd tree && QUILT_PATCHES=../out quilt push -q -a --fuzz=0)
	cmp tree/mm/page_alloc.c "$BATS_FILE_TMPDIR/patched/mm/page_alloc.c"
	run -2 series export v6.12 -o out
	[[ $output == *'is not empty'* ]]
}

@test "export --no-tests leaves out what stands under the heading" {
	sed -i "s/^$third/# tests\n&/" "$series/series"
	sums "$series"
	run -0 series export v6.12 -o out --no-tests
	[ ! -e "out/$third" ]
	[ "$(grep -c . out/series)" -eq 3 ]
	series export v6.12 --mbox out.mbox --no-tests
	grep -q '^Subject: \[PATCH 2/2\]' out.mbox
}

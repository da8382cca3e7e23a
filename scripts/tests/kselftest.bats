#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# The kselftest wrapper inside a kernel tree: built, installed, packed, run and cleaned there.

bats_require_minimum_version 1.5.0

# The parts of a kernel tree that selftests are made with, and our files over them.
setup_file() {
	local cache=${NOCMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ttm-nocma}
	local repo=$BATS_TEST_DIRNAME/../.. source=$cache/src/v6.12/base

	export KTREE=$BATS_FILE_TMPDIR/linux KOUT=$BATS_FILE_TMPDIR/out
	# As scripts/harness has it: a build in another folder finds the objects again.
	export CCACHE_DIR=${CCACHE_DIR:-$cache/ccache} CCACHE_BASEDIR=$BATS_FILE_TMPDIR
	export CCACHE_NOHASHDIR=1
	export CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
	[ -d "$source/tools/testing/selftests" ] || {
		export NO_SOURCE="no kernel source in $source: run scripts/kernel prepare v6.12"
		return 0
	}
	mkdir -p "$KTREE"
	(cd "$source" && tar -c Makefile scripts/subarch.include include/uapi/drm \
		tools/testing/selftests/{Makefile,lib.mk,run_kselftest.sh,kselftest}) | tar -x -C "$KTREE"
	(cd "$repo" && tar -c include/uapi/drm/vttm_drm.h tools/nocma tools/testing/selftests/nocma) |
		tar -x -C "$KTREE"
	command -v rsync >/dev/null || export NO_RSYNC="no rsync, which lib.mk installs with"
	touch "$BATS_FILE_TMPDIR/before"
	selftests all "$KOUT" >"$BATS_FILE_TMPDIR/build.log" 2>&1 || {
		tail -n 20 "$BATS_FILE_TMPDIR/build.log" >&2
		return 1
	}
}

setup() {
	[ -z "${NO_SOURCE:-}" ] || skip "$NO_SOURCE"
}

# selftests GOAL OUTPUT
selftests() {
	make -C "$KTREE/tools/testing/selftests" TARGETS=nocma O="$2" "$1"
}

@test "all builds one program per driver, with an absolute O=" {
	[ -x "$KOUT/kselftest/nocma/radeon" ]
	[ -x "$KOUT/kselftest/nocma/vttm" ]
	# Nothing was written to the source.
	[ -z "$(find "$KTREE" -newer "$BATS_FILE_TMPDIR/before" -type f)" ]
}

@test "without a device the program skips, never passes" {
	[ ! -e /sys/module/radeon ] || skip "this machine has a radeon"
	run -4 "$KOUT/kselftest/nocma/radeon"
	[[ $output = *SKIP* || $output = *"Bail out!"* ]]
	[[ $output != *$'\nok 1 probe-sees-cma-alloc'$'\n'* ]]
}

@test "install and gen_tar with a relative O=, and the installed tests run" {
	[ -z "${NO_RSYNC:-}" ] || skip "$NO_RSYNC"
	local installed=$KOUT/kselftest/kselftest_install

	selftests gen_tar ../out
	grep -qx nocma:radeon "$installed/kselftest-list.txt"
	grep -qx nocma:vttm "$installed/kselftest-list.txt"
	[ -s "$installed/nocma/settings" ]
	tar -tf "$installed/kselftest-packages/kselftest.tar.gz" | grep -qx ./nocma/radeon
	[ ! -e /sys/module/radeon ] || skip "this machine has a radeon"
	run "$installed/run_kselftest.sh" -t nocma:radeon
	[[ $output = *"# timeout set to 300"* ]]
	[[ $output = *"ok 1 selftests: nocma: radeon # SKIP"* ]]
}

@test "clean leaves nothing of ours" {
	selftests clean "$KOUT"
	[ -z "$(ls -A "$KOUT/kselftest/nocma")" ]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# The kselftest wrapper inside a kernel tree: built, installed, packed, run and cleaned there.

bats_require_minimum_version 1.5.0

# of_lib FUNCTION ARGUMENT...: in a shell of its own, for some of its names are bats' own, too.
of_lib() (
	# shellcheck source=scripts/lib.bash
	. "$BATS_TEST_DIRNAME/../lib.bash"
	"$@"
)

# selftests GOAL OUTPUT
selftests() {
	of_lib kselftest_make "$KTREE" "$2" "$1"
}

setup_file() {
	local cache=${NOCMA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ttm-nocma} source

	export KTREE=$BATS_FILE_TMPDIR/linux KOUT=$BATS_FILE_TMPDIR/out
	source=$cache/src/v6.12/base
	[ -d "$source/tools/testing/selftests" ] || {
		export NO_SOURCE="no kernel source in $source: run scripts/kernel prepare v6.12"
		return 0
	}
	of_lib kselftest_tree "$source" "$KTREE"
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

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only

setup() {
	boots=$BATS_TEST_DIRNAME/../check-boots
	export NOCMA=$BATS_TEST_TMPDIR/nocma
	# Each boot leaves a byte; the second one fails.
	cat >"$NOCMA" <<-EOF
	#!/bin/sh
	echo "\$@" >$BATS_TEST_TMPDIR/arguments
	printf x >>$BATS_TEST_TMPDIR/count
	[ "\$(cat $BATS_TEST_TMPDIR/count)" != "\${FAILS_AT-}" ]
	EOF
	chmod +x "$NOCMA"
}

@test "as many verdicts as boots" {
	run "$boots" 3 v5.10 --vtd on
	[ "$status" -eq 0 ]
	[ "$(grep -c '^boot [123]: exit status 0' <<<"$output")" -eq 3 ]
	[[ "$output" == *'3 boots, 3 passed, 0 failed'* ]]
	[ "$(cat "$BATS_TEST_TMPDIR/arguments")" = 'guest run v5.10 --vtd on' ]
}

@test "one boot that fails fails them all, and the others are run" {
	FAILS_AT=xx run "$boots" 3 v5.10
	[ "$status" -eq 1 ]
	[[ "$output" == *'boot 2: exit status 1'* ]]
	[[ "$output" == *'3 boots, 2 passed, 1 failed'* ]]
}

@test "a target that there is not, and no harness" {
	run "$boots" 3 v9.9
	[ "$status" -eq 2 ]
	[[ "$output" == *'v9.9: no such series'* ]]
	NOCMA=/nonexistent/nocma run "$boots" 3 v5.10
	[ "$status" -eq 1 ]
	[[ "$output" == *'run scripts/harness' ]]
}

@test "no number, no target" {
	run "$boots" many v5.10
	[ "$status" -eq 2 ]
	run "$boots" 3
	[ "$status" -eq 2 ]
}

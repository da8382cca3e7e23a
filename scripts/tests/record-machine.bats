#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/record-machine on this machine, on a made-up one and on the records of the unit tests.
#
# shellcheck disable=SC2154 # bats: run sets stderr

bats_require_minimum_version 1.5.0

setup() {
	repo=$BATS_TEST_DIRNAME/../..
	nocma=${NOCMA:-$repo/build/harness/tools/nocma/nocma}
	folder="$BATS_TEST_TMPDIR/a record"
	machine=$BATS_TEST_TMPDIR/machine
}

record() {
	"$repo/scripts/record-machine" "$@"
}

# A machine with names and numbers that are nobody's business.
make_machine() {
	local device=$machine/sys/class/drm/card0/device

	mkdir -p "$machine/proc/sys/kernel" "$device" "$machine/sys/hypervisor"
	echo 6.1.0 >"$machine/proc/sys/kernel/osrelease"
	echo secret >"$machine/proc/sys/kernel/hostname"
	echo 'root=UUID=secret ip=secret cma=64M quiet' >"$machine/proc/cmdline"
	printf '%s\n' 'Serial : secret' 'flags : fpu' >"$machine/proc/cpuinfo"
	echo xen >"$machine/sys/hypervisor/type"
	echo secret >"$machine/sys/hypervisor/uuid"
	printf '%s\n' DRIVER=i915 MODALIAS=secret PCI_ID=8086:5916 >"$device/uevent"
	printf '%s\n' CONFIG_CMA=y CONFIG_DEFAULT_HOSTNAME=secret CONFIG_CMA_SIZE_MBYTES=16 |
		gzip >"$machine/proc/config.gz"
}

@test "what doctor says of this machine it says of its record" {
	[ -x "$nocma" ] || skip "nocma is not built"
	run -0 --separate-stderr record "$folder"
	[[ $stderr = *"recorded "*" files"* ]]
	verdict=$("$nocma" doctor | sed -n '/^$/,$p') || true
	[ "$("$nocma" doctor --root "$folder" | sed -n '/^$/,$p')" = "$verdict" ]
}

@test "the record of a record is the same" {
	for tree in "$repo"/tools/nocma/tests/data/doctor/*/; do
		rm -rf "$folder"
		record --root "${tree%/}" "$folder"
		diff -r "$tree" "$folder"
	done
}

@test "only what doctor goes by is recorded" {
	make_machine
	record --root "$machine" "$folder"
	run -1 grep -rl secret "$folder"
	[ "$(cat "$folder/proc/cmdline")" = cma=64M ]
	[ "$(cat "$folder/boot/config-6.1.0")" = "CONFIG_CMA=y
CONFIG_CMA_SIZE_MBYTES=16" ]
	[ "$(cat "$folder/sys/class/drm/card0/device/uevent")" = "DRIVER=i915
PCI_ID=8086:5916" ]
}

@test "an empty folder is taken, one that is not is refused and left alone" {
	make_machine
	mkdir "$folder"
	record --root "$machine" "$folder"
	before=$(find "$BATS_TEST_TMPDIR" | sort)
	run -2 record --root "$machine" "$folder"
	[ "${#lines[@]}" -eq 1 ]
	[[ $output = *'not an empty folder'* ]]
	[ "$(find "$BATS_TEST_TMPDIR" | sort)" = "$before" ]
}

@test "nothing is left of a record that fails" {
	make_machine
	echo damaged >"$machine/proc/config.gz"
	before=$(find "$BATS_TEST_TMPDIR" | sort)
	run -1 record --root "$machine" "$folder"
	[ "${#lines[@]}" -eq 1 ]
	[[ $output = *'config.gz: no gzip'* ]]
	run -1 record --root "$machine" "$BATS_TEST_TMPDIR/no/folder"
	[ "${#lines[@]}" -eq 1 ]
	[ "$(find "$BATS_TEST_TMPDIR" | sort)" = "$before" ]
}

@test "wrong calls get one line and status 2" {
	for call in '' '--wrong' 'a b' '--root' "--root $BATS_TEST_TMPDIR a"; do
		# shellcheck disable=SC2086
		run -2 record $call
		[ "${#lines[@]}" -eq 1 ]
	done
	run -0 record --help
}

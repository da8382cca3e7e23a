#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# nocma doctor as a user calls it, on this machine and on a record. The rules are tested in
# doctor_test.cpp, whole machines in doctor_record_test.cpp.
#
# shellcheck disable=SC2154 # bats: run sets stderr

setup() {
	bats_require_minimum_version 1.5.0
	NOCMA=${NOCMA:-$BATS_TEST_DIRNAME/../../../../build/harness/tools/nocma/nocma}
	record=$BATS_TEST_TMPDIR/record
	mkdir -p "$record"/{proc/sys/kernel,boot,sys/class/drm/card0/device}
	echo 6.12.94 >"$record/proc/sys/kernel/osrelease"
	printf 'MemTotal: 512000 kB\nCmaTotal: 65536 kB\nCmaFree: 1024 kB\n' >"$record/proc/meminfo"
	printf 'flags : fpu\n' >"$record/proc/cpuinfo"
	printf '%x-%x : System RAM\n' 4096 $((1 << 33)) >"$record/proc/iomem"
	printf 'CONFIG_CMA=y\nCONFIG_DMA_CMA=y\n' >"$record/boot/config-6.12.94"
	printf 'DRIVER=radeon\nPCI_ID=1002:5159\n' >"$record/sys/class/drm/card0/device/uevent"
	echo 32 >"$record/sys/class/drm/card0/device/dma_mask_bits"
}

@test "doctor: affected" {
	run -1 --separate-stderr "$NOCMA" doctor --root "$record"
	[[ $output == *'cma stall: affected: card0 (radeon)'*'series v6.12'* ]]
	[ "${lines[-1]}" = 'verdict: affected' ]
}

@test "doctor: not affected" {
	echo 40 >"$record/sys/class/drm/card0/device/dma_mask_bits"
	run -0 --separate-stderr "$NOCMA" doctor --root "$record"
	[ "${lines[-1]}" = 'verdict: not affected' ]
}

@test "doctor: cannot tell, and which file would" {
	rm "$record/boot/config-6.12.94"
	run -4 --separate-stderr "$NOCMA" doctor --root "$record"
	[[ $output == *'/boot/config-6.12.94 would tell'* ]]
	[ "${lines[-1]}" = 'verdict: cannot tell' ]
}

@test "doctor: a damaged file is not 'affected'" {
	echo damaged >"$record/proc/config.gz"
	run -4 --separate-stderr "$NOCMA" doctor --root "$record"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'/proc/config.gz: no gzip'* ]]
}

@test "doctor: an empty meminfo is no answer" {
	: >"$record/proc/meminfo"
	run -4 --separate-stderr "$NOCMA" doctor --root "$record"
	[[ $output == *'cma stall: cannot tell'*'/proc/meminfo tells'* ]]
}

@test "doctor: JSON of a command line that is no UTF-8" {
	printf 'quiet \xff\n' >"$record/proc/cmdline"
	run -1 --separate-stderr "$NOCMA" doctor --json --root "$record"
	[[ $output == *'"status": "affected"'* ]]
}

@test "doctor: JSON, absent figures are null" {
	run -1 --separate-stderr "$NOCMA" doctor --json --root "$record"
	[[ $output == *'"format": "nocma-doctor-1"'* ]]
	[[ $output == *'"areas": null'* ]]
	[[ $output == *'"status": "affected"'* ]]
}

@test "doctor: this machine gets an answer" {
	run "$NOCMA" doctor
	[[ $status =~ ^(0|1|4)$ ]]
	[[ ${lines[0]} == "kernel:   $(uname -r),"* ]]
}

@test "doctor: a folder that is no record" {
	mkdir "$BATS_TEST_TMPDIR/empty"
	run -2 --separate-stderr "$NOCMA" doctor --root "$BATS_TEST_TMPDIR/empty"
	[ "${#stderr_lines[@]}" -eq 1 ]
	[[ $stderr == *'neither proc nor sys'* ]]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# nocma guest as a user calls it, with a stand-in for QEMU (fake-qemu) and a folder that looks
# like a built kernel. What a guest's kernel does for real is seen in `make check`'s boots.

setup() {
	bats_require_minimum_version 1.5.0
	NOCMA=${NOCMA:-$BATS_TEST_DIRNAME/../../../../build/harness/tools/nocma/nocma}
	export NOCMA_CACHE=$BATS_TEST_TMPDIR/cache TMPDIR=$BATS_TEST_TMPDIR/tmp
	export NOCMA_QEMU=$BATS_TEST_DIRNAME/fake-qemu
	local out=$NOCMA_CACHE/out/v6.12

	mkdir -p "$out/lib/modules/6.12.0/kernel/drivers/gpu/drm/ttm" "$out"/ttm/{nocma,stock}
	mkdir -p "$TMPDIR"
	echo 6.12.0 >"$out/release"
	touch "$out/bzImage" "$out/lib/modules/6.12.0/modules.dep" \
		"$out/lib/modules/6.12.0/kernel/drivers/gpu/drm/ttm/ttm.ko"
	echo passes-the-flag >"$out/ttm/nocma/ttm.ko"
	echo does-not >"$out/ttm/stock/ttm.ko"
}

wait_for_file() {
	for _ in $(seq 100); do
		[ -s "$1" ] && return
		sleep 0.1
	done
	false
}

# The words that a job hands to nocma in the guest.
played_job() (
	# shellcheck disable=SC2317 # called by the job
	nocma() { printf '<%s>' "$@"; }
	# shellcheck source=/dev/null
	. "$1" 3>&1
)

guest() {
	"$NOCMA" guest run v6.12 --accel tcg "$@"
}

@test "guest: a verdict is streamed and becomes the exit status" {
	FAKE_GUEST=pass run -0 --separate-stderr guest
	[ "${lines[0]}" = 'KTAP version 1' ]
	[ "${lines[2]}" = 'ok 1 something' ]
	[ ${#lines[@]} -eq 3 ]
	FAKE_GUEST=fail run -1 guest
	FAKE_GUEST=skip run -4 guest
}

@test "guest: the data port goes to standard output" {
	FAKE_GUEST=data run -0 --separate-stderr guest --bench
	[ "$output" = '{"a": 1}' ]
}

@test "guest: a hang ends at the limit, with the console's tail" {
	FAKE_GUEST=hang run -1 guest --timeout 2
	[[ "$output" == *'no verdict within 2 s, killed'* ]]
	[[ "$output" == *'| [    1.000000] the last thing it said'* ]]
	[[ "$output" == *"logs: $NOCMA_CACHE/log/v6.12-nocma"* ]]
}

@test "guest: two at a time each have their logs" {
	FAKE_GUEST=hang FAKE_PID=$BATS_TEST_TMPDIR/pid \
		"$NOCMA" guest run v6.12 --accel tcg --timeout 60 >/dev/null 2>&1 3>&- &
	local first=$!

	wait_for_file "$BATS_TEST_TMPDIR/pid"
	FAKE_GUEST=panic run -1 guest
	[[ "$output" == *"logs: $NOCMA_CACHE/log/v6.12-nocma-2"* ]]
	kill "$first"
	wait "$first" || true
	grep -q 'the last thing it said' "$NOCMA_CACHE/log/v6.12-nocma/console.log"
	run -1 grep -q panic "$NOCMA_CACHE/log/v6.12-nocma/console.log"
	# Free again.
	FAKE_GUEST=panic run -1 guest
	[[ "$output" == *"logs: $NOCMA_CACHE/log/v6.12-nocma"$'\n'* ]]
}

@test "guest: a panic is told at once" {
	FAKE_GUEST=panic run -1 guest --timeout 60
	[[ "$output" == *'its kernel died: '*'Kernel panic - not syncing'* ]]
	[[ "$output" == *'| [    1.000001] CPU: 0'* ]]
}

@test "guest: an oops ends a guest that would hang" {
	SECONDS=0
	FAKE_GUEST=oops-then-hang run -1 guest --timeout 60
	[ "$SECONDS" -lt 30 ]
	[[ "$output" == *'NULL pointer dereference'* ]]
	[[ "$output" == *'the_function_at_fault'* ]]
}

@test "guest: an end before the verdict is a failure" {
	FAKE_GUEST=reboot run -1 guest
	[[ "$output" == *'it ended before its verdict'* ]]
	FAKE_GUEST=half-line run -1 guest
	[[ "$output" == *'it ended before its verdict'* ]]
}

@test "guest: a guest that does not power off is killed and fails" {
	FAKE_GUEST=never-off run -1 guest --timeout 2
	[[ "$output" == *'did not power off within 2 s'* ]]
}

@test "guest: a kernel warning fails a run that passed" {
	local line='[    1.000000] WARNING: CPU: 0 PID: 1 at mm/page_alloc.c:1 alloc+0x1/0x2'
	FAKE_GUEST=warning FAKE_LINE=$line run -1 guest
	[[ "$output" == *'its kernel warned 1 times, first: '*'mm/page_alloc.c:1'* ]]
	# The form of 6.19 and later.
	line='[    1.000000] WARNING: mm/page_alloc.c:2 at alloc+0x1/0x2, CPU#0: swapper/0'
	FAKE_GUEST=warning FAKE_LINE=$line run -1 guest
	[[ "$output" == *'its kernel warned 1 times, first: '*'mm/page_alloc.c:2'* ]]
	line='[    1.000000] Spectre V2 : WARNING: this CPU is old'
	FAKE_GUEST=warning FAKE_LINE=$line run -0 guest
}

@test "guest: why QEMU does not start is shown" {
	FAKE_GUEST=no-start run -1 guest
	[[ "$output" == *"it ended before its verdict (QEMU's exit status 1)"* ]]
	[[ "$output" == *'| qemu-system-x86_64: failed to initialize kvm: Permission denied'* ]]
}

@test "guest: a job that dies is told from one that fails, and its data is not printed" {
	FAKE_GUEST=killed run -1 --separate-stderr guest --bench
	[ -z "$output" ]
	# shellcheck disable=SC2154 # set by run
	[[ "$stderr" == *'its job ended with exit status 137'* ]]
	[[ "$stderr" == *'| [    1.000000] Out of memory'* ]]
	FAKE_GUEST=skip-without-a-word run -4 guest --bench
	[[ "$output" == *'its job ended with exit status 4'*'| nocma: no card'* ]]
	FAKE_GUEST=fail run -1 guest
	[[ "$output" != *'its job ended'* ]]
}

@test "guest: an endless flood is cut off" {
	FAKE_GUEST=flood-forever run -1 guest --timeout 60
	[[ "$output" == *'it wrote more than 64 MiB to its console port, killed'* ]]
	[ "$(stat -c %s "$NOCMA_CACHE/log/v6.12-nocma/console.log")" -lt $((70 << 20)) ]
}

@test "guest: the initramfs has the ttm.ko of the variant and the job" {
	export FAKE_INITRD=$BATS_TEST_TMPDIR/initrd
	local unpacked=$BATS_TEST_TMPDIR/unpacked

	mkdir "$unpacked"
	FAKE_GUEST=pass run -0 guest --ttm stock -- --filter "it's *"
	(cd "$unpacked" && cpio --quiet -i <"$FAKE_INITRD")
	grep -q does-not "$unpacked"/lib/modules/6.12.0/kernel/drivers/gpu/drm/ttm/ttm.ko
	[ -x "$unpacked/init" ]
	[ -x "$unpacked/bin/busybox" ]
	cmp "$unpacked/bin/nocma" "$NOCMA"
	[ "$(played_job "$unpacked/etc/nocma/job")" = \
		"<test><--backend><radeon><--filter><it's *>" ]
	FAKE_GUEST=pass run -0 guest
	(cd "$unpacked" && cpio --quiet -iu <"$FAKE_INITRD")
	grep -q passes-the-flag "$unpacked"/lib/modules/6.12.0/kernel/drivers/gpu/drm/ttm/ttm.ko
}

@test "guest: --vtd takes the kernel that has it, and the IOMMU comes before the devices" {
	run -1 guest --vtd on --dry-run
	[[ "$output" == *'v6.12-vtd: no kernel in '*', run: scripts/kernel build v6.12 --flavour vtd' ]]
	cp -r "$NOCMA_CACHE"/out/v6.12{,-vtd}
	run -0 guest --vtd on --dry-run
	[[ "$output" == *v6.12-vtd/ttm/nocma/ttm.ko* ]]
	[[ "$output" == *intel_iommu=on*'-device intel-iommu,'*'-device ati-vga'* ]]
	run -0 guest --vtd off --dry-run
	[[ "$output" == *v6.12-vtd/ttm/nocma/ttm.ko* ]]
	[[ "$output" != *iommu* ]]
	run -0 guest --dry-run
	[[ "$output" == *v6.12/ttm/nocma/ttm.ko* ]]
	run -2 guest --vtd maybe --dry-run
}

@test "guest: --flavour takes the kernel of that name" {
	cp -r "$NOCMA_CACHE"/out/v6.12{,-debug}
	run -0 guest --flavour debug --dry-run
	[[ "$output" == *v6.12-debug/ttm/nocma/ttm.ko* ]]
	run -2 guest --flavour ../v6.12 --dry-run
}

@test "guest: a flood on the console is read and logged whole" {
	FAKE_GUEST=flood run -0 guest
	[ "$(grep -c xxx "$NOCMA_CACHE/log/v6.12-nocma/console.log")" -eq 2000 ]
}

@test "guest: SIGINT and SIGTERM leave neither QEMU nor files behind" {
	local signal nocma status pid_file=$BATS_TEST_TMPDIR/pid

	for signal in INT TERM; do
		FAKE_GUEST=hang FAKE_PID=$pid_file \
			"$NOCMA" guest run v6.12 --accel tcg --timeout 60 &
		nocma=$!
		wait_for_file "$pid_file"
		kill "-$signal" "$nocma"
		status=0
		wait "$nocma" || status=$?
		[ "$status" -eq 1 ]
		run ! kill -0 "$(cat "$pid_file")"
		[ -z "$(ls -A "$TMPDIR")" ]
		rm "$pid_file"
	done
}

@test "guest: SIGKILL takes QEMU along" {
	local nocma pid_file=$BATS_TEST_TMPDIR/pid

	FAKE_GUEST=hang FAKE_PID=$pid_file \
		"$NOCMA" guest run v6.12 --accel tcg --timeout 60 &
	nocma=$!
	wait_for_file "$pid_file"
	kill -KILL "$nocma"
	wait "$nocma" || true
	for _ in $(seq 50); do
		kill -0 "$(cat "$pid_file")" 2>/dev/null || return 0
		sleep 0.1
	done
	false
}

@test "guest: no kernel built" {
	run -1 "$NOCMA" guest run v6.1
	[[ "$output" == *'v6.1: no kernel in'*'run: scripts/kernel build v6.1' ]]
	[ ${#lines[@]} -eq 1 ]
}

@test "guest: an unknown target" {
	run -2 "$NOCMA" guest run v9.9
	[[ "$output" == *'v9.9: no such target; known are '*v6.12* ]]
	[ ${#lines[@]} -eq 1 ]
}

@test "guest: a kernel without one of its parts" {
	rm "$NOCMA_CACHE/out/v6.12/ttm/stock/ttm.ko"
	run -1 guest
	[[ "$output" == *'ttm/stock/ttm.ko is missing, run: scripts/kernel build v6.12' ]]
}

@test "guest: wrong calls are usage errors" {
	run -2 "$NOCMA" guest run
	run -2 guest --cma lots
	[[ "$output" == *"'lots' is no size"* ]]
	run -2 guest --ttm other
	[ "$output" = "nocma: --ttm: 'other': not one of nocma, stock, see --help" ]
	run -2 guest --accel 1
	run -2 guest --test --bench
	run -2 guest --timeout 0
	run -2 guest --memory 0M
	run -2 guest --cma=-1M
	run -2 guest --unknown
	run -2 "$NOCMA" guest run ../v6.12
}

@test "guest: no QEMU" {
	NOCMA_QEMU=/nonexistent FAKE_GUEST=pass run -1 guest
	[[ "$output" == *'NOCMA_QEMU=/nonexistent: no such program' ]]
}

@test "guest: --dry-run prints the plan and starts nothing" {
	FAKE_GUEST=pass run -0 guest --ttm stock --cma 64M --dry-run
	[[ "$output" == *'ttm/stock/ttm.ko'* ]]
	[[ "$output" == *'cma=64M'* ]]
	[ ! -e "$NOCMA_CACHE/log" ]
	run -0 "$NOCMA" guest compare v6.12 --accel tcg --rounds 2 --dry-run
	[ "$(grep -c '^boot' <<<"$output")" -eq 5 ]
	[[ "$output" == *'boot 5 of 5: cma0'*'cma=0'* ]]
	run -0 "$NOCMA" guest compare v6.12 --accel tcg --rounds 6 --against cma0 --dry-run
	[ "$(grep -c '^boot' <<<"$output")" -eq 13 ]
	[[ "$output" == *'boot 1 of 13: nocma'*'boot 2 of 13: cma0'*'boot 13 of 13: stock'* ]]
	# Not even to find out whether KVM works.
	run -0 "$NOCMA" guest run v6.12 --dry-run
	[ ! -e "$NOCMA_CACHE/kvm-probe" ]
}

@test "guest: the kernel's KUnit suites run with --kunit and only then" {
	FAKE_GUEST=pass run -0 guest --kunit --dry-run
	[[ "$output" == *'job: nocma kunit'* ]]
	[[ "$output" == *' kunit.enable=1 '* ]]
	for work in --test --bench; do
		FAKE_GUEST=pass run -0 guest "$work" --dry-run
		[[ "$output" != *kunit* ]]
		run -2 guest "$work" --kunit
	done
}

@test "guest: --exec runs the command behind --, with the files of --add" {
	local unpacked=$BATS_TEST_TMPDIR/unpacked files=$BATS_TEST_TMPDIR/files
	local initrd=$BATS_TEST_TMPDIR/initrd

	mkdir -p "$unpacked" "$files/a folder/below"
	echo one >"$files/a folder/below/one"
	ln -s "a folder/below/one" "$files/two"
	FAKE_GUEST=pass FAKE_INITRD=$initrd run -0 guest --add "$files/a folder/" \
		--add "$files/two" --exec -- nocma doctor "it's" "a \$b"
	(cd "$unpacked" && cpio --quiet -i <"$initrd")
	[ "$(played_job "$unpacked/etc/nocma/job")" = "<doctor><it's><a \$b>" ]
	[ "$(cat "$unpacked/root/a folder/below/one")" = one ]
	[ "$(cat "$unpacked/root/two")" = one ]
	[ ! -L "$unpacked/root/two" ]
	FAKE_GUEST=fail run -1 guest --exec -- false
	FAKE_GUEST=skip run -4 guest --exec -- nocma doctor
}

@test "guest: --exec needs a command, --add a file that is there" {
	run -2 guest --exec
	[[ "$output" == *'--exec: name the command behind --'* ]]
	run -2 guest --add "$BATS_TEST_TMPDIR/none" --exec -- true
	run -2 guest --test --exec -- true
}

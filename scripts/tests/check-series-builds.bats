#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/check-series-builds as a user calls it, as far as that takes no kernel source.

setup() {
	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	export NOCMA_CACHE=$BATS_TEST_TMPDIR/cache
}

check() {
	run "$root/scripts/check-series-builds" "$@"
}

@test "check-series-builds: --help names every configuration and succeeds" {
	check --help
	[ "$status" -eq 0 ]
	for config in normal cma-off dma-cma-off thp-off debug arm arm64 tests; do
		[[ $output == *"$config"* ]]
	done
	[ ! -e "$NOCMA_CACHE" ]
}

@test "check-series-builds: a wrong call is refused with its reason" {
	check
	[ "$status" -eq 2 ]
	[[ $output == *"no target given"* ]]

	check v9.9
	[ "$status" -eq 2 ]
	[[ $output == *"unknown target 'v9.9'"* ]]

	check v6.12 --config huge
	[ "$status" -eq 2 ]
	[[ $output == *"unknown configuration 'huge'"* ]]

	check v6.12 --config
	[ "$status" -eq 2 ]

	check v6.12 v7.2
	[ "$status" -eq 2 ]
	[ ! -e "$NOCMA_CACHE" ]
}

@test "check-series-builds: a source that is not there is named, with the way to get it" {
	check v6.12
	[ "$status" -eq 1 ]
	[[ $output == *"scripts/kernel prepare v6.12"* ]]
}

@test "check-series-builds: a kernel in no suite is skipped without its source" {
	check v4.15
	[ "$status" -eq 4 ]
	[[ $output == *"SKIP v4.15"* ]]
	[[ $output == *"--tree DIR"* ]]
}

@test "check-series-builds: a cache with a blank in its path is refused" {
	NOCMA_CACHE="$BATS_TEST_TMPDIR/my cache" check v6.12
	[ "$status" -eq 2 ]
	[[ $output == *"space or colon"* ]]
}

# A kernel tree whose kbuild looks for words in the sources: BROKEN does not build, WARN is a
# warning. The configuration is what was asked for, less the line that the file 'drops' has.
make_kernel() {
	local base=$NOCMA_CACHE/src/v1.0/base

	repo=$BATS_TEST_TMPDIR/repo
	mkdir -p "$repo/scripts" "$repo/patches/v1.0" "$base/mm" "$base/lib" "$base/scripts" "$BATS_TEST_TMPDIR/bin"
	cp "$root/scripts/check-series-builds" "$root/scripts/lib.bash" "$repo/scripts"
	echo 'v1.0 linux-source-1.0 1.0 stable ready' >"$repo/patches/targets.conf"
	printf '#!/bin/sh\nexit 0\n' | tee "$BATS_TEST_TMPDIR/bin/sparse" >"$BATS_TEST_TMPDIR/bin/ccache"
	chmod +x "$BATS_TEST_TMPDIR/bin/"*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
	printf 'one\ntwo\nWARN old\nthree\n' >"$base/mm/debug.c"
	printf 'one\ntwo\nthree\n' >"$base/lib/radix-tree.c"
	echo pristine >"$base.stamp"
	cat >"$base/Makefile" <<-'EOF'
	.RECIPEPREFIX = >
	MAKEFLAGS += -r
	allnoconfig:
	>grep -vxf drops $(KCONFIG_ALLCONFIG) >$(KCONFIG_CONFIG)
	%.o: %.c
	>@mkdir -p $(O)/$(@D) && rm -f $(O)/$@
	>@! grep -n BROKEN $*.c
	>@sed -n 's,.*WARN,$*.c:7:1: warning:,p' $*.c
	>@touch $(O)/$@
	.PHONY: drivers/gpu/drm/vttm/
	drivers/gpu/drm/vttm/:
	>@! grep -n BROKEN $@*.c
	>@sed -n 's,.*WARN,$@vttm.c:7:1: warning:,p' $@*.c
	EOF
	cat >"$base/scripts/kernel-doc" <<-'EOF'
	#!/bin/sh
	grep -n UNDOCUMENTED "$2" | sed "s,:.*UNDOCUMENTED,," | while read -r line member; do
		echo "Warning: $2:$line no description of $member"
	done
	EOF
	chmod +x "$base/scripts/kernel-doc"
	printf 'three\nUNDOCUMENTED old\n' >"$base/mm/internal.h"
	: >"$base/drops"
	: >"$repo/patches/v1.0/series"
}

# add_patch NAME SED-EXPRESSION [FILE]: a patch to mm/debug.c on top of those before it.
add_patch() {
	local tree=$BATS_TEST_TMPDIR/edit

	if [ ! -d "$tree" ]; then
		cp -r "$NOCMA_CACHE/src/v1.0/base" "$tree"
		git -C "$tree" init -q
	fi
	git -C "$tree" add -A
	sed -i "$2" "$tree/${3:-mm/debug.c}"
	git -C "$tree" diff >"$repo/patches/v1.0/$1"
	echo "$1" >>"$repo/patches/v1.0/series"
}

fake_check() {
	run "$repo/scripts/check-series-builds" v1.0 --config normal
}

@test "check-series-builds: a clean series passes, step by step, and is not built again" {
	make_kernel
	add_patch 0001-a.patch 's/two/2/'
	add_patch 0002-b.patch 's/three/3/'
	fake_check
	[ "$status" -eq 0 ]
	[[ $output == *"ok 1 v1.0 normal: base"* ]]
	[[ $output == *"ok 3 v1.0 normal: 0002-b.patch"* ]]
	[[ $output == *"1..3" ]]
	[ "$(cat "$NOCMA_CACHE/src/v1.0/base/mm/debug.c")" = $'one\ntwo\nWARN old\nthree' ]

	fake_check
	[ "$status" -eq 0 ]
	[[ $output == *"nothing changed since it passed"* ]]
}

@test "check-series-builds: a new warning fails its own patch only" {
	make_kernel
	add_patch 0001-a.patch 's/one/WARN new/'
	add_patch 0002-b.patch 's/WARN new/1/'
	fake_check
	[ "$status" -eq 1 ]
	[[ $output == *"not ok 2 v1.0 normal: 0001-a.patch"* ]]
	[[ $output == *"warning: new"* ]]
	[[ $output != *"warning: old"* ]]
	[[ $output == *$'\nok 3 v1.0 normal: 0002-b.patch'* ]]
}

@test "check-series-builds: a patch that does not build is found though the next repairs it" {
	make_kernel
	add_patch 0001-a.patch 's/two/BROKEN/'
	add_patch 0002-b.patch 's/BROKEN/2/'
	fake_check
	[ "$status" -eq 1 ]
	[[ $output == *"not ok 2 v1.0 normal: 0001-a.patch"* ]]
	[[ $output == *"mm/debug.o: not built"* ]]
	[[ $output == *$'\nok 3 v1.0 normal: 0002-b.patch'* ]]
}

@test "check-series-builds: patches that wire in tests are left out" {
	make_kernel
	add_patch 0001-a.patch 's/two/2/'
	echo '# tests' >>"$repo/patches/v1.0/series"
	add_patch 0002-b.patch 's/one/BROKEN/'
	fake_check
	[ "$status" -eq 0 ]
	[[ $output != *0002-b.patch* ]]
}

@test "check-series-builds: a configuration that lost its topic is refused" {
	make_kernel
	add_patch 0001-a.patch 's/two/2/'
	echo CONFIG_DMA_CMA=y >"$NOCMA_CACHE/src/v1.0/base/drops"
	fake_check
	[ "$status" -eq 1 ]
	[[ $output == *"did not get 'CONFIG_DMA_CMA=y'"* ]]
}

@test "check-series-builds: kernel-doc is asked about headers" {
	make_kernel
	add_patch 0001-a.patch 's/three/UNDOCUMENTED new\nfour/' mm/internal.h
	fake_check
	[ "$status" -eq 1 ]
	[[ $output == *"not ok 2 v1.0 normal: 0001-a.patch"* ]]
	[[ $output == *"mm/internal.h: no description of new"* ]]
	[[ $output != *"description of old"* ]]
}

# add_vttm TEXT: a test patch, and the source it wires in.
add_vttm() {
	echo '# tests' >>"$repo/patches/v1.0/series"
	add_patch 0002-drm-vttm.patch 's/two/2/'
	mkdir -p "$repo/mm" "$repo/include" "$repo/drivers/gpu/drm/vttm"
	echo "$1" >"$repo/drivers/gpu/drm/vttm/vttm.c"
	echo 'struct vttm;' >"$repo/drivers/gpu/drm/vttm/vttm.h"
}

@test "check-series-builds: tests are built on top of all patches, and not again" {
	make_kernel
	add_patch 0001-a.patch 's/one/1/'
	add_vttm 'int vttm;'
	run "$repo/scripts/check-series-builds" v1.0 --config tests
	[ "$status" -eq 0 ]
	[[ $output == *"ok 1 v1.0 tests: all patches and their tests"* ]]
	run "$repo/scripts/check-series-builds" v1.0 --config tests
	[[ $output == *"nothing changed since it passed"* ]]
}

@test "check-series-builds: a warning in a test's source or header fails" {
	make_kernel
	add_vttm 'WARN unused'
	run "$repo/scripts/check-series-builds" v1.0 --config tests
	[ "$status" -eq 1 ]
	[[ $output == *"drivers/gpu/drm/vttm/vttm.c: warning: unused"* ]]

	echo 'int vttm;' >"$repo/drivers/gpu/drm/vttm/vttm.c"
	echo 'UNDOCUMENTED member' >"$repo/drivers/gpu/drm/vttm/vttm.h"
	run "$repo/scripts/check-series-builds" v1.0 --config tests
	[ "$status" -eq 1 ]
	[[ $output == *"drivers/gpu/drm/vttm/vttm.h: no description of member"* ]]
}

#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/check-releases with a scripts/kernel and a harness that only play their parts.

bats_require_minimum_version 1.5.0

setup() {
	repo=$BATS_TEST_TMPDIR/repo
	export NOCMA_CACHE=$BATS_TEST_TMPDIR/cache NOCMA=$BATS_TEST_TMPDIR/nocma
	downloads=$NOCMA_CACHE/downloads
	mkdir -p "$repo/scripts" "$repo/patches/v6.12" "$downloads"
	cp "$BATS_TEST_DIRNAME/../check-releases" "$BATS_TEST_DIRNAME/../lib.bash" "$repo/scripts"
	printf '%s\n' '# a comment' 0001-a.patch >"$repo/patches/v6.12/series"
	printf '%s\n' '--- a/mm/a.c' '+++ b/mm/a.c' >"$repo/patches/v6.12/0001-a.patch"
	make_deb 6.12.1-1
	make_deb 6.12.2-1
	cat >"$repo/scripts/kernel" <<-'EOF'
	#!/bin/bash
	case $1 in
	list)
		echo 'linux-source-6.12 6.12.2-1 downloaded'
		echo 'linux-source-6.12 6.12.1-1 -'
		;;
	fetch)
		[ "$4" != "${GONE:-}" ] || {
			echo "kernel: $4 is gone from the archive"
			exit 4
		}
		;;
	esac
	EOF
	# The harness finds fault with the version that FAULTY names.
	cat >"$NOCMA" <<-'EOF'
	#!/bin/bash
	grep -q "SUBLEVEL = ${FAULTY:-none}" "$5/Makefile" || exit 0
	[ ! -e "$5/mm/other.c" ] || exit 3
	echo 'not ok 1 quilt push --fuzz=0'
	exit 1
	EOF
	chmod +x "$repo/scripts/kernel" "$NOCMA"
}

make_deb() {
	local version=$1 pkg=$BATS_TEST_TMPDIR/pkg

	rm -rf "$pkg"
	mkdir -p "$pkg/DEBIAN" "$pkg/usr/src" "$pkg/tree/linux-source-6.12/mm"
	printf 'VERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = %s\n' "${version:5:1}" >"$pkg/tree/linux-source-6.12/Makefile"
	touch "$pkg/tree/linux-source-6.12/mm/a.c" "$pkg/tree/linux-source-6.12/mm/other.c"
	tar -cJf "$pkg/usr/src/linux-source-6.12.tar.xz" -C "$pkg/tree" linux-source-6.12
	rm -r "$pkg/tree"
	printf '%s\n' 'Package: linux-source-6.12' "Version: $version" 'Architecture: all' \
		'Maintainer: nobody <nobody@localhost>' 'Description: test' >"$pkg/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$pkg" "$downloads/linux-source-6.12_${version}_all.deb" >/dev/null
}

@test "every release is named, what was not there before goes again" {
	run -0 --separate-stderr "$repo/scripts/check-releases" v6.12 --no-debian
	[ "$output" = 'TAP version 13
ok 1 linux-source-6.12 6.12.2-1
ok 2 linux-source-6.12 6.12.1-1
1..2' ]
	[ -f "$downloads/linux-source-6.12_6.12.2-1_all.deb" ]
	[ ! -f "$downloads/linux-source-6.12_6.12.1-1_all.deb" ]
	[ -z "$(ls -A "$NOCMA_CACHE/check-releases")" ]
}

@test "a release that the series does not fit fails, with the reason" {
	FAULTY=1 run -1 --separate-stderr "$repo/scripts/check-releases" v6.12 --no-debian
	[[ "$output" == *'ok 1 linux-source-6.12 6.12.2-1'* ]]
	[[ "$output" == *'not ok 2 linux-source-6.12 6.12.1-1'*'not ok 1 quilt push --fuzz=0'* ]]
}

@test "a release that the archive has dropped is a skip, no pass" {
	GONE=6.12.1-1 run -0 --separate-stderr "$repo/scripts/check-releases" v6.12 --no-debian
	[[ "$output" == *'ok 2 linux-source-6.12 6.12.1-1 # SKIP is gone from the archive'* ]]
}

@test "wrong calls get one line and status 2" {
	run -2 "$repo/scripts/check-releases"
	[[ "$output" == 'check-releases: no target given'* ]]
	run -2 "$repo/scripts/check-releases" v6.12 v6.1
	run -2 "$repo/scripts/check-releases" --wrong
	[ ${#lines[@]} -eq 1 ]
}

@test "without the harness it says how to get it" {
	NOCMA=/nonexistent/nocma run -1 "$repo/scripts/check-releases" v6.12
	[[ "$output" == *'run scripts/harness' ]]
}

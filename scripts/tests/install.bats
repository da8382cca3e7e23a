#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# Install into an empty folder, use what is there, uninstall and find nothing left.

bats_require_minimum_version 1.5.0

setup() {
	repo=$BATS_TEST_DIRNAME/../..
	dest="$BATS_TEST_TMPDIR/a place"
	[ -x "$repo/build/harness/tools/nocma/nocma" ] || skip "nocma is not built"
	command -v rst2man >/dev/null || skip "no rst2man (python3-docutils)"
}

install_into_dest() {
	"$repo/scripts/install" --prefix /usr --destdir "$dest" "$@"
}

# Words that completion offers for a command line whose last word is being typed.
complete_line() {
	PATH=$dest/usr/bin:$PATH bash -c '
		. "$1/usr/share/bash-completion/completions/nocma"
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		_nocma nocma
		printf "%s\n" "${COMPREPLY[@]}"' complete "$dest" "$@"
}

@test "what is installed works, and nothing is left after uninstall" {
	install_into_dest
	run -0 "$dest/usr/bin/nocma" --version
	[ -s "$dest/usr/share/man/man1/nocma.1" ]
	[ -s "$dest/usr/share/man/man1/nocma-bench.1" ]
	[ -s "$dest/usr/share/man/man1/nocma-script-kernel.1" ]
	for script in "$repo"/scripts/*; do
		[ ! -f "$script" ] || [ ! -x "$script" ] ||
			[ -s "$dest/usr/share/man/man1/nocma-script-${script##*/}.1" ]
	done
	# The series that it uses are those that were installed.
	rm "$dest/usr/share/ttm-nocma/patches/v6.12/series"
	run ! "$dest/usr/bin/nocma" series export v6.12 -o "$BATS_TEST_TMPDIR/out"
	run -0 "$dest/usr/bin/nocma" series export v6.1 -o "$BATS_TEST_TMPDIR/out"
	run -0 "$dest/usr/share/ttm-nocma/scripts/kernel" --help
	run -0 install_into_dest --uninstall
	[ "${#lines[@]}" -eq 1 ]
	[ ! -e "$dest" ] || [ -z "$(find "$dest" -mindepth 1)" ]
}

@test "uninstall leaves what it did not install" {
	install_into_dest
	echo mine >"$dest/usr/share/ttm-nocma/mine"
	install_into_dest --uninstall
	[ "$(cd "$dest" && find . -type f)" = ./usr/share/ttm-nocma/mine ]
}

@test "uninstall without an installation is one line and status 1" {
	run -1 install_into_dest --uninstall
	[ "${#lines[@]}" -eq 1 ]
	[[ $output = *"nothing was installed"* ]]
}

@test "completion offers what --help lists" {
	install_into_dest
	run -0 complete_line nocma be
	[ "$output" = bench ]
	run -0 complete_line nocma series ver
	[ "$output" = verify ]
	run -0 complete_line nocma bench --po
	[ "$output" = --pool ]
	run -0 complete_line nocma guest compare v6.12 --rou
	[ "$output" = --rounds ]
}

# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# What the scripts share: where things are kept, how errors and progress are told. Sourced.

# Exit statuses, kselftest's and getopt's habits.
EXIT_FAIL=1
EXIT_USAGE=2
EXIT_SKIP=4

say() {
	printf '%s: %s\n' "${0##*/}" "$1" >&2
}

# die MESSAGE [STATUS]: one line that names the input, what is wrong and the way out.
die() {
	say "$1"
	exit "${2:-$EXIT_FAIL}"
}

usage_error() {
	die "$1, see --help" "$EXIT_USAGE"
}

skip() {
	die "SKIP $1" "$EXIT_SKIP"
}

# The folder of downloads, sources, kernels and guests; the same rule as in nocma.
cache_dir() {
	local dir=${NOCMA_CACHE:-${XDG_CACHE_HOME:-${HOME:?}/.cache}/ttm-nocma}

	case $dir in
	/*) printf '%s\n' "$dir" ;;
	*) printf '%s\n' "$PWD/$dir" ;;
	esac
}

# kbuild takes no path with a blank or a colon: said before any work is done.
check_path() {
	case $1 in
	*[[:space:]:]*)
		die "'$1': the kernel's build takes no path with a space or colon, $2" "$EXIT_USAGE"
		;;
	esac
}

# need_space DIR MEBIBYTES WHAT
need_space() {
	local free

	free=$(df --output=avail -BM -- "$1" | tail -n 1 | tr -dc '0-9')
	[ "$free" -ge "$2" ] ||
		die "$1 has $free MiB free, $3 takes $2: free some or set NOCMA_CACHE to another disk"
}

# progress WHAT TOTAL: swallow a tool's lines on stdin and tell how many there were of about
# TOTAL (0: unknown), once a second on a terminal, otherwise every ten seconds.
progress() {
	local what=$1 total=$2 count=0 began=$EPOCHSECONDS last=$EPOCHSECONDS every=10 end=$'\n' _

	if [ -t 2 ]; then
		every=1
		end=$'\r'
	fi
	while read -r _; do
		count=$((count + 1))
		[ $((EPOCHSECONDS - last)) -ge "$every" ] || continue
		last=$EPOCHSECONDS
		progress_line "$what" "$count" "$total" "$((last - began))" "$end"
	done
	progress_line "$what" "$count" "$count" "$((EPOCHSECONDS - began))" $'\n'
}

progress_line() {
	local of=''

	[ "$3" -eq 0 ] || of=" of about $3"
	[ "$2" -ne "$3" ] || of=', done'
	printf '%s: %s: %d%s, %d s%s' "${0##*/}" "$1" "$2" "$of" "$4" "$5" >&2
}

# kselftest_tree SOURCE TREE: the parts of a kernel tree that selftests are made with, and our files
# over them.
kselftest_tree() {
	local repo
	repo=$(dirname "${BASH_SOURCE[0]}")/..

	mkdir -p "$2"
	tar -C "$1" -c Makefile scripts/subarch.include include/uapi/drm \
		tools/testing/selftests/{Makefile,lib.mk,run_kselftest.sh,kselftest} | tar -x -C "$2"
	tar -C "$repo" -c include/uapi/drm/vttm_drm.h tools/nocma tools/testing/selftests/nocma |
		tar -x -C "$2"
}

# kselftest_make TREE OUTPUT GOAL. As scripts/harness has it, a build in another folder finds the
# objects again.
kselftest_make() {
	env CCACHE_DIR="${CCACHE_DIR:-$(cache_dir)/ccache}" CCACHE_BASEDIR="$(dirname "$1")" \
		CCACHE_NOHASHDIR=1 \
		CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime \
		make -C "$1/tools/testing/selftests" TARGETS=nocma O="$2" "$3"
}

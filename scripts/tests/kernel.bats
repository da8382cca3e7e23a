#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# scripts/kernel as a user calls it. The archive is a folder with packages of a few files,
# the kernel in them a Makefile that copies; nothing reaches the network.

setup() {
	repo=$BATS_TEST_TMPDIR/repo
	archive=$BATS_TEST_TMPDIR/archive/debian
	export NOCMA_CACHE=$BATS_TEST_TMPDIR/cache
	export APT_CONFIG=$BATS_TEST_TMPDIR/apt.conf
	mkdir -p "$repo/patches/v6.12" "$repo/scripts/config" "$BATS_TEST_TMPDIR/lists/partial"
	cp "$BATS_TEST_DIRNAME/../kernel" "$BATS_TEST_DIRNAME/../lib.bash" "$repo/scripts"
	cat >"$repo/patches/targets.conf" <<-EOF
	# target package version suites status
	v4.15  -                 4.15 -             planned bring the tree
	v6.12  linux-source-6.12 6.12 test-security ready
	EOF
	printf 'CONFIG_A=y\n# CONFIG_B is not set\n' >"$repo/scripts/config/base.config"
	make_series
	make_archive 6.12.9-1 6.12.10-1
	cat >"$APT_CONFIG" <<-EOF
	Dir::Etc::sourcelist "$BATS_TEST_TMPDIR/sources.list";
	Dir::Etc::sourceparts "/dev/null";
	Dir::State::lists "$BATS_TEST_TMPDIR/lists";
	Acquire::AllowInsecureRepositories "true";
	Acquire::AllowWeakRepositories "true";
	APT::Get::AllowUnauthenticated "true";
	EOF
	echo "deb file:$archive stable main" >"$BATS_TEST_TMPDIR/sources.list"
	export PATH=$BATS_TEST_TMPDIR/bin:$PATH
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	printf '#!/bin/sh\nexec "$@"\n' >"$BATS_TEST_TMPDIR/bin/ccache"
	chmod +x "$BATS_TEST_TMPDIR/bin/ccache"
}

# A kernel tree in DIR whose kbuild only copies: what is configured is what was asked, less
# the symbol that the file 'drops' names.
make_tree() {
	local dir=$1 version=$2

	mkdir -p "$dir/drivers/gpu/drm/ttm"
	cat >"$dir/Makefile" <<-'EOF'
	VERSION = @V@
	PATCHLEVEL = @P@
	.RECIPEPREFIX = >
	SRC := $(CURDIR)
	allnoconfig:
	>grep -v "^$$(cat $(SRC)/drops)=" $(KCONFIG_ALLCONFIG) >$(KCONFIG_CONFIG)
	all:
	>@echo built >>$(O)/runs
	>mkdir -p $(O)/arch/x86/boot $(O)/include/config $(O)/drivers/gpu/drm/ttm
	>cat value >$(O)/arch/x86/boot/bzImage
	>echo @V@.@P@.0 >$(O)/include/config/kernel.release
	>cat drivers/gpu/drm/ttm/ttm.c >$(O)/drivers/gpu/drm/ttm/ttm.ko
	>touch $(O)/vmlinux
	modules:
	>cat $(M)/ttm.c >$(M)/ttm.ko
	modules_install:
	>mkdir -p $(INSTALL_MOD_PATH)/lib/modules/@V@.@P@.0
	>ln -s $(O) $(INSTALL_MOD_PATH)/lib/modules/@V@.@P@.0/build
	EOF
	sed -i -e "s/@V@/${version%%.*}/" -e "s/@P@/$(cut -d. -f2 <<<"$version")/" "$dir/Makefile"
	printf 'config A\n\tbool\n\tdepends on MISSING\n' >"$dir/Kconfig"
	echo CONFIG_NONE >"$dir/drops"
	touch "$dir/Kbuild" "$dir/drivers/gpu/drm/ttm/Makefile"
	echo "base $version" >"$dir/value"
	echo other >"$dir/other"
	echo plain >"$dir/drivers/gpu/drm/ttm/ttm.c"
}

make_deb() {
	local version=$1 work=$BATS_TEST_TMPDIR/deb
	local deb=$archive/linux-source-6.12_${version}_all.deb

	rm -rf "$work"
	mkdir -p "$work/DEBIAN" "$work/usr/src" "$archive"
	make_tree "$work/linux-source-6.12" "${version%-*}"
	head -c 100000 /dev/urandom >"$work/linux-source-6.12/bulk"
	tar -C "$work" -cJf "$work/usr/src/linux-source-6.12.tar.xz" linux-source-6.12
	rm -r "$work/linux-source-6.12"
	printf 'Package: linux-source-6.12\nVersion: %s\nArchitecture: all\nMaintainer: nobody\nDescription: test\n' \
		"$version" >"$work/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$work" "$deb" >/dev/null
	{
		cat "$work/DEBIAN/control"
		printf 'Filename: %s\nSize: %s\nSHA256: %s\n\n' "${deb##*/}" "$(stat -c %s "$deb")" \
			"$(sha256sum <"$deb" | cut -d' ' -f1)"
	} >>"$archive/dists/test-security/main/binary-$(dpkg --print-architecture)/Packages"
}

make_archive() {
	local dist=$archive/dists/test-security version
	local packages

	packages=main/binary-$(dpkg --print-architecture)/Packages
	rm -rf "$archive"
	mkdir -p "$dist/${packages%/*}"
	: >"$dist/$packages"
	for version; do
		make_deb "$version"
	done
	{
		printf 'Origin: Debian\nSuite: test-security\nCodename: test-security\nComponents: main\n'
		printf 'Architectures: %s\nSHA256:\n' "$(dpkg --print-architecture)"
		printf ' %s %s %s\n' "$(sha256sum <"$dist/$packages" | cut -d' ' -f1)" \
			"$(stat -c %s "$dist/$packages")" "$packages"
	} >"$dist/Release"
	# The security archive is looked for beside the main one.
	ln -sfn debian "$archive-security"
}

# Two patches: 'value' becomes TEXT, and TTM passes the flag.
make_series() {
	local text=${1:-patched} dir=$repo/patches/v6.12

	cat >"$dir/0001-value.patch" <<-EOF
	--- a/value
	+++ b/value
	@@ -1 +1 @@
	-base 6.12.10
	+$text
	EOF
	cat >"$dir/0002-ttm.patch" <<-EOF
	--- a/drivers/gpu/drm/ttm/ttm.c
	+++ b/drivers/gpu/drm/ttm/ttm.c
	@@ -1 +1 @@
	-plain
	+flag
	--- /dev/null
	+++ b/added
	@@ -0,0 +1 @@
	+new
	EOF
	printf '# comment\n0001-value.patch\n0002-ttm.patch\n' >"$dir/series"
	(cd "$dir" && sha256sum ./*.patch | sed 's,\./,,' >SHA256SUMS)
}

kernel() {
	run "$repo/scripts/kernel" "$@"
}

# Status and a text that the output must have; the output is shown when not.
expect() {
	if [ "$status" -ne "$1" ] || [[ $output != *"$2"* ]]; then
		echo "status $status, wanted $1 and '$2', output:"
		echo "$output"
		return 1
	fi
}

@test "help names every command and exits 0" {
	kernel --help
	for word in list fetch prepare config build --tree --dry-run; do
		expect 0 "$word"
	done
}

@test "wrong calls are usage errors of one line" {
	kernel
	expect 2 "no command given"
	[ "${#lines[@]}" -eq 1 ]
	kernel make v6.12
	expect 2 "unknown command 'make'"
	kernel fetch
	expect 2 "fetch: no target given"
	kernel fetch v6.12 v6.13
	expect 2 "one target only"
	kernel fetch v6.12 --frobnicate
	expect 2 "unknown option '--frobnicate'"
	kernel fetch v6.12 --version
	expect 2 "--version needs a value"
	kernel build v6.12 --all
	expect 2 "--all goes with fetch only"
	kernel fetch v6.12 --tree /nowhere
	expect 2 "--tree"
	[ ! -e "$NOCMA_CACHE" ]
}

@test "an unknown target names those that there are" {
	kernel build v3.16
	expect 2 "unknown target 'v3.16', there are v4.15, v6.12"
}

@test "a cache path with a space or a colon is refused before anything is done" {
	for bad in "a b" a:b; do
		NOCMA_CACHE=$BATS_TEST_TMPDIR/$bad kernel build v6.12
		expect 2 "takes no path with a space or colon"
		[ ! -e "$BATS_TEST_TMPDIR/$bad" ]
	done
}

@test "a cache that cannot be written is named" {
	echo >"$BATS_TEST_TMPDIR/file"
	NOCMA_CACHE=$BATS_TEST_TMPDIR/file kernel fetch v6.12
	expect 1 "cannot write to $BATS_TEST_TMPDIR/file"
}

@test "list shows targets, and the point releases of one" {
	kernel list
	expect 0 "v4.15"
	kernel list v6.12
	expect 0 "6.12.10-1"
	expect 0 "6.12.9-1"
	[[ ${lines[1]} == *6.12.10-1* ]]
}

@test "fetch takes the newest version and a second run keeps it" {
	kernel fetch v6.12
	expect 0 "downloading linux-source-6.12_6.12.10-1_all.deb"
	[ -f "$NOCMA_CACHE/downloads/linux-source-6.12_6.12.10-1_all.deb" ]
	rm -r "$archive"
	kernel fetch v6.12
	expect 0 "6.12.10-1 is there, checksum right"
}

@test "fetch --version and --all" {
	kernel fetch v6.12 --version 6.12.9-1
	expect 0 "6.12.9-1"
	[ ! -e "$NOCMA_CACHE/downloads/linux-source-6.12_6.12.10-1_all.deb" ]
	kernel fetch v6.12 --version 6.12.8-1
	expect 1 "no linux-source-6.12 6.12.8-1 in reach"
	kernel fetch v6.12 --all
	expect 0 "6.12.9-1 is there"
	[ -f "$NOCMA_CACHE/downloads/linux-source-6.12_6.12.10-1_all.deb" ]
}

@test "a release that the archive has dropped is named, and the next one taken" {
	rm "$archive/linux-source-6.12_6.12.10-1_all.deb"
	kernel fetch v6.12 --version 6.12.10-1
	expect 4 "v6.12: linux-source-6.12 6.12.10-1 is gone from the archive"
	kernel fetch v6.12
	expect 0 "6.12.10-1 is gone"
	[ -f "$NOCMA_CACHE/downloads/linux-source-6.12_6.12.9-1_all.deb" ]
	kernel fetch v6.12 --all
	expect 0 "6.12.10-1 is gone"
}

@test "a truncated download is not trusted, with and without its checksum" {
	kernel fetch v6.12
	deb=$NOCMA_CACHE/downloads/linux-source-6.12_6.12.10-1_all.deb
	truncate -s 5000 "$deb"
	kernel prepare v6.12
	expect 1 "does not match its checksum any more"
	kernel fetch v6.12
	expect 0 "downloading"
	cmp "$deb" "$archive/${deb##*/}"

	truncate -s 5000 "$deb"
	rm "$deb.sha256"
	kernel fetch v6.12
	expect 0 "downloading"
	cmp "$deb" "$archive/${deb##*/}"
}

@test "a download that stopped half-way, or holds other bytes, ends right" {
	deb=linux-source-6.12_6.12.10-1_all.deb
	mkdir -p "$NOCMA_CACHE/downloads/partial"
	head -c 5000 "$archive/$deb" >"$NOCMA_CACHE/downloads/partial/$deb"
	kernel fetch v6.12
	expect 0 ""
	cmp "$NOCMA_CACHE/downloads/$deb" "$archive/$deb"

	rm -r "$NOCMA_CACHE/downloads"
	mkdir -p "$NOCMA_CACHE/downloads/partial"
	head -c 5000 /dev/urandom >"$NOCMA_CACHE/downloads/partial/$deb"
	kernel fetch v6.12
	expect 0 ""
	cmp "$NOCMA_CACHE/downloads/$deb" "$archive/$deb"
}

@test "a package that is not what the archive's index says is refused" {
	echo junk >>"$archive/linux-source-6.12_6.12.10-1_all.deb"
	kernel fetch v6.12
	expect 1 "linux-source-6.12_6.12.10-1_all.deb"
	[ ! -e "$NOCMA_CACHE/downloads/linux-source-6.12_6.12.10-1_all.deb" ]
}

@test "an archive without a signature is refused" {
	sed -i '/Insecure\|Weak\|Unauthenticated/d' "$APT_CONFIG"
	kernel fetch v6.12
	expect 1 "not signed"
	[ ! -e "$NOCMA_CACHE/downloads" ]
}

@test "no network: one line says what was not reached and the way out" {
	echo "deb http://127.0.0.1:9/debian stable main" >"$BATS_TEST_TMPDIR/sources.list"
	echo 'Acquire::Retries "0";' >>"$APT_CONFIG"
	kernel fetch v6.12
	expect 1 "Could not connect to 127.0.0.1:9"
	expect 1 "use --tree DIR"
	[ "${#lines[@]}" -eq 2 ]
}

@test "no Debian archive among the sources" {
	: >"$BATS_TEST_TMPDIR/sources.list"
	kernel fetch v6.12
	expect 1 "no Debian archive among this machine's apt sources"
}

@test "sources in deb822 form and a main suite beside a security one" {
	sed -i 's/test-security ready/test ready/' "$repo/patches/targets.conf"
	mv "$archive/dists/test-security" "$archive/dists/test"
	sed -i 's/test-security/test/' "$archive/dists/test/Release"
	printf 'Types: deb\nURIs: file:%s-security\nSuites: stable-security\nComponents: main\n' "$archive" \
		>"$BATS_TEST_TMPDIR/main.sources"
	sed -i "s,sourcelist .*,sourcelist \"$BATS_TEST_TMPDIR/main.sources\";," "$APT_CONFIG"
	kernel fetch v6.12
	expect 0 "downloading"
	grep -q "file:$archive test main" "$NOCMA_CACHE/apt/v6.12/sources.list"
}

@test "prepare makes base and patched, and does nothing the second time" {
	kernel prepare v6.12
	expect 0 "applying 2 patches"
	src=$NOCMA_CACHE/src/v6.12
	[ "$(cat "$src/base/value")" = "base 6.12.10" ]
	[ "$(cat "$src/patched/value")" = patched ]
	[ "$(cat "$src/patched/added")" = new ]
	kernel prepare v6.12
	expect 0 ""
	[ -z "$output" ]
}

@test "a changed series changes only the files that differ" {
	kernel prepare v6.12
	src=$NOCMA_CACHE/src/v6.12
	touch -d '2001-01-01' "$src"/patched/{value,other,added,drivers/gpu/drm/ttm/ttm.c}
	make_series again
	kernel prepare v6.12
	expect 0 "applying 2 patches"
	[ "$(cat "$src/patched/value")" = again ]
	[ "$(find "$src/patched" -newermt 2002-01-01 -type f -path '*ttm.c')" = "" ]
	[ "$(stat -c %Y "$src/patched/added")" = "$(date -d 2001-01-01 +%s)" ]

	# A file that no patch makes or changes any more goes back to what it was.
	sed -i /0002/d "$repo/patches/v6.12/series"
	kernel prepare v6.12
	expect 0 "applying 1 patches"
	[ ! -e "$src/patched/added" ]
	[ "$(cat "$src/patched/drivers/gpu/drm/ttm/ttm.c")" = plain ]
}

@test "an interrupted prepare is done again" {
	kernel prepare v6.12
	src=$NOCMA_CACHE/src/v6.12
	rm "$src/patched.stamp"
	echo half >"$src/patched/value"
	mkdir "$src/base.new" "$src/scratch"
	kernel prepare v6.12
	expect 0 "applying 2 patches"
	[ "$(cat "$src/patched/value")" = patched ]
	rm "$src/base.stamp"
	kernel prepare v6.12
	expect 0 "unpacking"
}

@test "a patch that does not apply, or was altered, leaves patched as it was" {
	kernel prepare v6.12
	sed -i 's/base 6.12.10/base 6.12.11/' "$repo/patches/v6.12/0001-value.patch"
	kernel prepare v6.12
	expect 1 "differs from SHA256SUMS"
	(cd "$repo/patches/v6.12" && sha256sum 000* >SHA256SUMS)
	kernel prepare v6.12
	expect 1 "0001-value.patch: does not apply to v6.12"
	[ "$(cat "$NOCMA_CACHE/src/v6.12/patched/value")" = patched ]
}

@test "a target outside Debian needs a tree; the tree is checked and left alone" {
	kernel prepare v4.15
	expect 4 "give its source with --tree DIR"
	cp -r "$repo/patches/v6.12" "$repo/patches/v4.15"
	kernel prepare v4.15 --tree "$BATS_TEST_TMPDIR/none"
	expect 2 "no such folder"
	mkdir "$BATS_TEST_TMPDIR/empty"
	kernel prepare v4.15 --tree "$BATS_TEST_TMPDIR/empty"
	expect 1 "no kernel tree"
	make_tree "$BATS_TEST_TMPDIR/tree" 6.12.10
	kernel prepare v4.15 --tree "$BATS_TEST_TMPDIR/tree"
	expect 1 "this is a 6.12 tree, v4.15 is for 4.15"
	make_tree "$BATS_TEST_TMPDIR/tree" 4.15.18
	echo "base 6.12.10" >"$BATS_TEST_TMPDIR/tree/value"
	touch "$BATS_TEST_TMPDIR/tree/.config"
	kernel prepare v4.15 --tree "$BATS_TEST_TMPDIR/tree"
	expect 1 "make mrproper"
	rm "$BATS_TEST_TMPDIR/tree/.config"
	kernel prepare v4.15 --tree "$BATS_TEST_TMPDIR/tree"
	expect 0 "applying 2 patches"
	[ "$(cat "$BATS_TEST_TMPDIR/tree/value")" = "base 6.12.10" ]
	# Once there, it needs not be named again.
	kernel prepare v4.15
	expect 0 ""
	[ -z "$output" ]
}

@test "config: a symbol that did not get its value is named with the reason" {
	echo 'CONFIG_GONE=y' >>"$repo/scripts/config/base.config"
	kernel config v6.12
	expect 0 ""
	sed -i s/CONFIG_NONE/CONFIG_A/ "$NOCMA_CACHE/src/v6.12/patched/drops"
	echo '# changed' >>"$repo/scripts/config/base.config"
	kernel config v6.12
	expect 1 "CONFIG_A is n, not y: off, and it depends on them: MISSING"
	sed -i s/CONFIG_A/CONFIG_GONE/ "$NOCMA_CACHE/src/v6.12/patched/drops"
	kernel config v6.12
	expect 1 "CONFIG_GONE is n, not y: this kernel has no such symbol"
	# A fragment of the target has the last word.
	echo '# CONFIG_GONE is not set' >"$repo/scripts/config/v6.12.config"
	kernel config v6.12
	expect 0 ""
}

@test "build fills out with both ttm.ko and is not repeated while nothing changes" {
	kernel build v6.12
	expect 0 "6.12.0 is in"
	out=$NOCMA_CACHE/out/v6.12
	[ "$(cat "$out/bzImage")" = patched ]
	[ "$(cat "$out/release")" = 6.12.0 ]
	[ "$(cat "$out/ttm/nocma/ttm.ko")" = flag ]
	[ "$(cat "$out/ttm/stock/ttm.ko")" = plain ]
	[ -f "$out/config" ] && [ -d "$out/lib/modules/6.12.0" ]
	[ ! -e "$out/lib/modules/6.12.0/build" ]
	kernel build v6.12
	expect 0 "nothing changed since"
	[ "$(wc -l <"$NOCMA_CACHE/build/v6.12/runs")" -eq 1 ]
	make_series again
	kernel build v6.12
	expect 0 "6.12.0 is in"
	[ "$(cat "$out/bzImage")" = again ]
}

@test "a build that fails shows why and leaves what a guest uses" {
	kernel build v6.12
	expect 0 "6.12.0 is in"
	make_series again
	kernel prepare v6.12
	rm "$NOCMA_CACHE/src/v6.12/patched/value"
	kernel build v6.12
	expect 1 "value: No such file"
	expect 1 "the build failed"
	[ "$(cat "$NOCMA_CACHE/out/v6.12/bzImage")" = patched ]
}

@test "a tool that a build needs and the machine lacks is named before the build" {
	mkdir "$BATS_TEST_TMPDIR/few"
	for tool in $(compgen -c | sort -u | grep -v '^lz4$'); do
		file=$(type -P "$tool") && ln -s "$file" "$BATS_TEST_TMPDIR/few/$tool"
	done || true
	sed -i 's,^\tPATH=.*,\tPATH='"$BATS_TEST_TMPDIR/few," "$repo/scripts/kernel"
	kernel build v6.12
	expect 1 "lz4 is not installed: 'scripts/setup demo'"
}

@test "two commands on one target take turns" {
	mkdir -p "$NOCMA_CACHE/locks"
	(
		exec 9>"$NOCMA_CACHE/locks/v6.12"
		flock 9
		sleep 2
	) 3>&- &
	sleep 0.5
	kernel fetch v6.12
	expect 0 "another scripts/kernel works on it, waiting"
	wait
}

@test "dry run prints the plan and writes nothing" {
	kernel build v6.12 --dry-run
	expect 0 "v6.12: fetch"
	for word in unpack patch config build; do
		expect 0 "v6.12: $word"
	done
	[ ! -e "$NOCMA_CACHE" ]
	kernel build v6.12
	kernel build v6.12 --dry-run
	expect 0 "nothing changed since"
	[ "${#lines[@]}" -eq 1 ]
}

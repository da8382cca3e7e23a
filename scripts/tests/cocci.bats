#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only
#
# The semantic patch on small files, in every mode, and scripts/cocci on trees of a few
# files. In tests/cocci/ a comment "found" marks the lines that have to be reported.

setup() {
	rule=$BATS_TEST_DIRNAME/../coccinelle/api/nocma.cocci
	cd "$BATS_TEST_DIRNAME/cocci" || return
	export NOCMA_CACHE=$BATS_TEST_TMPDIR/cache
	files=(alloc.c ttm/pool.c)
	command -v spatch >/dev/null || skip "spatch is not installed"
}

cocci() {
	spatch --very-quiet --no-includes -D "$1" --cocci-file "$rule" "${files[@]}"
}

# file:line of each marked line
expected() {
	grep -n '/\* found \*/' "${files[@]}" | cut -d: -f1-2 | sort
}

@test "the rule declares the four modes that coccicheck asks for" {
	for mode in patch context org report; do
		grep -qx "virtual $mode" "$rule"
	done
}

@test "report names the marked lines and no other" {
	run cocci report
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -gt 0 ]
	diff <(printf '%s\n' "${lines[@]}" | cut -d: -f1-2 | sort) <(expected)
}

@test "org names the marked lines and no other" {
	run cocci org
	[ "$status" -eq 0 ]
	diff <(printf '%s\n' "${lines[@]}" | sed 's/.*view:\([^:]*\)::.*linb=\([0-9]*\)::.*/\1:\2/' | sort) \
		<(expected)
}

@test "context marks the marked lines and no other" {
	run cocci context
	[ "$status" -eq 0 ]
	printf '%s\n' "${lines[@]}" | grep '^-[^-]' >"$BATS_TEST_TMPDIR/minus"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/minus")" -eq "$(expected | wc -l)" ]
	[ "$(grep -c '/\* found \*/' "$BATS_TEST_TMPDIR/minus")" -eq "$(expected | wc -l)" ]
}

@test "patch makes the code ask, and the result is clean but for what is left to the reader" {
	cp -r . "$BATS_TEST_TMPDIR/tree"
	cocci patch >"$BATS_TEST_TMPDIR/diff"
	cd "$BATS_TEST_TMPDIR/tree"
	patch -p0 <"$BATS_TEST_TMPDIR/diff"
	grep -q 'block && dma_gfp_allows_cma(dev, gfp) ? dev_get_cma_area' alloc.c
	grep -q 'gfp | __GFP_NOCMA, *$' ttm/pool.c
	run cocci report
	[ "$status" -eq 0 ]
	[ "${#lines[@]}" -eq 2 ]
	[[ ${lines[*]} == *"takes from a shared area"*"came from the page allocator"* ]]
}

@test "the same calls outside TTM are nobody's business" {
	mkdir "$BATS_TEST_TMPDIR/other"
	cp ttm/pool.c "$BATS_TEST_TMPDIR/other"
	cd "$BATS_TEST_TMPDIR"
	files=(other/pool.c)
	run cocci report
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

# A kernel of two files, before and after a series that touches both.
make_sources() {
	local src=$NOCMA_CACHE/src/v6.12 tree

	for tree in base patched; do
		mkdir -p "$src/$tree"/{arch,kernel/dma,mm,drivers/{iommu,dma-buf,base,xen,gpu/drm/ttm}}
	done
	cat >"$src/base/kernel/dma/contiguous.c" <<-'END'
	struct page *dma_alloc_contiguous(struct device *dev, size_t size, gfp_t gfp)
	{
		return cma_alloc_aligned(dma_contiguous_default_area, size, gfp);
	}
	END
	cat >"$src/base/drivers/gpu/drm/ttm/ttm_pool.c" <<-'END'
	void *alloc(struct device *dev, gfp_t gfp)
	{
		return dma_alloc_attrs(dev, size, &dma, gfp, 0);
	}
	END
	sed 's/^{/{\n\tif (!dma_gfp_allows_cma(dev, gfp))\n\t\treturn NULL;/' \
		"$src/base/kernel/dma/contiguous.c" >"$src/patched/kernel/dma/contiguous.c"
	sed 's/gfp, 0/gfp | __GFP_NOCMA, 0/' \
		"$src/base/drivers/gpu/drm/ttm/ttm_pool.c" >"$src/patched/drivers/gpu/drm/ttm/ttm_pool.c"
	touch "$src/patched.stamp"
}

@test "scripts/cocci: found before, not after" {
	make_sources
	run "$BATS_TEST_DIRNAME/../cocci" v6.12
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = 1..3 ]
	[ "$(grep -c '^ok ' <<<"$output")" -eq 3 ]
}

@test "scripts/cocci: a caller that the series forgot" {
	make_sources
	cp "$NOCMA_CACHE"/src/v6.12/{base,patched}/kernel/dma/contiguous.c
	run "$BATS_TEST_DIRNAME/../cocci" v6.12
	[ "$status" -eq 1 ]
	[[ $output == *"# patched: kernel/dma/contiguous.c:3:"* ]]
	[[ $output == *"not ok 3 "* ]]
}

@test "scripts/cocci: a finding in a file that the series does not know" {
	make_sources
	cp "$NOCMA_CACHE/src/v6.12/base/kernel/dma/contiguous.c" "$NOCMA_CACHE/src/v6.12/base/mm/new.c"
	run "$BATS_TEST_DIRNAME/../cocci" v6.12
	[ "$status" -eq 1 ]
	[[ $output == *"not ok 2 "* ]]
}

@test "scripts/cocci: no target, an unknown one, one not prepared" {
	run "$BATS_TEST_DIRNAME/../cocci"
	[ "$status" -eq 2 ]
	run "$BATS_TEST_DIRNAME/../cocci" v9.9
	[ "$status" -eq 2 ]
	run "$BATS_TEST_DIRNAME/../cocci" v6.12
	[ "$status" -eq 1 ]
	[[ $output == *"scripts/kernel prepare v6.12"* ]]
}

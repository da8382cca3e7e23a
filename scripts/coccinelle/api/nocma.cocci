// SPDX-License-Identifier: GPL-2.0-only
/// Contiguous memory is dear: user pages may first have to be migrated away.
/// Callers that do as well without it say so by __GFP_NOCMA, and whoever can
/// fall back on the page allocator asks dma_gfp_allows_cma() before it takes
/// memory from an area that all devices share.
///
/// Finds functions that take gfp flags and do not ask, and calls of the DMA
/// API in TTM, which needs no contiguous memory, that do not pass the flag.
///
// Confidence: High
// Comments: An allocation for no device (NULL: the atomic pool, kexec) serves
//  nobody in particular, so that there is no flag to look at. An allocator
//  without another source of memory is right to ignore the flag; only a path
//  that reaches both is reported. Patch mode leaves to the reader what takes
//  an area without naming a device, and contiguous memory as the last resort.
// Options: --no-includes --include-headers

virtual patch
virtual context
virtual org
virtual report

//----------------------------------------------------------
//  The flags decide which area, or whether any
//----------------------------------------------------------

// For no device, or the device's own.
@own@
expression dev;
position p;
@@

(
 dev_get_cma_area@p(NULL)
|
 cma_alloc_aligned@p(dev->cma_area, ...)
)

// Asked in the same expression, before or after; asked on the way there is what
// "when" is for below. Rules of their own: a disjunction misses some of them.
@and1@
position p;
@@

dma_gfp_allows_cma(...) &&
	<+... \(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) ...+>

@and2@
expression E;
position p;
@@

E && dma_gfp_allows_cma(...) &&
	<+... \(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) ...+>

@and3@
position p;
@@

dev_get_cma_area@p(...) && dma_gfp_allows_cma(...)

@and4@
expression E;
position p;
@@

dev_get_cma_area@p(...) && E && dma_gfp_allows_cma(...)

@cond1@
expression F;
position p;
@@

dma_gfp_allows_cma(...) ? \(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) : F

@cond2@
expression E, F;
position p;
@@

E && dma_gfp_allows_cma(...) ?
	\(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) : F

// Not the allocator itself, which in v4.15 takes flags: its callers ask.
@area exists@
identifier f != dma_alloc_from_contiguous;
identifier gfp;
position p != {own.p, and1.p, and2.p, and3.p, and4.p, cond1.p, cond2.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
\(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...)
... when any
}

@depends on context@
position area.p;
@@

* \(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...)

@script:python depends on org@
p << area.p;
@@

coccilib.org.print_todo(p[0], "WARNING: takes from a shared area without asking dma_gfp_allows_cma()")

@script:python depends on report@
p << area.p;
@@

coccilib.report.print_report(p[0], "WARNING: takes from a shared area without asking dma_gfp_allows_cma()")

@depends on patch@
identifier area.gfp, ok;
expression dev, none;
position area.p;
@@

(
  ok
+ && dma_gfp_allows_cma(dev, gfp)
  ? dev_get_cma_area@p(dev) : none
|
- dev_get_cma_area@p(dev)
+ (dma_gfp_allows_cma(dev, gfp) ? dev_get_cma_area(dev) : NULL)
)

//----------------------------------------------------------
//  Contiguous memory with the page allocator to fall back on
//----------------------------------------------------------

@nobody@
position p;
@@

dma_alloc_from_contiguous@p(NULL, ...)

@and5@
position p;
@@

dma_gfp_allows_cma(...) && <+... dma_alloc_from_contiguous@p(...) ...+>

@and6@
expression E;
position p;
@@

E && dma_gfp_allows_cma(...) && <+... dma_alloc_from_contiguous@p(...) ...+>

@cond3@
expression F;
position p;
@@

dma_gfp_allows_cma(...) ? dma_alloc_from_contiguous@p(...) : F

@cond4@
expression E, F;
position p;
@@

E && dma_gfp_allows_cma(...) ? dma_alloc_from_contiguous@p(...) : F

@first exists@
identifier f, gfp;
position p != {nobody.p, and5.p, and6.p, cond3.p, cond4.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
dma_alloc_from_contiguous@p(...)
... when any
\(alloc_pages\|alloc_pages_node\|__get_free_pages\|swiotlb_alloc_coherent\)(...)
... when any
}

// The other way round, as amd_iommu once did.
@last exists@
identifier f, gfp;
position p != {nobody.p, and5.p, and6.p, cond3.p, cond4.p, first.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
\(alloc_pages\|alloc_pages_node\|__get_free_pages\|swiotlb_alloc_coherent\)(...)
... when != dma_gfp_allows_cma(...)
dma_alloc_from_contiguous@p(...)
... when any
}

@depends on context@
position first.p;
@@

* dma_alloc_from_contiguous@p(...)

@depends on context@
position last.p;
@@

* dma_alloc_from_contiguous@p(...)

@script:python depends on org@
p << first.p;
@@

coccilib.org.print_todo(p[0], "WARNING: can fall back on the page allocator, but does not ask dma_gfp_allows_cma()")

@script:python depends on org@
p << last.p;
@@

coccilib.org.print_todo(p[0], "WARNING: came from the page allocator, but does not ask dma_gfp_allows_cma()")

@script:python depends on report@
p << first.p;
@@

coccilib.report.print_report(p[0], "WARNING: can fall back on the page allocator, but does not ask dma_gfp_allows_cma()")

@script:python depends on report@
p << last.p;
@@

coccilib.report.print_report(p[0], "WARNING: came from the page allocator, but does not ask dma_gfp_allows_cma()")

@depends on patch@
identifier first.gfp;
expression page, dev;
expression list rest;
position first.p;
@@

  page =
- dma_alloc_from_contiguous@p(dev, rest)
+ dma_gfp_allows_cma(dev, gfp) ? dma_alloc_from_contiguous(dev, rest) : NULL

//----------------------------------------------------------
//  TTM
//----------------------------------------------------------

@passes@
position p;
@@

\(dma_alloc_attrs@p\|dma_alloc_coherent@p\|dma_zalloc_coherent@p\|dma_alloc_pages@p\|dma_alloc_noncoherent@p\)(...,
	<+... __GFP_NOCMA ...+>, ...)

@passes_later@
expression gfp;
position p;
@@

\(gfp |= <+... __GFP_NOCMA ...+>\|gfp = <+... __GFP_NOCMA ...+>\)
... when != gfp = ...
\(dma_alloc_attrs@p\|dma_alloc_coherent@p\|dma_zalloc_coherent@p\|dma_alloc_pages@p\|dma_alloc_noncoherent@p\)(...,
	gfp, ...)

@stored@
expression E;
identifier flags;
@@

E->flags = <+... __GFP_NOCMA ...+>

@passes_stored@
expression E;
identifier stored.flags;
position p;
@@

\(dma_alloc_attrs@p\|dma_alloc_coherent@p\|dma_zalloc_coherent@p\|dma_alloc_pages@p\|dma_alloc_noncoherent@p\)(...,
	E->flags, ...)

@in_ttm@
position p : script:python() { "/ttm/" in "/" + p[0].file };
@@

\(dma_alloc_attrs@p\|dma_alloc_coherent@p\|dma_zalloc_coherent@p\|dma_alloc_pages@p\|dma_alloc_noncoherent@p\)(...)

// The flags come last, but for the function that takes attributes.
@ttm@
expression dev, size, handle, gfp;
position in_ttm.p, q != {passes.p, passes_later.p, passes_stored.p};
@@

(
 dma_alloc_attrs@p@q(dev, size, handle, gfp, ...)
|
 \(dma_alloc_coherent@p@q\|dma_zalloc_coherent@p@q\|dma_alloc_pages@p@q\|dma_alloc_noncoherent@p@q\)(dev, size, handle,
	..., gfp)
)

@depends on context@
position ttm.q;
@@

* \(dma_alloc_attrs@q\|dma_alloc_coherent@q\|dma_zalloc_coherent@q\|dma_alloc_pages@q\|dma_alloc_noncoherent@q\)(...)

@script:python depends on org@
q << ttm.q;
@@

coccilib.org.print_todo(q[0], "WARNING: TTM needs no contiguous memory, pass __GFP_NOCMA")

@script:python depends on report@
q << ttm.q;
@@

coccilib.report.print_report(q[0], "WARNING: TTM needs no contiguous memory, pass __GFP_NOCMA")

@depends on patch@
expression dev, size, handle, gfp;
position ttm.q;
@@

(
 dma_alloc_attrs@q(dev, size, handle,
- gfp
+ gfp | __GFP_NOCMA
 , ...)
|
 \(dma_alloc_coherent@q\|dma_zalloc_coherent@q\|dma_alloc_pages@q\|dma_alloc_noncoherent@q\)(dev, size, handle, ...,
- gfp
+ gfp | __GFP_NOCMA
 )
)

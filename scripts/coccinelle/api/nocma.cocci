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
//  that reaches both is reported.
// Options: --no-includes --include-headers

virtual patch
virtual context
virtual org
virtual report

//----------------------------------------------------------
//  Not to be reported
//----------------------------------------------------------

// For no device, or from the device's own area.
@fine@
expression dev;
position p;
@@

(
 \(dma_alloc_from_contiguous@p\|dev_get_cma_area@p\)(NULL, ...)
|
 cma_alloc_aligned@p(dev->cma_area, ...)
)

// Asked in the same expression. Asked on the way there: see "when" below.
@asked@
expression E;
position p;
@@

\(dma_gfp_allows_cma(...)\|E && dma_gfp_allows_cma(...)\) &&
	<+... \(dma_alloc_from_contiguous@p\|dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) ...+>

@chosen@
expression E, F;
position p;
@@

\(dma_gfp_allows_cma(...)\|E && dma_gfp_allows_cma(...)\) ?
	<+... \(dma_alloc_from_contiguous@p\|dev_get_cma_area@p\|cma_alloc_aligned@p\)(...) ...+> : F

//----------------------------------------------------------
//  Functions that do not ask
//----------------------------------------------------------

// Which allocator, or which area: the flags decide.
@area exists@
identifier f, gfp;
position p != {fine.p, asked.p, chosen.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
\(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...)
... when any
}

// Contiguous memory first, then the page allocator; or, as amd_iommu once did,
// the other way round.
@first exists@
identifier f, gfp;
position p != {fine.p, asked.p, chosen.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
dma_alloc_from_contiguous@p(...)
... when any
\(alloc_pages\|alloc_pages_node\|__get_free_pages\|swiotlb_alloc_coherent\)(...)
... when any
}

@last exists@
identifier f, gfp;
position p != {fine.p, asked.p, chosen.p};
@@

f(..., gfp_t gfp, ...)
{
... when != dma_gfp_allows_cma(...)
\(alloc_pages\|alloc_pages_node\|__get_free_pages\|swiotlb_alloc_coherent\)(...)
... when != dma_gfp_allows_cma(...)
dma_alloc_from_contiguous@p(...)
... when any
}

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

@in_ttm@
position p : script:python() { "/ttm/" in p[0].file };
@@

\(dma_alloc_attrs@p\|dma_alloc_coherent@p\|dma_zalloc_coherent@p\|dma_alloc_pages@p\|dma_alloc_noncoherent@p\)(...)

// The flags come last, but for the two functions that take attributes.
@ttm@
expression dev, size, handle, gfp;
position in_ttm.p, q != {passes.p, passes_later.p};
@@

(
\(dma_alloc_attrs@p@q\|dma_alloc_coherent@p@q\|dma_zalloc_coherent@p@q\)(dev, size, handle, gfp, ...)
|
\(dma_alloc_pages@p@q\|dma_alloc_noncoherent@p@q\)(dev, size, handle, ..., gfp)
)

//----------------------------------------------------------
//  For context and patch mode
//----------------------------------------------------------

@depends on context@
position area.p;
@@

* \(dev_get_cma_area@p\|cma_alloc_aligned@p\)(...)

@depends on context@
position first.p;
@@

* dma_alloc_from_contiguous@p(...)

@depends on context@
position last.p;
@@

* dma_alloc_from_contiguous@p(...)

@depends on context@
position ttm.q;
@@

* \(dma_alloc_attrs@q\|dma_alloc_coherent@q\|dma_zalloc_coherent@q\|dma_alloc_pages@q\|dma_alloc_noncoherent@q\)(...)


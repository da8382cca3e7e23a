// SPDX-License-Identifier: GPL-2.0-only
/*
 * Allocators for scripts/tests/cocci.bats. A comment "found" marks each line
 * that nocma.cocci has to report; every other line must pass.
 */

static void *cma_then_pages(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page = NULL;

	if (gfpflags_allow_blocking(gfp))
		page = dma_alloc_from_contiguous(dev, count, 0, false); /* found */
	if (!page)
		page = alloc_pages_node(dev_to_node(dev), gfp, 0);
	return page;
}

static void *cma_then_pages_asks(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page = NULL;

	if (gfpflags_allow_blocking(gfp) && dma_gfp_allows_cma(dev, gfp))
		page = dma_alloc_from_contiguous(dev, count, 0, false);
	if (!page)
		page = alloc_pages_node(dev_to_node(dev), gfp, 0);
	return page;
}

static void *cma_then_pages_asks_early(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page;

	if (!dma_gfp_allows_cma(dev, gfp))
		return alloc_pages(gfp, 0);
	page = dma_alloc_from_contiguous(dev, count, 0, false);
	return page ?: alloc_pages(gfp, 0);
}

static void *cma_then_pages_chooses(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page;

	page = dma_gfp_allows_cma(dev, gfp) ? dma_alloc_from_contiguous(dev, count, 0, false) : NULL;
	if (!page)
		page = alloc_pages(gfp, 0);
	return page;
}

/* Asks about one piece of memory and takes another. */
static void *asks_in_vain(struct device *dev, size_t count, gfp_t gfp, bool again)
{
	struct page *page = NULL;

	if (again) {
		if (dma_gfp_allows_cma(dev, gfp))
			return NULL;
	} else {
		page = dma_alloc_from_contiguous(dev, count, 0, false); /* found */
	}
	if (!page)
		page = alloc_pages(gfp, 0);
	return page;
}

static void *pages_then_cma(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page;

	page = alloc_pages(gfp | __GFP_NOWARN, 0);
	if (!page) {
		if (!gfpflags_allow_blocking(gfp))
			return NULL;
		page = dma_alloc_from_contiguous(dev, count, 0, false); /* found */
	}
	return page;
}

static void *pages_then_cma_asks(struct device *dev, size_t count, gfp_t gfp)
{
	struct page *page;

	page = alloc_pages(gfp | __GFP_NOWARN, 0);
	if (!page) {
		if (!gfpflags_allow_blocking(gfp) ||
		    !dma_gfp_allows_cma(dev, gfp))
			return NULL;
		page = dma_alloc_from_contiguous(dev, count, 0, false);
	}
	return page;
}

/* No other memory on the way that CMA is on. */
static void *cma_only(struct device *dev, size_t count, gfp_t gfp, bool force)
{
	if (force)
		return dma_alloc_from_contiguous(dev, count, 0, false);
	return alloc_pages(gfp, 0);
}

/* For nobody in particular. */
static void *atomic_pool(size_t count, gfp_t gfp)
{
	struct page *page = NULL;

	if (dev_get_cma_area(NULL))
		page = dma_alloc_from_contiguous(NULL, count, 0, false);
	if (!page)
		page = alloc_pages(gfp, 0);
	return page;
}

/* No flags to ask. */
static void *without_flags(struct device *dev, size_t count)
{
	struct page *page = dma_alloc_from_contiguous(dev, count, 0, false);

	return page ?: alloc_pages(GFP_KERNEL, 0);
}

static struct cma *chooses_area(struct device *dev, gfp_t gfp)
{
	bool block = gfpflags_allow_blocking(gfp);
	struct cma *cma;

	cma = block ? dev_get_cma_area(dev) : NULL; /* found */
	return cma;
}

static struct cma *chooses_area_asks(struct device *dev, gfp_t gfp)
{
	bool block = gfpflags_allow_blocking(gfp);
	struct cma *cma;

	cma = block && dma_gfp_allows_cma(dev, gfp) ? dev_get_cma_area(dev) : NULL;
	return cma;
}

static bool chooses_area_asks_and(struct device *dev, gfp_t gfp)
{
	return gfpflags_allow_blocking(gfp) && dma_gfp_allows_cma(dev, gfp) &&
		dev_get_cma_area(dev);
}

static bool chooses_area_asks_after(struct device *dev, gfp_t gfp)
{
	return dev_get_cma_area(dev) && gfpflags_allow_blocking(gfp) &&
		dma_gfp_allows_cma(dev, gfp);
}

static struct page *shared_area(struct device *dev, size_t size, gfp_t gfp)
{
	if (dev->cma_area)
		return cma_alloc_aligned(dev->cma_area, size, gfp);
	return cma_alloc_aligned(dma_contiguous_default_area, size, gfp); /* found */
}

static struct page *shared_area_asks(struct device *dev, size_t size, gfp_t gfp)
{
	if (!dma_gfp_allows_cma(dev, gfp))
		return NULL;
	if (dev->cma_area)
		return cma_alloc_aligned(dev->cma_area, size, gfp);
	return cma_alloc_aligned(dma_contiguous_default_area, size, gfp);
}

/* The allocator itself: its callers ask. */
struct page *dma_alloc_from_contiguous(struct device *dev, size_t count, unsigned int align,
				       gfp_t gfp_mask)
{
	return cma_alloc(dev_get_cma_area(dev), count, align, gfp_mask);
}

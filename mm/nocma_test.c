// SPDX-License-Identifier: GPL-2.0-only
/*
 * KUnit tests of __GFP_NOCMA
 *
 * The flag promises that memory does not come from a contiguous memory area
 * that everybody shares. Each case looks at the pages it was given, never at
 * time, and each has its negative control beside it: the same request without
 * the flag must get pages of such an area, or else the case proves nothing and
 * fails.
 *
 * Boot with an area of a quarter of its zone for the full set. The cases that
 * need memory above 4 GiB, or no area at all, skip themselves elsewhere and say
 * why.
 */
#include <kunit/test.h>
#include <linux/cma.h>
#include <linux/dma-map-ops.h>
#include <linux/dma-mapping.h>
#include <linux/gfp.h>
#include <linux/initrd.h>
#include <linux/list.h>
#include <linux/memblock.h>
#include <linux/mm.h>
#include <linux/platform_device.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/vmstat.h>

/*
 * What differs between the kernels served. A kernel whose KUnit cannot skip
 * (before v5.14) has no bulk allocator of an array of pages and unpacks its
 * initramfs before the tests run.
 */
#ifdef kunit_mark_skipped
#define nocma_skip(test, fmt, ...)	kunit_mark_skipped(test, fmt, ##__VA_ARGS__)
#define nocma_settle()			wait_for_initramfs()
#ifdef alloc_pages_bulk
#define nocma_alloc_bulk		alloc_pages_bulk
#else
#define nocma_alloc_bulk		alloc_pages_bulk_array
#endif
#else
#define nocma_skip(test, fmt, ...)	kunit_info(test, "SKIP " fmt, ##__VA_ARGS__)
#define nocma_settle()			do { } while (0)
#endif

#ifndef MAX_PAGE_ORDER
#define MAX_PAGE_ORDER			(MAX_ORDER - 1)
#endif

/* Pages per round. Few enough to stay on one per-cpu list. */
#define NOCMA_BATCH	16

/* More pages than come back to an emptied per-cpu list meanwhile. */
#define NOCMA_MANY	2048U

/* What the pressure leaves to the rest of the kernel, above the watermark. */
#define NOCMA_HEADROOM	(SZ_4M >> PAGE_SHIFT)

/**
 * struct nocma_ctx - what a case works with
 * @pdev: device without a driver, behind no IOMMU
 * @area: the default contiguous memory area, or NULL
 * @hogs: pages held to put the area's zone under pressure
 * @pages: pages the case looks at
 */
struct nocma_ctx {
	struct platform_device *pdev;
	struct cma *area;
	struct list_head hogs;
	struct list_head pages;
};

/* Page lists, oldest first: page->private holds the order. */

static void nocma_hold(struct page *page, unsigned int order,
		       struct list_head *list)
{
	set_page_private(page, order);
	list_add_tail(&page->lru, list);
}

static void nocma_release(struct list_head *list)
{
	struct page *page, *next;
	unsigned int order;

	list_for_each_entry_safe(page, next, list, lru) {
		order = page_private(page);
		list_del(&page->lru);
		set_page_private(page, 0);
		__free_pages(page, order);
	}
}

/* Pages among the first of a buffer's that lie in any contiguous memory area. */
static unsigned long nocma_count(struct page *page, unsigned long nr)
{
	unsigned long i, hits = 0;

	for (i = 0; i < nr; i++)
		if (is_migrate_cma_page(page + i))
			hits++;
	return hits;
}

static unsigned long nocma_count_list(struct list_head *list)
{
	unsigned long hits = 0;
	struct page *page;

	list_for_each_entry(page, list, lru)
		hits += nocma_count(page, 1UL << page_private(page));
	return hits;
}

/* There is no area without CONFIG_CMA, and no such function either. */
static struct page *nocma_area_page(struct nocma_ctx *ctx)
{
	phys_addr_t base = IS_ENABLED(CONFIG_CMA) ? cma_get_base(ctx->area) : 0;

	return pfn_to_page(PFN_DOWN(base));
}

/*
 * A movable request that starts in the zone of the area, so that only this
 * zone need be put under pressure, and that gives up instead of reclaiming.
 */
static gfp_t nocma_movable_gfp(struct nocma_ctx *ctx)
{
	static const gfp_t zones[] = { __GFP_DMA, __GFP_DMA32, 0 };
	gfp_t gfp = __GFP_MOVABLE | __GFP_NOWARN | __GFP_THISNODE;
	int zone = page_zonenum(nocma_area_page(ctx));
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(zones); i++)
		if (gfp_zone(__GFP_MOVABLE | zones[i]) == zone)
			return gfp | zones[i];
	return gfp | __GFP_HIGHMEM;
}

/* Allocate up to @nr pieces onto @list, return how many there were. */
static unsigned int nocma_take(struct nocma_ctx *ctx, gfp_t gfp,
			       unsigned int order, unsigned int nr,
			       struct list_head *list)
{
	int nid = page_to_nid(nocma_area_page(ctx));
	struct page *page;
	unsigned int i;

	for (i = 0; i < nr; i++) {
		page = alloc_pages_node(nid, gfp, order);
		if (!page)
			break;
		nocma_hold(page, order, list);
	}
	return i;
}

/*
 * Allocate without the flag onto ctx->pages until @want pieces lie in CMA. The
 * first ones may be others that a per-cpu list still holds.
 */
static bool nocma_take_cma(struct nocma_ctx *ctx, unsigned int order,
			   unsigned int want)
{
	unsigned int left = max(NOCMA_MANY >> order, want);
	gfp_t gfp = nocma_movable_gfp(ctx);
	struct page *page;

	for (; want && left; left--) {
		if (!nocma_take(ctx, gfp, order, 1, &ctx->pages))
			break;
		page = list_last_entry(&ctx->pages, struct page, lru);
		if (nocma_count(page, 1UL << order))
			want--;
	}
	return !want;
}

static unsigned long nocma_free_outside(struct zone *zone)
{
	unsigned long all = zone_page_state(zone, NR_FREE_PAGES);
	unsigned long cma = zone_page_state(zone, NR_FREE_CMA_PAGES);

	return all > cma ? all - cma : 0;
}

/*
 * Take memory with the flag until most of what the zone has left lies in CMA
 * page blocks, which is when the page allocator gives those to movable requests
 * first. What was taken stays in ctx->hogs. The per-cpu lists are emptied before:
 * they may hold a good part of the zone, and serve a request before all else.
 *
 * Return: false if the area is too small for that; the case is skipped then.
 */
static bool nocma_press(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	struct zone *zone = page_zone(nocma_area_page(ctx));
	gfp_t gfp = nocma_movable_gfp(ctx) | __GFP_NOCMA;
	int order = MAX_PAGE_ORDER;
	unsigned long target;

	drain_all_pages(zone);
	target = zone_page_state(zone, NR_FREE_CMA_PAGES) / 2;
	if (target < high_wmark_pages(zone) + NOCMA_HEADROOM) {
		nocma_skip(test, "area too small for its zone, boot with a larger cma=");
		return false;
	}

	while (order >= 0 && nocma_free_outside(zone) > target) {
		/* The last ones in small pieces, to stop near the target. */
		if (nocma_free_outside(zone) - target < 1UL << order ||
		    !nocma_take(ctx, gfp, order, 1, &ctx->hogs))
			order--;
	}
	return true;
}

static bool nocma_has_area(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;

	if (ctx->area)
		return true;
	if (!IS_ENABLED(CONFIG_DMA_CMA))
		nocma_skip(test, "CONFIG_DMA_CMA is not set");
	else
		nocma_skip(test, "no default contiguous memory area, boot with cma=64M");
	return false;
}

/* The bit */

static void nocma_flag_is_one_bit(struct kunit *test)
{
	gfp_t others = __GFP_DMA | __GFP_HIGHMEM | __GFP_DMA32 | __GFP_MOVABLE |
		__GFP_RECLAIMABLE | __GFP_HIGH | __GFP_IO | __GFP_FS |
		__GFP_ZERO | __GFP_DIRECT_RECLAIM | __GFP_KSWAPD_RECLAIM |
		__GFP_WRITE | __GFP_NOWARN | __GFP_RETRY_MAYFAIL |
		__GFP_NOFAIL | __GFP_NORETRY | __GFP_MEMALLOC | __GFP_COMP |
		__GFP_NOMEMALLOC | __GFP_HARDWALL | __GFP_THISNODE |
		__GFP_ACCOUNT | __GFP_NOLOCKDEP;
	u32 bit = (__force u32)__GFP_NOCMA;

	/* Those that some of the kernels have. */
#ifdef __GFP_ATOMIC
	others |= __GFP_ATOMIC;
#endif
#ifdef __GFP_ZEROTAGS
	others |= __GFP_ZEROTAGS;
#endif
#ifdef __GFP_SKIP_ZERO
	others |= __GFP_SKIP_ZERO;
#endif
#ifdef __GFP_SKIP_KASAN
	others |= __GFP_SKIP_KASAN;
#endif
#ifdef __GFP_SKIP_KASAN_UNPOISON
	others |= __GFP_SKIP_KASAN_UNPOISON;
#endif
#ifdef __GFP_SKIP_KASAN_POISON
	others |= __GFP_SKIP_KASAN_POISON;
#endif
#ifdef __GFP_NO_OBJ_EXT
	others |= __GFP_NO_OBJ_EXT;
#endif

	KUNIT_EXPECT_EQ(test, hweight32(bit), 1U);
	KUNIT_EXPECT_EQ(test, bit & (__force u32)__GFP_BITS_MASK, bit);
	KUNIT_EXPECT_EQ(test, bit & (__force u32)others, 0U);
	KUNIT_EXPECT_EQ(test, bit & (__force u32)GFP_TRANSHUGE, 0U);
	/* Tags of radix tree and xarray share a word with the gfp bits. */
	KUNIT_EXPECT_LE(test, __GFP_BITS_SHIFT, 29);
}

static void nocma_flag_changes_nothing_else(struct kunit *test)
{
	static const gfp_t gfps[] = {
		GFP_KERNEL, GFP_ATOMIC, GFP_NOWAIT, GFP_DMA32, GFP_USER,
		GFP_HIGHUSER_MOVABLE, GFP_KERNEL | __GFP_RECLAIMABLE,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(gfps); i++) {
		gfp_t gfp = gfps[i];

		KUNIT_EXPECT_EQ(test, (int)gfp_zone(gfp | __GFP_NOCMA),
				(int)gfp_zone(gfp));
		KUNIT_EXPECT_EQ(test, (int)gfp_migratetype(gfp | __GFP_NOCMA),
				(int)gfp_migratetype(gfp));
		KUNIT_EXPECT_EQ(test, gfpflags_allow_blocking(gfp | __GFP_NOCMA),
				gfpflags_allow_blocking(gfp));
	}
}

static void nocma_flag_prints_by_name(struct kunit *test)
{
	char text[128];
	gfp_t gfp = GFP_KERNEL | __GFP_NOCMA;
	int bit;

	snprintf(text, sizeof(text), "%pGg", &gfp);
	KUNIT_EXPECT_STREQ(test, (const char *)text, "GFP_KERNEL|__GFP_NOCMA");

	/* One bit has that name, and has no other. */
	for (bit = 0; bit < __GFP_BITS_SHIFT; bit++) {
		gfp = (__force gfp_t)BIT(bit);
		snprintf(text, sizeof(text), "%pGg", &gfp);
		KUNIT_EXPECT_EQ(test, !strcmp(text, "__GFP_NOCMA"),
				gfp == __GFP_NOCMA);
	}
}

/* The page allocator */

static void nocma_movable_avoids_cma(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	unsigned int order;
	gfp_t gfp;

	if (!nocma_has_area(test) || !nocma_press(test))
		return;

	/* Everything the zone could give. */
	KUNIT_EXPECT_EQ(test, nocma_count_list(&ctx->hogs), 0UL);

	/* Now requests without the flag are given CMA, at every order. */
	gfp = nocma_movable_gfp(ctx) | __GFP_NOCMA;
	for (order = 0; order <= MAX_PAGE_ORDER; order++) {
		KUNIT_EXPECT_TRUE_MSG(test, nocma_take_cma(ctx, order, 1),
				      "control: order %u got no CMA", order);
		nocma_release(&ctx->pages);

		nocma_take(ctx, gfp, order, order ? 1 : NOCMA_BATCH, &ctx->pages);
		KUNIT_EXPECT_EQ_MSG(test, nocma_count_list(&ctx->pages), 0UL,
				    "order %u got CMA", order);
		nocma_release(&ctx->pages);
	}
}

/*
 * Put freed pages of CMA page blocks on the per-cpu list, where the next ones
 * are taken from, and take the pressure away so that nothing else brings CMA
 * pages to a request.
 */
static bool nocma_fill_pcplist(struct kunit *test, unsigned int order)
{
	struct nocma_ctx *ctx = test->priv;

	if (!nocma_press(test))
		return false;
	KUNIT_EXPECT_TRUE(test, nocma_take_cma(ctx, order, NOCMA_BATCH));
	nocma_release(&ctx->hogs);
	nocma_release(&ctx->pages);
	return true;
}

/* Control. The kernel may empty the list at any time, so try a few times. */
static bool nocma_pcplist_held_cma(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	gfp_t gfp = nocma_movable_gfp(ctx);
	unsigned long hits = 0;
	unsigned int try;

	for (try = 0; try < 5 && !hits; try++) {
		if (!nocma_fill_pcplist(test, 0))
			break;
		nocma_take(ctx, gfp, 0, NOCMA_BATCH, &ctx->pages);
		hits = nocma_count_list(&ctx->pages);
		nocma_release(&ctx->pages);
	}
	return hits;
}

static void nocma_pcplist_avoids_cma(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	unsigned int order;
	gfp_t gfp;

	if (!nocma_has_area(test))
		return;

	gfp = nocma_movable_gfp(ctx);
	for (order = 0; order <= PAGE_ALLOC_COSTLY_ORDER; order++) {
		if (!nocma_fill_pcplist(test, order))
			return;

		nocma_take(ctx, gfp | __GFP_NOCMA, order, NOCMA_BATCH,
			   &ctx->pages);
		KUNIT_EXPECT_FALSE(test, list_empty(&ctx->pages));
		KUNIT_EXPECT_EQ_MSG(test, nocma_count_list(&ctx->pages), 0UL,
				    "order %u got CMA from a pcplist", order);
		nocma_release(&ctx->pages);
	}

	/* For single pages: v5.10 keeps no others on the lists. */
	KUNIT_EXPECT_TRUE_MSG(test, nocma_pcplist_held_cma(test),
			      "control: the pcplist held no CMA");
}

#ifdef nocma_alloc_bulk
/* Fill an array with the bulk allocator, return how many lie in CMA. */
static unsigned long nocma_bulk(struct kunit *test, gfp_t gfp)
{
	struct page *pages[NOCMA_BATCH] = { };
	unsigned long got = 0, last, hits = 0, i;

	/* It may give less than asked, so as long as it gives anything. */
	do {
		last = got;
		got = nocma_alloc_bulk(gfp, NOCMA_BATCH, pages);
	} while (got > last && got < NOCMA_BATCH);
	KUNIT_EXPECT_EQ(test, got, (unsigned long)NOCMA_BATCH);

	for (i = 0; i < NOCMA_BATCH && pages[i]; i++) {
		hits += nocma_count(pages[i], 1);
		__free_page(pages[i]);
	}
	return hits;
}

static void nocma_bulk_avoids_cma(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	gfp_t gfp;

	if (!nocma_has_area(test))
		return;

	/* The pages come from a pcplist, so fill it with CMA first. */
	gfp = nocma_movable_gfp(ctx) & ~__GFP_THISNODE;
	if (!nocma_fill_pcplist(test, 0))
		return;
	KUNIT_EXPECT_EQ(test, nocma_bulk(test, gfp | __GFP_NOCMA), 0UL);

	/* And under pressure, with the control. */
	if (!nocma_press(test))
		return;
	KUNIT_EXPECT_EQ(test, nocma_bulk(test, gfp | __GFP_NOCMA), 0UL);
	KUNIT_EXPECT_TRUE(test, nocma_take_cma(ctx, 0, 1));
	KUNIT_EXPECT_GT(test, nocma_bulk(test, gfp), 0UL);
}
#else
static void nocma_bulk_avoids_cma(struct kunit *test)
{
	nocma_skip(test, "this kernel has no bulk allocator");
}
#endif

/* The DMA API */

/**
 * struct nocma_buf - one allocation of the DMA API
 * @vaddr: its memory, NULL if there was none
 * @dma: its address for the device
 * @size: bytes
 */
struct nocma_buf {
	void *vaddr;
	dma_addr_t dma;
	size_t size;
};

/**
 * struct nocma_api - one way to ask the DMA API for memory
 * @name: its function
 * @alloc: fill in @vaddr and @dma for @size
 * @free: give it back
 */
struct nocma_api {
	const char *name;
	void (*alloc)(struct device *dev, struct nocma_buf *buf, gfp_t gfp);
	void (*free)(struct device *dev, struct nocma_buf *buf);
};

static void nocma_attrs_alloc(struct device *dev, struct nocma_buf *buf,
			      gfp_t gfp)
{
	buf->vaddr = dma_alloc_attrs(dev, buf->size, &buf->dma, gfp,
				     DMA_ATTR_NO_WARN);
}

static void nocma_attrs_free(struct device *dev, struct nocma_buf *buf)
{
	dma_free_attrs(dev, buf->size, buf->vaddr, buf->dma, DMA_ATTR_NO_WARN);
}

static void nocma_noncoherent_alloc(struct device *dev, struct nocma_buf *buf,
				    gfp_t gfp)
{
	buf->vaddr = dma_alloc_noncoherent(dev, buf->size, &buf->dma,
					   DMA_BIDIRECTIONAL, gfp);
}

static void nocma_noncoherent_free(struct device *dev, struct nocma_buf *buf)
{
	dma_free_noncoherent(dev, buf->size, buf->vaddr, buf->dma,
			     DMA_BIDIRECTIONAL);
}

static void nocma_pages_alloc(struct device *dev, struct nocma_buf *buf,
			      gfp_t gfp)
{
	struct page *page = dma_alloc_pages(dev, buf->size, &buf->dma,
					    DMA_BIDIRECTIONAL, gfp);

	buf->vaddr = page ? page_address(page) : NULL;
}

static void nocma_pages_free(struct device *dev, struct nocma_buf *buf)
{
	dma_free_pages(dev, buf->size, virt_to_page(buf->vaddr), buf->dma,
		       DMA_BIDIRECTIONAL);
}

static const struct nocma_api nocma_apis[] = {
	{ "dma_alloc_attrs", nocma_attrs_alloc, nocma_attrs_free },
	{ "dma_alloc_noncoherent", nocma_noncoherent_alloc, nocma_noncoherent_free },
	{ "dma_alloc_pages", nocma_pages_alloc, nocma_pages_free },
};

static struct nocma_buf nocma_dma_alloc(const struct nocma_api *api,
					struct device *dev, unsigned int order,
					gfp_t gfp)
{
	struct nocma_buf buf = { .size = PAGE_SIZE << order };

	api->alloc(dev, &buf, GFP_KERNEL | __GFP_NOWARN | gfp);
	/* DMA_API_DEBUG of 5.10 takes two of the ways for mappings, which are to be checked. */
	if (buf.vaddr)
		WARN_ON(dma_mapping_error(dev, buf.dma));
	return buf;
}

static void nocma_dma_free(const struct nocma_api *api, struct device *dev,
			   struct nocma_buf *buf)
{
	if (buf->vaddr)
		api->free(dev, buf);
}

static unsigned long nocma_dma_count(const struct nocma_buf *buf)
{
	struct page *page;

	if (is_vmalloc_addr(buf->vaddr))
		page = vmalloc_to_page(buf->vaddr);
	else
		page = virt_to_page(buf->vaddr);
	return nocma_count(page, buf->size >> PAGE_SHIFT);
}

/*
 * Allocate, look, free.
 *
 * Return: pages of the buffer in CMA, or -ENOMEM.
 */
static long nocma_dma_probe(const struct nocma_api *api, struct device *dev,
			    unsigned int order, gfp_t gfp)
{
	struct nocma_buf buf = nocma_dma_alloc(api, dev, order, gfp);
	long hits = -ENOMEM;

	if (buf.vaddr)
		hits = nocma_dma_count(&buf);
	nocma_dma_free(api, dev, &buf);
	return hits;
}

/* The page allocator owes nobody more than this at once. */
static bool nocma_must_succeed(unsigned int order)
{
	return order <= PAGE_ALLOC_COSTLY_ORDER;
}

/* Does the area have room for it, whatever else lives there? */
static bool nocma_area_fits(struct nocma_ctx *ctx, unsigned int order)
{
	return IS_ENABLED(CONFIG_CMA) &&
		PAGE_SIZE << order <= cma_get_size(ctx->area) / 2;
}

static void nocma_dma_avoids_shared_cma(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	const struct nocma_api *api;
	unsigned int order;
	long hits;

	if (!nocma_has_area(test))
		return;

	for (api = nocma_apis; api < nocma_apis + ARRAY_SIZE(nocma_apis); api++) {
		for (order = 0; order <= MAX_PAGE_ORDER; order++) {
			hits = nocma_dma_probe(api, dev, order, __GFP_NOCMA);
			if (hits != -ENOMEM || nocma_must_succeed(order))
				KUNIT_EXPECT_EQ_MSG(test, hits, 0L, "%s, order %u",
						    api->name, order);

			/* Single pages skip the shared areas without the flag. */
			hits = nocma_dma_probe(api, dev, order, 0);
			if (!order)
				KUNIT_EXPECT_EQ_MSG(test, hits, 0L,
						    "%s, no flag, order 0",
						    api->name);
			else if (nocma_area_fits(ctx, order))
				KUNIT_EXPECT_EQ_MSG(test, hits, 1L << order,
						    "control: %s, order %u",
						    api->name, order);
		}
	}
}

/* An area of the device's own is where its memory has to be, flag or not. */
static void nocma_dma_uses_own_area(struct kunit *test)
{
#ifdef CONFIG_DMA_CMA
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	const struct nocma_api *api;
	unsigned int order;

	if (!nocma_has_area(test))
		return;

	/* No device here has one, and areas are only made early at boot. */
	dev->cma_area = ctx->area;
	for (api = nocma_apis; api < nocma_apis + ARRAY_SIZE(nocma_apis); api++) {
		for (order = 0; order <= MAX_PAGE_ORDER; order++) {
			if (!nocma_area_fits(ctx, order))
				break;
			KUNIT_EXPECT_EQ_MSG(test,
					    nocma_dma_probe(api, dev, order, __GFP_NOCMA),
					    1L << order, "%s, order %u",
					    api->name, order);
			KUNIT_EXPECT_EQ_MSG(test,
					    nocma_dma_probe(api, dev, order, 0),
					    1L << order, "%s, no flag, order %u",
					    api->name, order);
		}
	}
	dev->cma_area = NULL;
#else
	nocma_skip(test, "CONFIG_DMA_CMA is not set");
#endif
}

static bool nocma_memory_above_4g(struct kunit *test)
{
	if (max_pfn > PFN_DOWN(SZ_4G))
		return true;
	nocma_skip(test, "no memory above 4 GiB");
	return false;
}

/* Every address with the flag within the mask, every order that can be had. */
static void nocma_check_mask(struct kunit *test, unsigned int bits)
{
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	const struct nocma_api *api;
	struct nocma_buf buf;
	unsigned int order;

	if (dma_set_mask_and_coherent(dev, DMA_BIT_MASK(bits))) {
		nocma_skip(test, "the kernel has no memory for a mask of %u bits",
			   bits);
		return;
	}

	for (api = nocma_apis; api < nocma_apis + ARRAY_SIZE(nocma_apis); api++) {
		for (order = 0; order <= MAX_PAGE_ORDER; order++) {
			buf = nocma_dma_alloc(api, dev, order, __GFP_NOCMA);
			if (!buf.vaddr) {
				KUNIT_EXPECT_FALSE_MSG(test,
						       nocma_must_succeed(order),
						       "%s, order %u: no memory",
						       api->name, order);
				continue;
			}
			KUNIT_EXPECT_LE_MSG(test, (u64)buf.dma + buf.size - 1,
					    (u64)DMA_BIT_MASK(bits),
					    "%s, order %u", api->name, order);
			KUNIT_EXPECT_EQ_MSG(test, nocma_dma_count(&buf), 0UL,
					    "%s, order %u", api->name, order);
			nocma_dma_free(api, dev, &buf);
		}
	}
}

static void nocma_dma_mask_24(struct kunit *test)
{
	nocma_check_mask(test, 24);
}

static void nocma_dma_mask_32(struct kunit *test)
{
	if (nocma_memory_above_4g(test))
		nocma_check_mask(test, 32);
}

/* With the widest mask the flag brings high addresses: the others' control. */
static void nocma_dma_mask_64(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	struct nocma_buf buf;

	if (!nocma_memory_above_4g(test))
		return;

	nocma_check_mask(test, 64);
	buf = nocma_dma_alloc(&nocma_apis[0], dev, 1, __GFP_NOCMA);
	KUNIT_EXPECT_GE(test, (u64)buf.dma, (u64)SZ_4G);
	nocma_dma_free(&nocma_apis[0], dev, &buf);
}

/* Memory that just held something else. */
static void nocma_dma_memory_is_zeroed(struct kunit *test)
{
	static const gfp_t gfps[] = { __GFP_NOCMA, 0 };
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	const struct nocma_api *api;
	struct nocma_buf buf;
	unsigned int order, i, round;

	for (api = nocma_apis; api < nocma_apis + ARRAY_SIZE(nocma_apis); api++) {
		for (i = 0; i < ARRAY_SIZE(gfps) * (PAGE_ALLOC_COSTLY_ORDER + 1); i++) {
			order = i / ARRAY_SIZE(gfps);
			for (round = 0; round < 2; round++) {
				buf = nocma_dma_alloc(api, dev, order,
						      gfps[i % ARRAY_SIZE(gfps)]);
				KUNIT_ASSERT_NOT_ERR_OR_NULL(test, buf.vaddr);
				KUNIT_EXPECT_TRUE_MSG(test,
						      !memchr_inv(buf.vaddr, 0, buf.size),
						      "%s, order %u", api->name, order);
				memset(buf.vaddr, 0xa5, buf.size);
				nocma_dma_free(api, dev, &buf);
			}
		}
	}
}

/* Without an area the flag is accepted everywhere and means nothing. */
static void nocma_without_cma_no_effect(struct kunit *test)
{
	static const gfp_t gfps[] = { __GFP_NOCMA, 0 };
	struct nocma_ctx *ctx = test->priv;
	struct device *dev = &ctx->pdev->dev;
	const struct nocma_api *api;
	struct page *page;
	unsigned int order, i;

	if (ctx->area) {
		nocma_skip(test, "there is a contiguous memory area, boot with cma=0");
		return;
	}

	for (i = 0; i < ARRAY_SIZE(gfps); i++) {
		for (order = 0; order <= PAGE_ALLOC_COSTLY_ORDER; order++) {
			page = alloc_pages(GFP_HIGHUSER_MOVABLE | gfps[i], order);
			KUNIT_EXPECT_TRUE(test, page);
			if (page)
				__free_pages(page, order);

			for (api = nocma_apis;
			     api < nocma_apis + ARRAY_SIZE(nocma_apis); api++)
				KUNIT_EXPECT_EQ_MSG(test,
						    nocma_dma_probe(api, dev, order, gfps[i]),
						    0L, "%s, order %u",
						    api->name, order);
		}
	}
}

static int nocma_init(struct kunit *test)
{
	struct nocma_ctx *ctx;

	/* Its unpacking must not run into the pressure made here. */
	nocma_settle();

	ctx = kunit_kzalloc(test, sizeof(*ctx), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	INIT_LIST_HEAD(&ctx->hogs);
	INIT_LIST_HEAD(&ctx->pages);
	ctx->area = dev_get_cma_area(NULL);

	ctx->pdev = platform_device_register_simple("nocma_test",
						    PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(ctx->pdev))
		return PTR_ERR(ctx->pdev);

	test->priv = ctx;
	return dma_set_mask_and_coherent(&ctx->pdev->dev, DMA_BIT_MASK(64));
}

static void nocma_exit(struct kunit *test)
{
	struct nocma_ctx *ctx = test->priv;

	if (!ctx)
		return;
	nocma_release(&ctx->pages);
	nocma_release(&ctx->hogs);
	platform_device_unregister(ctx->pdev);
}

static struct kunit_case nocma_cases[] = {
	KUNIT_CASE(nocma_flag_is_one_bit),
	KUNIT_CASE(nocma_flag_changes_nothing_else),
	KUNIT_CASE(nocma_flag_prints_by_name),
	KUNIT_CASE(nocma_movable_avoids_cma),
	KUNIT_CASE(nocma_pcplist_avoids_cma),
	KUNIT_CASE(nocma_bulk_avoids_cma),
	KUNIT_CASE(nocma_dma_avoids_shared_cma),
	KUNIT_CASE(nocma_dma_uses_own_area),
	KUNIT_CASE(nocma_dma_mask_24),
	KUNIT_CASE(nocma_dma_mask_32),
	KUNIT_CASE(nocma_dma_mask_64),
	KUNIT_CASE(nocma_dma_memory_is_zeroed),
	KUNIT_CASE(nocma_without_cma_no_effect),
	{ }
};

static struct kunit_suite nocma_suite = {
	.name = "nocma",
	.init = nocma_init,
	.exit = nocma_exit,
	.test_cases = nocma_cases,
};

kunit_test_suite(nocma_suite);

MODULE_DESCRIPTION("KUnit tests of __GFP_NOCMA");
MODULE_LICENSE("GPL");

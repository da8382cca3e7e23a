// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pool for scripts/tests/cocci.bats, in a folder named as TTM's. A comment
 * "found" marks each line that nocma.cocci has to report.
 */

static void all_calls(struct pool *pool, gfp_t gfp, unsigned long attrs)
{
	a = dma_alloc_attrs(pool->dev, pool->size, &dma, gfp, attrs); /* found */
	b = dma_alloc_coherent(pool->dev, pool->size, &dma, gfp); /* found */
	c = dma_zalloc_coherent(pool->dev, pool->size, &dma, GFP_KERNEL); /* found */
	d = dma_alloc_pages(pool->dev, pool->size, &dma, dir, gfp); /* found */
	e = dma_alloc_noncoherent(pool->dev, pool->size, &dma, dir, gfp); /* found */
}

static void all_calls_with_flag(struct pool *pool, gfp_t gfp, unsigned long attrs)
{
	a = dma_alloc_attrs(pool->dev, pool->size, &dma, gfp | __GFP_NOCMA, attrs);
	b = dma_alloc_coherent(pool->dev, pool->size, &dma, __GFP_NOCMA | gfp);
	c = dma_zalloc_coherent(pool->dev, pool->size, &dma,
				GFP_KERNEL | __GFP_NOWARN | __GFP_NOCMA);
	d = dma_alloc_pages(pool->dev, pool->size, &dma, dir, gfp | __GFP_NOCMA);
	e = dma_alloc_noncoherent(pool->dev, pool->size, &dma, dir, gfp | __GFP_NOCMA);
}

static void *flag_added_before(struct pool *pool, gfp_t gfp, unsigned long attrs)
{
	gfp |= __GFP_NOCMA;
	return dma_alloc_attrs(pool->dev, pool->size, &dma, gfp, attrs);
}

static void *flag_lost_again(struct pool *pool, gfp_t gfp, unsigned long attrs)
{
	gfp |= __GFP_NOCMA;
	gfp = GFP_KERNEL;
	return dma_alloc_attrs(pool->dev, pool->size, &dma, gfp, attrs); /* found */
}

static void pool_init(struct pool *pool, gfp_t gfp)
{
	pool->gfp_flags = gfp | __GFP_NOCMA;
	pool->other_flags = gfp;
}

static void *flag_in_the_pool(struct pool *pool, unsigned long attrs)
{
	return dma_alloc_attrs(pool->dev, pool->size, &dma, pool->gfp_flags, attrs);
}

static void *flag_not_in_the_pool(struct pool *pool, unsigned long attrs)
{
	return dma_alloc_attrs(pool->dev, pool->size, &dma, pool->other_flags, attrs); /* found */
}

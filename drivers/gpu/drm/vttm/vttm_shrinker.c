// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory pressure swaps objects out, as it does with drivers that have real
 * memory to care about. (What TTM itself shrinks are the pages that its pools
 * keep; it swaps out only when a limit of its own is hit.)
 */

#include <linux/swap.h>

#include "vttm_compat.h"
#include "vttm_drv.h"

static unsigned long vttm_shrinker_count(struct shrinker *shrinker,
					 struct shrink_control *sc)
{
	struct vttm_device *vttm = vttm_shrinker_private(shrinker);
	unsigned long pages;

	/* Without swap space the pages would only change their owner. */
	if (get_nr_swap_pages() <= 0)
		return SHRINK_EMPTY;

	pages = atomic_long_read(&vttm->nr_pages);
	return pages ? pages : SHRINK_EMPTY;
}

static unsigned long vttm_shrinker_scan(struct shrinker *shrinker,
					struct shrink_control *sc)
{
	struct vttm_device *vttm = vttm_shrinker_private(shrinker);
	unsigned long freed = 0;
	unsigned long pages;

	/* The way to swap leads through shmem. */
	if ((sc->gfp_mask & GFP_KERNEL) != GFP_KERNEL)
		return SHRINK_STOP;

	while (freed < sc->nr_to_scan) {
		pages = vttm_ttm_swapout(vttm);
		if (!pages)
			break;
		freed += pages;
	}

	return freed ? freed : SHRINK_STOP;
}

int vttm_shrinker_init(struct vttm_device *vttm)
{
	vttm->shrinker = vttm_shrinker_alloc(vttm, vttm_shrinker_count,
					     vttm_shrinker_scan);
	return vttm->shrinker ? 0 : -ENOMEM;
}

void vttm_shrinker_fini(struct vttm_device *vttm)
{
	vttm_shrinker_free(vttm->shrinker);
}

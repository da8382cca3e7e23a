/* SPDX-License-Identifier: GPL-2.0-only */
/* As vttm_compat.h, for what changed in TTM since 5.11. */
#ifndef _VTTM_TTM_COMPAT_H_
#define _VTTM_TTM_COMPAT_H_

/* Until 6.2 there were two headers. */
#ifdef VTTM_HAS_BO_H
#include <drm/ttm/ttm_bo.h>
#else
#include <drm/ttm/ttm_bo_api.h>
#include <drm/ttm/ttm_bo_driver.h>
#endif
#include <drm/ttm/ttm_device.h>
#include <drm/ttm/ttm_placement.h>

/* Until 6.8 a placement says twice where an object may be. */
static inline void vttm_placement_init(struct ttm_placement *placement,
				       const struct ttm_place *place)
{
	placement->num_placement = 1;
	placement->placement = place;
#ifdef VTTM_HAS_BUSY_PLACEMENT
	placement->num_busy_placement = 1;
	placement->busy_placement = place;
#endif
}

/* Since 6.19 the kind of pool is a mask of flags. */
static inline int vttm_bdev_init(struct ttm_device *bdev,
				 const struct ttm_device_funcs *funcs,
				 struct drm_device *drm, bool coherent, bool dma32)
{
#ifdef VTTM_HAS_ALLOC_FLAGS
	return ttm_device_init(bdev, funcs, drm->dev, drm->anon_inode->i_mapping,
			       drm->vma_offset_manager,
			       (coherent ? TTM_ALLOCATION_POOL_USE_DMA_ALLOC : 0) |
			       (dma32 ? TTM_ALLOCATION_POOL_USE_DMA32 : 0));
#else
	/* Not const before 6.4. */
	return ttm_device_init(bdev, (void *)funcs, drm->dev,
			       drm->anon_inode->i_mapping,
			       drm->vma_offset_manager, coherent, dma32);
#endif
}

/*
 * Since 6.19 the references to a buffer object are those of the GEM object.
 * Before it TTM counted by itself, and a mapping had only TTM's reference.
 */
#ifdef VTTM_HAS_BO_FINI
static inline void vttm_tbo_fini(struct ttm_buffer_object *tbo)
{
	ttm_bo_fini(tbo);
}

static inline bool vttm_tbo_tryget(struct ttm_buffer_object *tbo)
{
	return kref_get_unless_zero(&tbo->base.refcount);
}

static inline void vttm_tbo_put(struct ttm_buffer_object *tbo)
{
	drm_gem_object_put(&tbo->base);
}
#else
static inline void vttm_tbo_fini(struct ttm_buffer_object *tbo)
{
	ttm_bo_put(tbo);
}

static inline bool vttm_tbo_tryget(struct ttm_buffer_object *tbo)
{
	return ttm_bo_get_unless_zero(tbo);
}

static inline void vttm_tbo_put(struct ttm_buffer_object *tbo)
{
	ttm_bo_put(tbo);
}
#endif

#endif

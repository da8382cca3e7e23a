/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small differences between the kernels that the driver builds on, each in one
 * helper. The Makefile defines VTTM_HAS_* by a look at the kernel's headers.
 * The large one, the interface of TTM before 5.11, is vttm_ttm_old.c.
 */
#ifndef _VTTM_COMPAT_H_
#define _VTTM_COMPAT_H_

#include <linux/dma-map-ops.h>
#include <linux/module.h>
#include <linux/shrinker.h>
#include <linux/slab.h>

/* Until 6.13 a driver has a date, which is copied to user space. */
#ifdef VTTM_HAS_DRIVER_DATE
#define VTTM_DRIVER_DATE	.date = "20260101",
#else
#define VTTM_DRIVER_DATE
#endif

typedef unsigned long (*vttm_shrink_fn)(struct shrinker *shrinker,
					struct shrink_control *sc);

/* Until 6.6 a shrinker lives in memory of the driver's own. */
#ifdef VTTM_HAS_SHRINKER_ALLOC
static inline struct shrinker *vttm_shrinker_alloc(void *private,
						   vttm_shrink_fn count,
						   vttm_shrink_fn scan)
{
	struct shrinker *shrinker = shrinker_alloc(0, "drm-vttm");

	if (!shrinker)
		return NULL;
	shrinker->private_data = private;
	shrinker->count_objects = count;
	shrinker->scan_objects = scan;
	shrinker_register(shrinker);
	return shrinker;
}

static inline void *vttm_shrinker_private(struct shrinker *shrinker)
{
	return shrinker->private_data;
}

static inline void vttm_shrinker_free(struct shrinker *shrinker)
{
	shrinker_free(shrinker);
}
#else
struct vttm_shrinker {
	struct shrinker base;
	void *private;
};

/* Since 6.0 it has a name. */
#ifdef VTTM_HAS_SHRINKER_NAME
#define vttm_shrinker_register(shrinker) register_shrinker(shrinker, "drm-vttm")
#else
#define vttm_shrinker_register(shrinker) register_shrinker(shrinker)
#endif

static inline struct shrinker *vttm_shrinker_alloc(void *private,
						   vttm_shrink_fn count,
						   vttm_shrink_fn scan)
{
	struct vttm_shrinker *vs = kzalloc(sizeof(*vs), GFP_KERNEL);

	if (!vs)
		return NULL;
	vs->private = private;
	vs->base.count_objects = count;
	vs->base.scan_objects = scan;
	vs->base.seeks = DEFAULT_SEEKS;
	if (vttm_shrinker_register(&vs->base)) {
		kfree(vs);
		return NULL;
	}
	return &vs->base;
}

static inline void *vttm_shrinker_private(struct shrinker *shrinker)
{
	return container_of(shrinker, struct vttm_shrinker, base)->private;
}

static inline void vttm_shrinker_free(struct shrinker *shrinker)
{
	unregister_shrinker(shrinker);
	kfree(container_of(shrinker, struct vttm_shrinker, base));
}
#endif

/*
 * The default contiguous memory area. There is a function for modules since
 * 7.0; before it the kernel may or may not export the variable.
 */
#if defined(CONFIG_DMA_CMA) && defined(VTTM_HAS_CMA_DEFAULT)
static inline struct cma *vttm_default_cma(void)
{
	struct cma **area = symbol_get(dma_contiguous_default_area);
	struct cma *cma = NULL;

	if (area) {
		cma = *area;
		symbol_put(dma_contiguous_default_area);
	}
	return cma;
}
#elif defined(CONFIG_DMA_CMA)
static inline struct cma *vttm_default_cma(void)
{
	return dev_get_cma_area(NULL);
}
#endif

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Parts of the virtual TTM device:
 *
 *	vttm_drv.c	module, devices, DRM driver
 *	vttm_configfs.c	devices made at run time
 *	vttm_ioctl.c	ioctls: checks what user space sends
 *	vttm_shrinker.c	swap-out under memory pressure
 *	vttm_ttm.c	buffer objects on TTM as it is since 5.11
 *	vttm_ttm_old.c	the same on TTM as it was before
 *
 * Only the last two know the types of TTM; all else knows GEM objects.
 */
#ifndef _VTTM_DRV_H_
#define _VTTM_DRV_H_

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <drm/drm_device.h>
#include <drm/drm_gem.h>
#include <drm/drm_ioctl.h>
#include <drm/vttm_drm.h>

struct platform_device;
struct seq_file;
struct shrinker;
struct vttm_ttm;

/**
 * struct vttm_config - what a device is like
 * @dma_bits: width of the DMA mask
 * @coherent: the pool allocates with dma_alloc_attrs(), not alloc_pages()
 * @node: NUMA node of the device, or NUMA_NO_NODE
 * @own_cma: the device has a contiguous memory area of its own
 * @tt_mib: MiB that fit in the translation table
 */
struct vttm_config {
	unsigned int dma_bits;
	bool coherent;
	int node;
	bool own_cma;
	unsigned int tt_mib;
};

/**
 * struct vttm_device - one device
 * @drm: base
 * @config: what it is like, constant
 * @platform: the platform device that was made for it, NULL on another bus
 * @ttm: state of TTM
 * @shrinker: swaps objects out
 * @lock: protects @objects
 * @objects: list of the objects of the device
 * @populated: number of objects that have, get or give back pages; below 0 no
 *	object may get any
 * @unused: woken when @populated changes to 0 or from below 0
 * @gone: the device was removed, no object gets pages any more
 * @nr_objects: number of objects
 * @nr_pages: number of pages in objects
 * @nr_populates: how often an object got its pages
 * @nr_evictions: how often an object had to leave the translation table
 * @nr_swapouts: how often an object was swapped out
 */
struct vttm_device {
	struct drm_device drm;
	struct vttm_config config;
	struct platform_device *platform;
	struct vttm_ttm *ttm;
	struct shrinker *shrinker;

	spinlock_t lock;	/* protects objects */
	struct list_head objects;

	atomic_t populated;
	wait_queue_head_t unused;
	bool gone;

	atomic_long_t nr_objects;
	atomic_long_t nr_pages;
	atomic_long_t nr_populates;
	atomic_long_t nr_evictions;
	atomic_long_t nr_swapouts;
};

static inline struct vttm_device *to_vttm(struct drm_device *drm)
{
	return container_of(drm, struct vttm_device, drm);
}

static inline u64 vttm_tt_size(const struct vttm_device *vttm)
{
	return (u64)vttm->config.tt_mib << 20;
}

/**
 * struct vttm_layout - pages behind an object
 * @domain: DRM_VTTM_DOMAIN_*
 * @flags: DRM_VTTM_INFO_*
 * @dma_low: lowest bus address
 * @dma_high: highest bus address
 * @orders: number of chunks of each order
 * @chunks: the chunks, @room of them at most
 * @room: size of @chunks
 * @nr_chunks: number of chunks of the object
 */
struct vttm_layout {
	u32 domain;
	u32 flags;
	u64 dma_low;
	u64 dma_high;
	u32 orders[DRM_VTTM_ORDERS];
	struct drm_vttm_chunk *chunks;
	u32 room;
	u32 nr_chunks;
};

/* vttm_drv.c */
int vttm_config_check(const struct vttm_config *config);
void vttm_config_default(struct vttm_config *config);
struct vttm_device *vttm_platform_create(const struct vttm_config *config);
void vttm_platform_destroy(struct vttm_device *vttm);
bool vttm_populate_begin(struct vttm_device *vttm);
void vttm_populate_end(struct vttm_device *vttm);

/* vttm_configfs.c */
#if IS_ENABLED(CONFIG_CONFIGFS_FS)
int vttm_configfs_init(void);
void vttm_configfs_exit(void);
#else
static inline int vttm_configfs_init(void)
{
	return 0;
}

static inline void vttm_configfs_exit(void)
{
}
#endif

/* vttm_ioctl.c */
extern const struct drm_ioctl_desc vttm_ioctls[];
extern const unsigned int vttm_nr_ioctls;

/* vttm_shrinker.c */
int vttm_shrinker_init(struct vttm_device *vttm);
void vttm_shrinker_fini(struct vttm_device *vttm);

/* vttm_ttm.c, vttm_ttm_old.c */
int vttm_ttm_init(struct vttm_device *vttm);
void vttm_ttm_unplug(struct vttm_device *vttm);
void vttm_ttm_fini(struct vttm_device *vttm);
int vttm_ttm_drain(struct vttm_device *vttm);
unsigned long vttm_ttm_swapout(struct vttm_device *vttm);
int vttm_ttm_debugfs(struct vttm_device *vttm, struct seq_file *m);

struct drm_gem_object *vttm_bo_create(struct vttm_device *vttm, u64 size,
				      u32 flags, u32 caching);
int vttm_bo_populate(struct drm_gem_object *obj, u64 *ns, struct vttm_layout *layout);
int vttm_bo_unpopulate(struct drm_gem_object *obj, u64 *ns, struct vttm_layout *layout);
int vttm_bo_layout(struct drm_gem_object *obj, struct vttm_layout *layout);

#endif

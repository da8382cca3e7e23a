// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer objects on TTM as it is since 5.11.
 *
 * An object is made in the system domain, without pages. Populating it moves it
 * to the translation table (TT), which is of limited size, so that others may
 * have to leave. They keep their pages in the system domain until they are
 * swapped out. A page fault populates an object where it is.
 */

#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/ttm/ttm_pool.h>
#include <drm/ttm/ttm_range_manager.h>
#include <drm/ttm/ttm_tt.h>

#include "vttm_drv.h"
#include "vttm_ttm_compat.h"

/* A pool of a device is for DMA32 or not; objects of a vttm device may be both. */
enum {
	VTTM_POOL_NORMAL,
	VTTM_POOL_DMA32,
	VTTM_POOLS
};

/**
 * struct vttm_ttm - state of TTM for a device
 * @bdev: what the objects belong to; its own pool is not used
 * @pools: TTM devices of which only the pool is used, because before 6.6 there
 *	was no other way to get a pool, or to get rid of one
 * @lock: protects @pools against an exchange while they are looked at; objects
 *	that use them are protected by &vttm_device.populated
 */
struct vttm_ttm {
	struct ttm_device bdev;
	struct ttm_device *pools[VTTM_POOLS];
	struct mutex lock;	/* see above */
};

/**
 * struct vttm_bo - buffer object
 * @tbo: base
 * @node: entry of &vttm_device.objects
 * @flags: DRM_VTTM_CREATE_*
 * @caching: how the CPU sees it
 */
struct vttm_bo {
	struct ttm_buffer_object tbo;
	struct list_head node;
	u32 flags;
	enum ttm_caching caching;
};

/**
 * struct vttm_tt - pages of an object
 * @base: base
 * @vttm: device
 * @pool: index of &vttm_ttm.pools
 * @ns: time that the pool took to give or take the pages
 */
struct vttm_tt {
	struct ttm_tt base;
	struct vttm_device *vttm;
	unsigned int pool;
	u64 ns;
};

/*
 * What TTM's pool keeps at the private field of the first page of a coherent
 * allocation. TTM hides this structure, but nothing else has the order.
 */
struct vttm_pool_dma {
	dma_addr_t addr;
	unsigned long vaddr;	/* with the order in the bits below PAGE_SHIFT */
};

static const struct ttm_place vttm_place_system = { .mem_type = TTM_PL_SYSTEM };
static const struct ttm_place vttm_place_tt = { .mem_type = TTM_PL_TT };

static struct vttm_bo *to_vttm_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct vttm_bo, tbo);
}

static struct vttm_tt *to_vttm_tt(struct ttm_tt *ttm)
{
	return container_of(ttm, struct vttm_tt, base);
}

static struct vttm_device *tbo_to_vttm(struct ttm_buffer_object *tbo)
{
	return to_vttm(tbo->base.dev);
}

static bool vttm_tbo_populated(struct ttm_buffer_object *tbo)
{
	return tbo->ttm && ttm_tt_is_populated(tbo->ttm);
}

static int vttm_validate(struct ttm_buffer_object *tbo, const struct ttm_place *place,
			 bool interruptible)
{
	struct ttm_operation_ctx ctx = { .interruptible = interruptible };
	struct ttm_placement placement;

	vttm_placement_init(&placement, place);
	return ttm_bo_validate(tbo, &placement, &ctx);
}

/* Callbacks of TTM */

static struct ttm_tt *vttm_tt_create(struct ttm_buffer_object *tbo, u32 page_flags)
{
	struct vttm_bo *bo = to_vttm_bo(tbo);
	struct vttm_tt *tt;

	tt = kzalloc(sizeof(*tt), GFP_KERNEL);
	if (!tt)
		return NULL;

	tt->vttm = tbo_to_vttm(tbo);
	tt->pool = bo->flags & DRM_VTTM_CREATE_DMA32 ? VTTM_POOL_DMA32 : VTTM_POOL_NORMAL;
	if (!(bo->flags & DRM_VTTM_CREATE_ZEROED))
		page_flags &= ~TTM_TT_FLAG_ZERO_ALLOC;

	if (ttm_sg_tt_init(&tt->base, tbo, page_flags, bo->caching)) {
		kfree(tt);
		return NULL;
	}
	return &tt->base;
}

static void vttm_tt_destroy(struct ttm_device *bdev, struct ttm_tt *ttm)
{
	ttm_tt_fini(ttm);
	kfree(to_vttm_tt(ttm));
}

static struct ttm_pool *vttm_tt_pool(struct vttm_tt *tt)
{
	return &tt->vttm->ttm->pools[tt->pool]->pool;
}

static int vttm_tt_populate(struct ttm_device *bdev, struct ttm_tt *ttm,
			    struct ttm_operation_ctx *ctx)
{
	struct vttm_tt *tt = to_vttm_tt(ttm);
	struct vttm_device *vttm = tt->vttm;
	u64 start;
	int ret;

	if (!vttm_populate_begin(vttm))
		return -ENODEV;

	start = ktime_get_ns();
	ret = ttm_pool_alloc(vttm_tt_pool(tt), ttm, ctx);
	tt->ns = ktime_get_ns() - start;
	if (ret) {
		vttm_populate_end(vttm);
		return ret;
	}

	atomic_long_add(ttm->num_pages, &vttm->nr_pages);
	atomic_long_inc(&vttm->nr_populates);
	return 0;
}

static void vttm_tt_unpopulate(struct ttm_device *bdev, struct ttm_tt *ttm)
{
	struct vttm_tt *tt = to_vttm_tt(ttm);
	struct vttm_device *vttm = tt->vttm;
	u64 start = ktime_get_ns();

	ttm_pool_free(vttm_tt_pool(tt), ttm);
	tt->ns = ktime_get_ns() - start;
	atomic_long_sub(ttm->num_pages, &vttm->nr_pages);
	vttm_populate_end(vttm);
}

static void vttm_evict_flags(struct ttm_buffer_object *tbo, struct ttm_placement *placement)
{
	vttm_placement_init(placement, &vttm_place_system);
}

static int vttm_move(struct ttm_buffer_object *tbo, bool evict,
		     struct ttm_operation_ctx *ctx, struct ttm_resource *new_mem,
		     struct ttm_place *hop)
{
	if (evict && tbo->resource && tbo->resource->mem_type == TTM_PL_TT)
		atomic_long_inc(&tbo_to_vttm(tbo)->nr_evictions);

	/* Both domains are the same pages. */
	ttm_bo_move_null(tbo, new_mem);
	return 0;
}

static void vttm_swap_notify(struct ttm_buffer_object *tbo)
{
	atomic_long_inc(&tbo_to_vttm(tbo)->nr_swapouts);
}

static const struct ttm_device_funcs vttm_ttm_funcs = {
	.ttm_tt_create = vttm_tt_create,
	.ttm_tt_populate = vttm_tt_populate,
	.ttm_tt_unpopulate = vttm_tt_unpopulate,
	.ttm_tt_destroy = vttm_tt_destroy,
	.eviction_valuable = ttm_bo_eviction_valuable,
	.evict_flags = vttm_evict_flags,
	.move = vttm_move,
	.swap_notify = vttm_swap_notify,
};

/* GEM objects */

static void vttm_gem_free(struct drm_gem_object *obj)
{
	vttm_tbo_fini(drm_gem_ttm_of_gem(obj));
}

static vm_fault_t vttm_vm_fault_reserved(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct ttm_buffer_object *tbo = vma->vm_private_data;

	/* Unpopulating left the object nowhere. */
	if (!tbo->resource && vttm_validate(tbo, &vttm_place_system, false))
		return VM_FAULT_SIGBUS;

	return ttm_bo_vm_fault_reserved(vmf, vma->vm_page_prot, TTM_BO_VM_NUM_PREFAULT);
}

static vm_fault_t vttm_vm_fault(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct ttm_buffer_object *tbo = vma->vm_private_data;
	vm_fault_t ret;
	int idx;

	ret = ttm_bo_vm_reserve(tbo, vmf);
	if (ret)
		return ret;

	if (drm_dev_enter(tbo->base.dev, &idx)) {
		ret = vttm_vm_fault_reserved(vmf);
		drm_dev_exit(idx);
	} else {
		ret = ttm_bo_vm_dummy_page(vmf, vma->vm_page_prot);
	}
	/* Then TTM gave up the reservation. */
	if (ret == VM_FAULT_RETRY && !(vmf->flags & FAULT_FLAG_RETRY_NOWAIT))
		return ret;

	dma_resv_unlock(tbo->base.resv);
	return ret;
}

static const struct vm_operations_struct vttm_vm_ops = {
	.fault = vttm_vm_fault,
	.open = ttm_bo_vm_open,
	.close = ttm_bo_vm_close,
};

static const struct drm_gem_object_funcs vttm_gem_funcs = {
	.free = vttm_gem_free,
	.mmap = drm_gem_ttm_mmap,
	.vm_ops = &vttm_vm_ops,
};

static void vttm_bo_destroy(struct ttm_buffer_object *tbo)
{
	struct vttm_device *vttm = tbo_to_vttm(tbo);
	struct vttm_bo *bo = to_vttm_bo(tbo);

	spin_lock(&vttm->lock);
	list_del(&bo->node);
	spin_unlock(&vttm->lock);

	drm_gem_object_release(&tbo->base);
	atomic_long_dec(&vttm->nr_objects);
	kfree(bo);
}

static enum ttm_caching vttm_caching(u32 caching)
{
	switch (caching) {
	case DRM_VTTM_CACHING_WRITE_COMBINED:
		return ttm_write_combined;
	case DRM_VTTM_CACHING_UNCACHED:
		return ttm_uncached;
	default:
		return ttm_cached;
	}
}

/**
 * vttm_bo_create() - make an object without pages
 * @vttm: device
 * @size: bytes, whole pages
 * @flags: DRM_VTTM_CREATE_*
 * @caching: DRM_VTTM_CACHING_*
 *
 * Return: the object or an error pointer.
 */
struct drm_gem_object *vttm_bo_create(struct vttm_device *vttm, u64 size,
				      u32 flags, u32 caching)
{
	struct ttm_operation_ctx ctx = { .interruptible = true };
	struct ttm_placement placement;
	struct vttm_bo *bo;
	int ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return ERR_PTR(-ENOMEM);

	bo->flags = flags;
	bo->caching = vttm_caching(caching);
	INIT_LIST_HEAD(&bo->node);
	drm_gem_private_object_init(&vttm->drm, &bo->tbo.base, size);
	bo->tbo.base.funcs = &vttm_gem_funcs;
	atomic_long_inc(&vttm->nr_objects);

	/* Calls vttm_bo_destroy() if it fails. */
	vttm_placement_init(&placement, &vttm_place_system);
	ret = ttm_bo_init_reserved(&vttm->ttm->bdev, &bo->tbo, ttm_bo_type_device,
				   &placement, 0, &ctx, NULL, NULL, vttm_bo_destroy);
	if (ret)
		return ERR_PTR(ret);

	spin_lock(&vttm->lock);
	list_add_tail(&bo->node, &vttm->objects);
	spin_unlock(&vttm->lock);

	ttm_bo_unreserve(&bo->tbo);
	return &bo->tbo.base;
}

/* The order of the allocation whose first page is @i of @ttm. */
static unsigned int vttm_chunk_order(struct vttm_device *vttm, struct ttm_tt *ttm,
				     unsigned long i)
{
	unsigned long private = page_private(ttm->pages[i]);
	unsigned long order = private;

	if (vttm->config.coherent) {
		const struct vttm_pool_dma *dma = (const void *)private;

		if (WARN_ON_ONCE(dma->addr != ttm->dma_address[i]))
			return 0;
		order = dma->vaddr & ~PAGE_MASK;
	}
	if (WARN_ON_ONCE(order >= DRM_VTTM_ORDERS || i + (1UL << order) > ttm->num_pages))
		return 0;
	return order;
}

static void vttm_layout_pages(struct ttm_buffer_object *tbo, struct vttm_layout *layout)
{
	struct vttm_device *vttm = tbo_to_vttm(tbo);
	struct ttm_tt *ttm = tbo->ttm;
	struct drm_vttm_chunk *chunk;
	unsigned int order;
	unsigned long i;
	u64 last;

	layout->dma_low = U64_MAX;
	for (i = 0; i < ttm->num_pages; i += 1UL << order) {
		order = vttm_chunk_order(vttm, ttm, i);
		if (layout->nr_chunks < layout->room) {
			chunk = &layout->chunks[layout->nr_chunks];
			chunk->pfn = page_to_pfn(ttm->pages[i]);
			chunk->dma_addr = ttm->dma_address[i];
			chunk->order = order;
		}
		layout->nr_chunks++;
		layout->orders[order]++;
		last = ttm->dma_address[i] + (PAGE_SIZE << order) - 1;
		layout->dma_low = min_t(u64, layout->dma_low, ttm->dma_address[i]);
		layout->dma_high = max(layout->dma_high, last);
	}
}

/**
 * vttm_bo_layout() - describe the pages behind an object
 * @obj: object
 * @layout: filled; room and chunks are the caller's
 *
 * Return: 0 or -EINTR and the like.
 */
int vttm_bo_layout(struct drm_gem_object *obj, struct vttm_layout *layout)
{
	struct ttm_buffer_object *tbo = drm_gem_ttm_of_gem(obj);
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;

	layout->domain = DRM_VTTM_DOMAIN_SYSTEM;
	if (tbo->resource && tbo->resource->mem_type == TTM_PL_TT)
		layout->domain = DRM_VTTM_DOMAIN_TT;
	if (tbo->ttm && tbo->ttm->page_flags & TTM_TT_FLAG_SWAPPED)
		layout->flags |= DRM_VTTM_INFO_SWAPPED;
	if (vttm_tbo_populated(tbo)) {
		layout->flags |= DRM_VTTM_INFO_POPULATED;
		vttm_layout_pages(tbo, layout);
	}

	ttm_bo_unreserve(tbo);
	return 0;
}

/**
 * vttm_bo_populate() - move an object to the translation table
 * @obj: object
 * @ns: time that the pool took, if it had to give any pages
 * @layout: pages that the pool gave, if any
 *
 * Return: 0 or an error of ttm_bo_validate().
 */
int vttm_bo_populate(struct drm_gem_object *obj, u64 *ns, struct vttm_layout *layout)
{
	struct ttm_buffer_object *tbo = drm_gem_ttm_of_gem(obj);
	bool populated;
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;

	populated = vttm_tbo_populated(tbo);
	ret = vttm_validate(tbo, &vttm_place_tt, true);
	if (!ret && !populated) {
		*ns = to_vttm_tt(tbo->ttm)->ns;
		vttm_layout_pages(tbo, layout);
	}

	ttm_bo_unreserve(tbo);
	return ret;
}

/* Give the pages of a reserved object back. The object is nowhere then. */
static int vttm_drop_pages(struct ttm_buffer_object *tbo)
{
	struct ttm_placement nowhere = { };
	struct ttm_operation_ctx ctx = { };

	/* TTM leaves that to the driver when an object is not moved. */
	ttm_bo_unmap_virtual(tbo);
	return ttm_bo_validate(tbo, &nowhere, &ctx);
}

/**
 * vttm_bo_unpopulate() - take the pages from an object
 * @obj: object
 * @ns: time that the pool took, if it had to take any pages
 * @layout: pages that the pool took, if any
 *
 * Return: 0 or an error of ttm_bo_validate().
 */
int vttm_bo_unpopulate(struct drm_gem_object *obj, u64 *ns, struct vttm_layout *layout)
{
	struct ttm_buffer_object *tbo = drm_gem_ttm_of_gem(obj);
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;

	if (vttm_tbo_populated(tbo)) {
		vttm_layout_pages(tbo, layout);
		ret = vttm_drop_pages(tbo);
		if (!ret && tbo->ttm)
			*ns = to_vttm_tt(tbo->ttm)->ns;
	}

	ttm_bo_unreserve(tbo);
	return ret;
}

/* The device */

static struct ttm_device *vttm_pool_create(struct vttm_device *vttm, bool dma32)
{
	struct ttm_device *pool;
	int ret;

	pool = kzalloc(sizeof(*pool), GFP_KERNEL);
	if (!pool)
		return ERR_PTR(-ENOMEM);

	ret = vttm_bdev_init(pool, &vttm_ttm_funcs, &vttm->drm, vttm->config.coherent, dma32);
	if (ret) {
		kfree(pool);
		return ERR_PTR(ret);
	}
	return pool;
}

static void vttm_pool_destroy(struct ttm_device *pool)
{
	ttm_device_fini(pool);
	kfree(pool);
}

static int vttm_pools_init(struct vttm_device *vttm, struct ttm_device **pools)
{
	unsigned int i;

	for (i = 0; i < VTTM_POOLS; i++) {
		pools[i] = vttm_pool_create(vttm, i == VTTM_POOL_DMA32);
		if (IS_ERR(pools[i]))
			goto err;
	}
	return 0;

err:
	while (i--)
		vttm_pool_destroy(pools[i]);
	return -ENOMEM;
}

static void vttm_pools_fini(struct ttm_device **pools)
{
	unsigned int i;

	for (i = 0; i < VTTM_POOLS; i++)
		vttm_pool_destroy(pools[i]);
}

/**
 * vttm_ttm_drain() - free the pages that the pools keep
 * @vttm: device
 *
 * Return: 0, -EBUSY while an object has pages, -EOPNOTSUPP for a plain pool.
 */
int vttm_ttm_drain(struct vttm_device *vttm)
{
	struct ttm_device *old[VTTM_POOLS], *fresh[VTTM_POOLS];
	struct vttm_ttm *ttm = vttm->ttm;
	int ret;

	if (!vttm->config.coherent)
		return -EOPNOTSUPP;

	ret = vttm_pools_init(vttm, fresh);
	if (ret)
		return ret;

	mutex_lock(&ttm->lock);
	if (atomic_cmpxchg(&vttm->populated, 0, -1)) {
		mutex_unlock(&ttm->lock);
		vttm_pools_fini(fresh);
		return -EBUSY;
	}
	memcpy(old, ttm->pools, sizeof(old));
	memcpy(ttm->pools, fresh, sizeof(old));
	atomic_set(&vttm->populated, 0);
	wake_up_all(&vttm->unused);
	mutex_unlock(&ttm->lock);

	vttm_pools_fini(old);
	return 0;
}

/* Next object whose pages were not dropped yet, with a reference, or NULL. */
static struct ttm_buffer_object *vttm_next_object(struct vttm_device *vttm,
						  struct list_head *done)
{
	struct ttm_buffer_object *tbo = NULL;
	struct vttm_bo *bo, *next;

	spin_lock(&vttm->lock);
	list_for_each_entry_safe(bo, next, &vttm->objects, node) {
		list_move_tail(&bo->node, done);
		if (vttm_tbo_tryget(&bo->tbo)) {
			tbo = &bo->tbo;
			break;
		}
	}
	spin_unlock(&vttm->lock);
	return tbo;
}

/**
 * vttm_ttm_unplug() - the device goes away: free all its memory
 * @vttm: device
 *
 * Objects that are still in use stay, empty.
 */
void vttm_ttm_unplug(struct vttm_device *vttm)
{
	struct ttm_buffer_object *tbo;
	LIST_HEAD(done);

	WRITE_ONCE(vttm->gone, true);
	wake_up_all(&vttm->unused);

	while ((tbo = vttm_next_object(vttm, &done))) {
		dma_resv_lock(tbo->base.resv, NULL);
		if (vttm_tbo_populated(tbo))
			WARN_ON(vttm_drop_pages(tbo));
		dma_resv_unlock(tbo->base.resv);
		vttm_tbo_put(tbo);
	}

	spin_lock(&vttm->lock);
	list_splice(&done, &vttm->objects);
	spin_unlock(&vttm->lock);

	/* Objects that are being destroyed give their pages back by themselves. */
	do {
		wait_event(vttm->unused, !atomic_read(&vttm->populated));
	} while (atomic_cmpxchg(&vttm->populated, 0, -1));

	vttm_pools_fini(vttm->ttm->pools);
}

/**
 * vttm_ttm_swapout() - swap out the object that was used least recently
 * @vttm: device
 *
 * May be called from a shrinker: waits for no reservation.
 *
 * Return: number of pages that were freed, 0 if there is nothing to swap out.
 */
unsigned long vttm_ttm_swapout(struct vttm_device *vttm)
{
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	int ret;

	ret = ttm_device_swapout(&vttm->ttm->bdev, &ctx, GFP_NOFS);
	return ret > 0 ? ret : 0;
}

/**
 * vttm_ttm_debugfs() - show what the pools keep
 * @vttm: device
 * @m: where
 *
 * Return: 0 or an error.
 */
int vttm_ttm_debugfs(struct vttm_device *vttm, struct seq_file *m)
{
	struct vttm_ttm *ttm = vttm->ttm;
	unsigned int i;
	int ret = 0;

	mutex_lock(&ttm->lock);
	for (i = 0; i < VTTM_POOLS && !ret; i++) {
		seq_printf(m, "%s:\n", i == VTTM_POOL_DMA32 ? "DMA32" : "normal");
		ret = ttm_pool_debugfs(&ttm->pools[i]->pool, m);
	}
	mutex_unlock(&ttm->lock);
	return ret;
}

/**
 * vttm_ttm_init() - set TTM up for a device
 * @vttm: device
 *
 * Return: 0 or -ENOMEM.
 */
int vttm_ttm_init(struct vttm_device *vttm)
{
	struct vttm_ttm *ttm;
	int ret;

	ttm = kzalloc(sizeof(*ttm), GFP_KERNEL);
	if (!ttm)
		return -ENOMEM;
	mutex_init(&ttm->lock);

	ret = vttm_bdev_init(&ttm->bdev, &vttm_ttm_funcs, &vttm->drm,
			     vttm->config.coherent, false);
	if (ret)
		goto err_free;
	ret = ttm_range_man_init(&ttm->bdev, TTM_PL_TT, true,
				 vttm_tt_size(vttm) >> PAGE_SHIFT);
	if (ret)
		goto err_bdev;
	ret = vttm_pools_init(vttm, ttm->pools);
	if (ret)
		goto err_range;

	vttm->ttm = ttm;
	return 0;

err_range:
	ttm_range_man_fini(&ttm->bdev, TTM_PL_TT);
err_bdev:
	ttm_device_fini(&ttm->bdev);
err_free:
	kfree(ttm);
	return ret;
}

/**
 * vttm_ttm_fini() - free what is left after vttm_ttm_unplug()
 * @vttm: device
 */
void vttm_ttm_fini(struct vttm_device *vttm)
{
	struct vttm_ttm *ttm = vttm->ttm;

	ttm_range_man_fini(&ttm->bdev, TTM_PL_TT);
	ttm_device_fini(&ttm->bdev);
	kfree(ttm);
}

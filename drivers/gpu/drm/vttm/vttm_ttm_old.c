// SPDX-License-Identifier: GPL-2.0-only
/*
 * Buffer objects on TTM as it was before 5.11; see vttm_ttm.c for what happens
 * to an object. What is different:
 *
 * - The caching belongs to the place where an object is, not to its pages. An
 *   object that was swapped out is cached until it is populated again.
 * - There is a pool per device and kind of pages, for coherent memory only, and
 *   it knows pages of two sizes, PAGE_SIZE and PMD_SIZE. It is made when first
 *   used and goes away with the resources that devres manages for the device.
 */

#include <linux/highmem.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include <drm/drm_drv.h>
#include <drm/drm_gem_ttm_helper.h>
#include <drm/ttm/ttm_bo_api.h>
#include <drm/ttm/ttm_bo_driver.h>
#include <drm/ttm/ttm_page_alloc.h>
#include <drm/ttm/ttm_placement.h>

#include "vttm_drv.h"

#define VTTM_HUGE_ORDER		(PMD_SHIFT - PAGE_SHIFT)

/**
 * struct vttm_ttm - state of TTM for a device
 * @bdev: what the objects belong to
 * @group: devres group of the pools, NULL if there was no memory for one
 */
struct vttm_ttm {
	struct ttm_bo_device bdev;
	void *group;
};

/**
 * struct vttm_bo - buffer object
 * @tbo: base
 * @node: entry of &vttm_device.objects
 * @flags: DRM_VTTM_CREATE_*
 * @place_system: the system domain, with the caching of this object
 * @place_tt: the translation table, with the caching of this object
 */
struct vttm_bo {
	struct ttm_buffer_object tbo;
	struct list_head node;
	u32 flags;
	struct ttm_place place_system;
	struct ttm_place place_tt;
};

/**
 * struct vttm_tt - pages of an object
 * @base: base
 * @vttm: device
 * @zeroed: the pages are to be cleared
 * @given: how the pages were cached when the pool gave them
 * @ns: time that the pool took to give the pages
 */
struct vttm_tt {
	struct ttm_dma_tt base;
	struct vttm_device *vttm;
	bool zeroed;
	enum ttm_caching_state given;
	u64 ns;
};

/*
 * What the coherent pool keeps of each allocation, in a list at the object.
 * TTM hides this structure, but nothing else has the size.
 */
struct vttm_dma_page {
	struct list_head node;
	unsigned long vaddr;	/* and flags */
	struct page *page;
	dma_addr_t dma;
};

#define VTTM_DMA_PAGE_HUGE	BIT(0)	/* in vttm_dma_page.vaddr */

static struct vttm_bo *to_vttm_bo(struct ttm_buffer_object *tbo)
{
	return container_of(tbo, struct vttm_bo, tbo);
}

static struct vttm_tt *to_vttm_tt(struct ttm_tt *ttm)
{
	return container_of(ttm, struct vttm_tt, base.ttm);
}

static struct vttm_device *tbo_to_vttm(struct ttm_buffer_object *tbo)
{
	return to_vttm(tbo->base.dev);
}

static bool vttm_tbo_populated(struct ttm_buffer_object *tbo)
{
	return tbo->ttm && ttm_tt_is_populated(tbo->ttm);
}

static void vttm_placement_init(struct ttm_placement *placement, const struct ttm_place *place)
{
	placement->num_placement = 1;
	placement->placement = place;
	placement->num_busy_placement = 1;
	placement->busy_placement = place;
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
	tt->zeroed = bo->flags & DRM_VTTM_CREATE_ZEROED;
	if (bo->flags & DRM_VTTM_CREATE_DMA32)
		page_flags |= TTM_PAGE_FLAG_DMA32;
	page_flags &= ~TTM_PAGE_FLAG_ZERO_ALLOC;
	if (tt->zeroed)
		page_flags |= TTM_PAGE_FLAG_ZERO_ALLOC;

	if (ttm_sg_tt_init(&tt->base, tbo, page_flags)) {
		kfree(tt);
		return NULL;
	}
	return &tt->base.ttm;
}

static void vttm_tt_destroy(struct ttm_bo_device *bdev, struct ttm_tt *ttm)
{
	struct vttm_tt *tt = to_vttm_tt(ttm);

	ttm_tt_destroy_common(bdev, ttm);
	ttm_dma_tt_fini(&tt->base);
	kfree(tt);
}

/* Neither the coherent pool nor that of huge pages clears what it kept. */
static void vttm_tt_clear(struct ttm_tt *ttm)
{
	unsigned long i;

	for (i = 0; i < ttm->num_pages; i++)
		clear_highpage(ttm->pages[i]);
}

/*
 * When there is no memory for a new pool of small pages, TTM forgets the huge
 * pages that it has already taken for the object.
 */
static int vttm_dma_populate(struct vttm_tt *tt, struct ttm_operation_ctx *ctx)
{
	struct device *dev = tt->vttm->drm.dev;
	int ret;

	ret = ttm_dma_populate(&tt->base, dev, ctx);
	if (ret && !list_empty(&tt->base.pages_list))
		ttm_dma_unpopulate(&tt->base, dev);
	return ret;
}

static int vttm_tt_populate(struct ttm_bo_device *bdev, struct ttm_tt *ttm,
			    struct ttm_operation_ctx *ctx)
{
	struct vttm_tt *tt = to_vttm_tt(ttm);
	struct vttm_device *vttm = tt->vttm;
	bool swapped = ttm->page_flags & TTM_PAGE_FLAG_SWAPPED;
	u64 start;
	int ret;

	if (!vttm_populate_begin(vttm))
		return -ENODEV;

	start = ktime_get_ns();
	if (vttm->config.coherent)
		ret = vttm_dma_populate(tt, ctx);
	else
		ret = ttm_populate_and_map_pages(vttm->drm.dev, &tt->base, ctx);
	tt->ns = ktime_get_ns() - start;
	if (ret) {
		vttm_populate_end(vttm);
		return ret;
	}

	tt->given = ttm->caching_state;
	if (tt->zeroed && !swapped)
		vttm_tt_clear(ttm);
	atomic_long_add(ttm->num_pages, &vttm->nr_pages);
	atomic_long_inc(&vttm->nr_populates);
	return 0;
}

static u32 vttm_flags_of(enum ttm_caching_state state)
{
	switch (state) {
	case tt_wc:
		return TTM_PL_FLAG_WC;
	case tt_uncached:
		return TTM_PL_FLAG_UNCACHED;
	default:
		return TTM_PL_FLAG_CACHED;
	}
}

/*
 * TTM looks for the pool by how the pages are cached, and swapping out has made
 * them cached. The pool that gave them would count them as in use for ever.
 */
static void vttm_dma_unpopulate(struct vttm_tt *tt)
{
	struct ttm_tt *ttm = &tt->base.ttm;
	enum ttm_caching_state state = ttm->caching_state;

	ttm_tt_set_placement_caching(ttm, vttm_flags_of(tt->given));
	ttm_dma_unpopulate(&tt->base, tt->vttm->drm.dev);
	ttm->caching_state = state;
}

static void vttm_tt_unpopulate(struct ttm_bo_device *bdev, struct ttm_tt *ttm)
{
	struct vttm_tt *tt = to_vttm_tt(ttm);
	struct vttm_device *vttm = tt->vttm;

	if (vttm->config.coherent)
		vttm_dma_unpopulate(tt);
	else
		ttm_unmap_and_unpopulate_pages(vttm->drm.dev, &tt->base);
	atomic_long_sub(ttm->num_pages, &vttm->nr_pages);
	vttm_populate_end(vttm);
}

static int vttm_tt_bind(struct ttm_bo_device *bdev, struct ttm_tt *ttm,
			struct ttm_resource *mem)
{
	return 0;
}

static void vttm_tt_unbind(struct ttm_bo_device *bdev, struct ttm_tt *ttm)
{
}

static void vttm_evict_flags(struct ttm_buffer_object *tbo, struct ttm_placement *placement)
{
	vttm_placement_init(placement, &to_vttm_bo(tbo)->place_system);
}

static void vttm_move_notify(struct ttm_buffer_object *tbo, bool evict,
			     struct ttm_resource *new_mem)
{
	if (evict && tbo->mem.mem_type == TTM_PL_TT)
		atomic_long_inc(&tbo_to_vttm(tbo)->nr_evictions);
}

static void vttm_swap_notify(struct ttm_buffer_object *tbo)
{
	atomic_long_inc(&tbo_to_vttm(tbo)->nr_swapouts);
}

static struct ttm_bo_driver vttm_ttm_driver = {
	.ttm_tt_create = vttm_tt_create,
	.ttm_tt_populate = vttm_tt_populate,
	.ttm_tt_unpopulate = vttm_tt_unpopulate,
	.ttm_tt_bind = vttm_tt_bind,
	.ttm_tt_unbind = vttm_tt_unbind,
	.ttm_tt_destroy = vttm_tt_destroy,
	.eviction_valuable = ttm_bo_eviction_valuable,
	.evict_flags = vttm_evict_flags,
	.move_notify = vttm_move_notify,
	.swap_notify = vttm_swap_notify,
};

/* GEM objects */

static void vttm_gem_free(struct drm_gem_object *obj)
{
	ttm_bo_put(drm_gem_ttm_of_gem(obj));
}

static vm_fault_t vttm_vm_fault_reserved(struct vm_fault *vmf)
{
	struct vm_area_struct *vma = vmf->vma;
	struct ttm_buffer_object *tbo = vma->vm_private_data;
	struct ttm_operation_ctx ctx = { };

	/* A failure to unpopulate may have left the object without a table. */
	if (!tbo->ttm && vttm_validate(tbo, &to_vttm_bo(tbo)->place_system, false))
		return VM_FAULT_SIGBUS;

	/* TTM would answer each error with VM_FAULT_OOM. */
	if (ttm_tt_populate(tbo->bdev, tbo->ttm, &ctx))
		return VM_FAULT_SIGBUS;

	return ttm_bo_vm_fault_reserved(vmf, vma->vm_page_prot, TTM_BO_VM_NUM_PREFAULT, 1);
}

static vm_fault_t vttm_vm_fault(struct vm_fault *vmf)
{
	struct ttm_buffer_object *tbo = vmf->vma->vm_private_data;
	vm_fault_t ret;
	int idx;

	ret = ttm_bo_vm_reserve(tbo, vmf);
	if (ret)
		return ret;

	ret = VM_FAULT_SIGBUS;
	if (drm_dev_enter(tbo->base.dev, &idx)) {
		ret = vttm_vm_fault_reserved(vmf);
		drm_dev_exit(idx);
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

static int vttm_gem_mmap(struct drm_gem_object *obj, struct vm_area_struct *vma)
{
	int ret;

	ret = drm_gem_ttm_mmap(obj, vma);
	if (!ret)
		vma->vm_ops = &vttm_vm_ops;
	return ret;
}

static const struct drm_gem_object_funcs vttm_gem_funcs = {
	.free = vttm_gem_free,
	.mmap = vttm_gem_mmap,
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

static u32 vttm_place_flags(u32 caching)
{
	switch (caching) {
	case DRM_VTTM_CACHING_WRITE_COMBINED:
		return TTM_PL_FLAG_WC;
	case DRM_VTTM_CACHING_UNCACHED:
		return TTM_PL_FLAG_UNCACHED;
	default:
		return TTM_PL_FLAG_CACHED;
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
	struct ttm_bo_device *bdev = &vttm->ttm->bdev;
	struct ttm_placement placement;
	struct vttm_bo *bo;
	size_t acc_size;
	int ret;

	bo = kzalloc(sizeof(*bo), GFP_KERNEL);
	if (!bo)
		return ERR_PTR(-ENOMEM);

	bo->flags = flags;
	bo->place_system.mem_type = TTM_PL_SYSTEM;
	bo->place_system.flags = vttm_place_flags(caching);
	bo->place_tt.mem_type = TTM_PL_TT;
	bo->place_tt.flags = vttm_place_flags(caching);
	INIT_LIST_HEAD(&bo->node);
	drm_gem_private_object_init(&vttm->drm, &bo->tbo.base, size);
	bo->tbo.base.funcs = &vttm_gem_funcs;
	atomic_long_inc(&vttm->nr_objects);

	/* Calls vttm_bo_destroy() if it fails. */
	vttm_placement_init(&placement, &bo->place_system);
	acc_size = ttm_bo_dma_acc_size(bdev, size, sizeof(*bo));
	ret = ttm_bo_init_reserved(bdev, &bo->tbo, size, ttm_bo_type_device, &placement, 0,
				   &ctx, acc_size, NULL, NULL, vttm_bo_destroy);
	if (ret)
		return ERR_PTR(ret);

	spin_lock(&vttm->lock);
	list_add_tail(&bo->node, &vttm->objects);
	spin_unlock(&vttm->lock);

	ttm_bo_unreserve(&bo->tbo);
	return &bo->tbo.base;
}

static void vttm_layout_chunk(struct vttm_layout *layout, const struct vttm_tt *tt,
			      unsigned long i, unsigned int order)
{
	struct drm_vttm_chunk *chunk;
	u64 first = tt->base.dma_address[i];
	u64 last = first + (PAGE_SIZE << order) - 1;

	if (layout->nr_chunks < layout->room) {
		chunk = &layout->chunks[layout->nr_chunks];
		chunk->pfn = page_to_pfn(tt->base.ttm.pages[i]);
		chunk->dma_addr = first;
		chunk->order = order;
	}
	layout->nr_chunks++;
	layout->orders[order]++;
	layout->dma_low = min(layout->dma_low, first);
	layout->dma_high = max(layout->dma_high, last);
}

static void vttm_layout_coherent(struct vttm_layout *layout, const struct vttm_tt *tt)
{
	unsigned long num_pages = tt->base.ttm.num_pages;
	struct vttm_dma_page *dma_page;
	unsigned int order;
	unsigned long i = 0;

	list_for_each_entry(dma_page, &tt->base.pages_list, node) {
		order = dma_page->vaddr & VTTM_DMA_PAGE_HUGE ? VTTM_HUGE_ORDER : 0;
		if (WARN_ON_ONCE(i + (1UL << order) > num_pages ||
				 dma_page->page != tt->base.ttm.pages[i]))
			return;
		vttm_layout_chunk(layout, tt, i, order);
		i += 1UL << order;
	}
}

static void vttm_layout_pages(struct ttm_buffer_object *tbo, struct vttm_layout *layout)
{
	const struct vttm_tt *tt = to_vttm_tt(tbo->ttm);
	unsigned long i;

	layout->dma_low = U64_MAX;
	if (tt->vttm->config.coherent) {
		vttm_layout_coherent(layout, tt);
		return;
	}
	for (i = 0; i < tt->base.ttm.num_pages; i++)
		vttm_layout_chunk(layout, tt, i, 0);
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
	if (tbo->mem.mem_type == TTM_PL_TT)
		layout->domain = DRM_VTTM_DOMAIN_TT;
	if (tbo->ttm && tbo->ttm->page_flags & TTM_PAGE_FLAG_SWAPPED)
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
	ret = vttm_validate(tbo, &to_vttm_bo(tbo)->place_tt, true);
	if (!ret && !populated) {
		*ns = to_vttm_tt(tbo->ttm)->ns;
		vttm_layout_pages(tbo, layout);
	}

	ttm_bo_unreserve(tbo);
	return ret;
}

/* Give the pages of a reserved object back. */
static int vttm_drop_pages(struct ttm_buffer_object *tbo)
{
	struct ttm_placement nowhere = { };
	struct ttm_operation_ctx ctx = { };
	u32 flags = to_vttm_bo(tbo)->place_system.flags;
	int ret;

	/* TTM leaves that to the driver when an object is not moved. */
	ttm_bo_unmap_virtual(tbo);
	ret = ttm_bo_validate(tbo, &nowhere, &ctx);

	/* TTM forgot how the object is cached. */
	tbo->mem.placement = flags;
	if (tbo->ttm)
		ttm_tt_set_placement_caching(tbo->ttm, flags);
	return ret;
}

/**
 * vttm_bo_unpopulate() - take the pages from an object
 * @obj: object
 * @ns: time that TTM took, if it had to take any pages
 * @layout: pages that the pool took, if any
 *
 * Return: 0 or an error of ttm_bo_validate().
 */
int vttm_bo_unpopulate(struct drm_gem_object *obj, u64 *ns, struct vttm_layout *layout)
{
	struct ttm_buffer_object *tbo = drm_gem_ttm_of_gem(obj);
	u64 start;
	int ret;

	ret = ttm_bo_reserve(tbo, true, false, NULL);
	if (ret)
		return ret;

	if (vttm_tbo_populated(tbo)) {
		vttm_layout_pages(tbo, layout);
		start = ktime_get_ns();
		ret = vttm_drop_pages(tbo);
		*ns = ktime_get_ns() - start;
	}

	ttm_bo_unreserve(tbo);
	return ret;
}

/* The device */

static void vttm_pools_init(struct vttm_device *vttm)
{
	vttm->ttm->group = devres_open_group(vttm->drm.dev, NULL, GFP_KERNEL);
}

static void vttm_pools_fini(struct vttm_device *vttm)
{
	if (vttm->ttm->group)
		devres_release_group(vttm->drm.dev, vttm->ttm->group);
}

/**
 * vttm_ttm_drain() - free the pages that the pools keep
 * @vttm: device
 *
 * Return: 0, -EBUSY while an object has pages, -EOPNOTSUPP for a plain pool,
 * -ENOMEM if an earlier call left no memory for it.
 */
int vttm_ttm_drain(struct vttm_device *vttm)
{
	int ret = 0;

	if (!vttm->config.coherent)
		return -EOPNOTSUPP;
	if (atomic_cmpxchg(&vttm->populated, 0, -1))
		return -EBUSY;

	if (!vttm->ttm->group)
		ret = -ENOMEM;
	vttm_pools_fini(vttm);
	vttm_pools_init(vttm);

	atomic_set(&vttm->populated, 0);
	wake_up_all(&vttm->unused);
	return ret;
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
		tbo = ttm_bo_get_unless_zero(&bo->tbo);
		if (tbo)
			break;
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
			vttm_drop_pages(tbo);
		dma_resv_unlock(tbo->base.resv);
		ttm_bo_put(tbo);
	}

	spin_lock(&vttm->lock);
	list_splice(&done, &vttm->objects);
	spin_unlock(&vttm->lock);

	/* Objects that are being destroyed give their pages back by themselves. */
	do {
		wait_event(vttm->unused, !atomic_read(&vttm->populated));
	} while (atomic_cmpxchg(&vttm->populated, 0, -1));

	vttm_pools_fini(vttm);
}

/**
 * vttm_ttm_swapout() - swap out the object that was used least recently
 * @vttm: device
 *
 * May be called from a shrinker: waits for no reservation. TTM keeps one list
 * for all devices, so it may be the object of another.
 *
 * Return: number of pages that were freed, 0 if there is nothing to swap out.
 */
unsigned long vttm_ttm_swapout(struct vttm_device *vttm)
{
	struct ttm_operation_ctx ctx = { .no_wait_gpu = true };
	long before = atomic_long_read(&vttm->nr_pages);

	if (ttm_bo_swapout(&ttm_bo_glob, &ctx))
		return 0;
	return max(before - atomic_long_read(&vttm->nr_pages), 1L);
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
	if (vttm->config.coherent)
		return ttm_dma_page_alloc_debugfs(m, NULL);
	return ttm_page_alloc_debugfs(m, NULL);
}

/**
 * vttm_ttm_init() - set TTM up for a device
 * @vttm: device
 *
 * Return: 0, -ENOMEM, or -EOPNOTSUPP for a coherent pool in a kernel without.
 */
int vttm_ttm_init(struct vttm_device *vttm)
{
	struct drm_device *drm = &vttm->drm;
	struct vttm_ttm *ttm;
	int ret;

	if (vttm->config.coherent && !IS_ENABLED(CONFIG_DRM_TTM_DMA_PAGE_POOL))
		return -EOPNOTSUPP;

	ttm = kzalloc(sizeof(*ttm), GFP_KERNEL);
	if (!ttm)
		return -ENOMEM;

	ret = ttm_bo_device_init(&ttm->bdev, &vttm_ttm_driver, drm->anon_inode->i_mapping,
				 drm->vma_offset_manager, false);
	if (ret)
		goto err_free;
	ret = ttm_range_man_init(&ttm->bdev, TTM_PL_TT, true,
				 vttm_tt_size(vttm) >> PAGE_SHIFT);
	if (ret)
		goto err_bdev;

	vttm->ttm = ttm;
	vttm_pools_init(vttm);
	return 0;

err_bdev:
	ttm_bo_device_release(&ttm->bdev);
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
	ttm_bo_device_release(&ttm->bdev);
	kfree(ttm);
}

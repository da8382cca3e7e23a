// SPDX-License-Identifier: GPL-2.0-only
/*
 * The ioctls of include/uapi/drm/vttm_drm.h. All that user space sends is
 * checked here; what is behind the objects is the business of vttm_ttm*.c.
 */

#include <linux/capability.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_vma_manager.h>

#include "vttm_drv.h"

#define VTTM_CREATE_FLAGS	(DRM_VTTM_CREATE_DMA32 | DRM_VTTM_CREATE_ZEROED)

static int vttm_ioctl_create(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vttm_device *vttm = to_vttm(drm);
	struct drm_vttm_create *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (args->pad || args->flags & ~VTTM_CREATE_FLAGS ||
	    args->caching > DRM_VTTM_CACHING_UNCACHED)
		return -EINVAL;
	if (!args->size || args->size > vttm_tt_size(vttm))
		return -EINVAL;
	/* Pages that are not cleared hold data of others. */
	if (!(args->flags & DRM_VTTM_CREATE_ZEROED) && !capable(CAP_SYS_ADMIN))
		return -EPERM;

	obj = vttm_bo_create(vttm, PAGE_ALIGN(args->size), args->flags, args->caching);
	if (IS_ERR(obj))
		return PTR_ERR(obj);

	args->size = obj->size;
	ret = drm_gem_handle_create(file, obj, &args->handle);
	drm_gem_object_put(obj);
	return ret;
}

static int vttm_ioctl_mmap(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vttm_mmap *args = data;
	struct drm_gem_object *obj;

	if (args->pad)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;

	args->offset = drm_vma_node_offset_addr(&obj->vma_node);
	drm_gem_object_put(obj);
	return 0;
}

typedef int (*vttm_populate_fn)(struct drm_gem_object *obj, u64 *ns,
				struct vttm_layout *layout);

/* Populate or unpopulate an object and report what the pool did. */
static int vttm_repopulate(struct drm_device *drm, struct drm_file *file,
			   struct drm_vttm_populate *args, vttm_populate_fn fn)
{
	struct vttm_layout layout = { };
	struct drm_gem_object *obj;
	int ret = -ENODEV;
	u64 ns = 0;
	int idx;

	if (args->pad)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;

	if (drm_dev_enter(drm, &idx)) {
		ret = fn(obj, &ns, &layout);
		drm_dev_exit(idx);
	}
	if (!ret) {
		args->ns = ns;
		args->pages = layout.nr_chunks ? obj->size >> PAGE_SHIFT : 0;
		memcpy(args->chunks, layout.orders, sizeof(args->chunks));
	}
	drm_gem_object_put(obj);
	return ret;
}

static int vttm_ioctl_populate(struct drm_device *drm, void *data, struct drm_file *file)
{
	return vttm_repopulate(drm, file, data, vttm_bo_populate);
}

static int vttm_ioctl_unpopulate(struct drm_device *drm, void *data, struct drm_file *file)
{
	return vttm_repopulate(drm, file, data, vttm_bo_unpopulate);
}

/* Addresses tell an attacker where to aim, hence the rule of /proc/PID/pagemap. */
static void vttm_hide_addresses(struct vttm_layout *layout)
{
	u32 i;

	layout->dma_low = 0;
	layout->dma_high = 0;
	for (i = 0; i < min(layout->nr_chunks, layout->room); i++) {
		layout->chunks[i].pfn = 0;
		layout->chunks[i].dma_addr = 0;
	}
}

static int vttm_info(struct drm_gem_object *obj, struct drm_vttm_info *args)
{
	struct vttm_layout layout = {};
	u32 filled;
	int ret;

	/* No object has more chunks than pages. */
	layout.room = min_t(u64, args->nr_chunks, obj->size >> PAGE_SHIFT);
	if (layout.room) {
		layout.chunks = kvcalloc(layout.room, sizeof(*layout.chunks), GFP_KERNEL);
		if (!layout.chunks)
			return -ENOMEM;
	}

	ret = vttm_bo_layout(obj, &layout);
	if (ret)
		goto out;

	if (capable(CAP_SYS_ADMIN))
		layout.flags |= DRM_VTTM_INFO_ADDRESSES;
	else
		vttm_hide_addresses(&layout);

	/*
	 * Not while the object is reserved: the destination may be a mapping of
	 * this very object.
	 */
	filled = min(layout.nr_chunks, layout.room);
	if (filled && copy_to_user(u64_to_user_ptr(args->chunks_ptr), layout.chunks,
				   filled * sizeof(*layout.chunks))) {
		ret = -EFAULT;
		goto out;
	}

	args->size = obj->size;
	args->domain = layout.domain;
	args->flags = layout.flags;
	args->dma_low = layout.dma_low;
	args->dma_high = layout.dma_high;
	memcpy(args->chunks, layout.orders, sizeof(args->chunks));
	args->nr_chunks = layout.nr_chunks;

out:
	kvfree(layout.chunks);
	return ret;
}

static int vttm_ioctl_info(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vttm_info *args = data;
	struct drm_gem_object *obj;
	int ret;

	if (args->pad || args->pad2)
		return -EINVAL;

	obj = drm_gem_object_lookup(file, args->handle);
	if (!obj)
		return -ENOENT;

	ret = vttm_info(obj, args);
	drm_gem_object_put(obj);
	return ret;
}

static int vttm_ioctl_device(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct vttm_device *vttm = to_vttm(drm);
	struct drm_vttm_device *args = data;

	*args = (struct drm_vttm_device) {
		.flags = (vttm->config.coherent ? DRM_VTTM_DEVICE_COHERENT : 0) |
			 (vttm->config.own_cma ? DRM_VTTM_DEVICE_OWN_CMA : 0),
		.dma_bits = vttm->config.dma_bits,
		.node = vttm->config.node,
		.tt_size = vttm_tt_size(vttm),
		.objects = atomic_long_read(&vttm->nr_objects),
		.pages = atomic_long_read(&vttm->nr_pages),
		.populates = atomic_long_read(&vttm->nr_populates),
		.evictions = atomic_long_read(&vttm->nr_evictions),
		.swapouts = atomic_long_read(&vttm->nr_swapouts),
	};
	return 0;
}

static int vttm_ioctl_drain(struct drm_device *drm, void *data, struct drm_file *file)
{
	struct drm_vttm_drain *args = data;
	int ret = -ENODEV;
	int idx;

	if (args->flags || args->pad)
		return -EINVAL;

	if (drm_dev_enter(drm, &idx)) {
		ret = vttm_ttm_drain(to_vttm(drm));
		drm_dev_exit(idx);
	}
	return ret;
}

const struct drm_ioctl_desc vttm_ioctls[] = {
	DRM_IOCTL_DEF_DRV(VTTM_CREATE, vttm_ioctl_create, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_MMAP, vttm_ioctl_mmap, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_POPULATE, vttm_ioctl_populate, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_UNPOPULATE, vttm_ioctl_unpopulate, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_INFO, vttm_ioctl_info, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_DEVICE, vttm_ioctl_device, DRM_RENDER_ALLOW),
	DRM_IOCTL_DEF_DRV(VTTM_DRAIN, vttm_ioctl_drain, DRM_RENDER_ALLOW),
};

const unsigned int vttm_nr_ioctls = ARRAY_SIZE(vttm_ioctls);

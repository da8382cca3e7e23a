/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * vttm is a virtual device whose only purpose is that the buffer objects and
 * the page pool of TTM can be driven from user space on any machine. These are
 * its ioctls; Documentation/gpu/vttm.rst shows how they are used.
 *
 * All of them may be called on a render node. Each field says its direction,
 * (in) or (out), and its unit. A flag that is not defined here, a padding that
 * is not 0 and a value out of range are answered with EINVAL, a handle that
 * does not exist with ENOENT, a device that was removed with ENODEV.
 */
#ifndef _UAPI_VTTM_DRM_H_
#define _UAPI_VTTM_DRM_H_

#include "drm.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* Number of page orders that are told apart; a kernel may use fewer. */
#define DRM_VTTM_ORDERS			16

/* How the CPU sees the pages of an object. */
#define DRM_VTTM_CACHING_CACHED		0
#define DRM_VTTM_CACHING_WRITE_COMBINED	1
#define DRM_VTTM_CACHING_UNCACHED	2

/*
 * Ask TTM for pages below 4 GiB. The coherent pool leaves the zone to the DMA
 * API, which looks at the mask of the device and not at this flag.
 */
#define DRM_VTTM_CREATE_DMA32		(1 << 0)
/* Pages are zero when first seen. Without it the caller needs CAP_SYS_ADMIN. */
#define DRM_VTTM_CREATE_ZEROED		(1 << 1)

/**
 * struct drm_vttm_create - make a buffer object that has no pages yet
 * @size: (in) bytes, 1 to &drm_vttm_device.tt_size; (out) bytes, in whole pages
 * @flags: (in) mask of DRM_VTTM_CREATE_*
 * @caching: (in) one of DRM_VTTM_CACHING_*
 * @handle: (out) GEM handle
 * @pad: (in) 0
 *
 * Errors: EPERM without %DRM_VTTM_CREATE_ZEROED and CAP_SYS_ADMIN, ENOMEM.
 */
struct drm_vttm_create {
	__u64 size;
	__u32 flags;
	__u32 caching;
	__u32 handle;
	__u32 pad;
};

/**
 * struct drm_vttm_mmap - where to map an object
 * @handle: (in) GEM handle
 * @pad: (in) 0
 * @offset: (out) bytes, for mmap() on the device's file
 *
 * Touching an object that has no pages gives it all its pages at once, in
 * %DRM_VTTM_DOMAIN_SYSTEM.
 */
struct drm_vttm_mmap {
	__u32 handle;
	__u32 pad;
	__u64 offset;
};

/**
 * struct drm_vttm_populate - give an object its pages, or take them away
 * @handle: (in) GEM handle
 * @pad: (in) 0
 * @ns: (out) nanoseconds spent in TTM's pool, 0 if there was nothing to do
 * @pages: (out) pages that the pool gave or took, 0 if there was nothing to do
 * @chunks: (out) how many allocations of each order these pages were
 *
 * %DRM_IOCTL_VTTM_POPULATE moves the object to %DRM_VTTM_DOMAIN_TT, as a driver
 * does before the GPU uses it; that may evict others. Errors: ENOMEM when there
 * are no pages (or, with all else evicted, no room in the domain), EFAULT when
 * a plain pool could not map the pages for the device, EINTR.
 *
 * %DRM_IOCTL_VTTM_UNPOPULATE gives the pages back to the pool; the contents are
 * lost, mappings stay valid. An object that is swapped out is left alone.
 * Errors: EINTR, ENOMEM.
 */
struct drm_vttm_populate {
	__u32 handle;
	__u32 pad;
	__u64 ns;
	__u64 pages;
	__u32 chunks[DRM_VTTM_ORDERS];
};

/* Where an object is. */
#define DRM_VTTM_DOMAIN_SYSTEM		0	/* not visible to the device */
#define DRM_VTTM_DOMAIN_TT		1	/* in the device's translation table */

/* The object has pages. */
#define DRM_VTTM_INFO_POPULATED		(1 << 0)
/* The object's contents are in swap. */
#define DRM_VTTM_INFO_SWAPPED		(1 << 1)
/* The caller has CAP_SYS_ADMIN: addresses are filled in. */
#define DRM_VTTM_INFO_ADDRESSES		(1 << 2)

/**
 * struct drm_vttm_chunk - pages that one allocation returned
 * @pfn: (out) page frame number of the first page, 0 without CAP_SYS_ADMIN
 * @dma_addr: (out) bus address of the first page, 0 without CAP_SYS_ADMIN
 * @order: (out) log2 of the number of pages
 * @pad: (out) 0
 */
struct drm_vttm_chunk {
	__u64 pfn;
	__u64 dma_addr;
	__u32 order;
	__u32 pad;
};

/**
 * struct drm_vttm_info - what is behind an object
 * @handle: (in) GEM handle
 * @pad: (in) 0
 * @size: (out) bytes
 * @domain: (out) one of DRM_VTTM_DOMAIN_*
 * @flags: (out) mask of DRM_VTTM_INFO_*
 * @dma_low: (out) lowest bus address of the object, 0 without CAP_SYS_ADMIN
 * @dma_high: (out) highest bus address (last byte), 0 without CAP_SYS_ADMIN
 * @chunks: (out) number of chunks of each order
 * @nr_chunks: (in) room for that many at @chunks_ptr; (out) number of chunks
 *	of the object, which may be more or less
 * @pad2: (in) 0
 * @chunks_ptr: (in) user address of an array of &struct drm_vttm_chunk, which
 *	is filled in the order of the pages; ignored when @nr_chunks is 0
 *
 * Kernels before 5.11 keep no order of the pages of a plain pool. There each
 * page is a chunk of order 0.
 *
 * Errors: EFAULT, EINTR, ENOMEM.
 */
struct drm_vttm_info {
	__u32 handle;
	__u32 pad;
	__u64 size;
	__u32 domain;
	__u32 flags;
	__u64 dma_low;
	__u64 dma_high;
	__u32 chunks[DRM_VTTM_ORDERS];
	__u32 nr_chunks;
	__u32 pad2;
	__u64 chunks_ptr;
};

/* The pool allocates through the DMA API (coherent memory). */
#define DRM_VTTM_DEVICE_COHERENT	(1 << 0)
/* The device has a contiguous memory area assigned to it. */
#define DRM_VTTM_DEVICE_OWN_CMA		(1 << 1)

/**
 * struct drm_vttm_device - configuration and counters of the device
 * @flags: (out) mask of DRM_VTTM_DEVICE_*
 * @dma_bits: (out) width of the DMA mask
 * @node: (out) NUMA node, -1 for none
 * @pad: (out) 0
 * @tt_size: (out) bytes that fit in %DRM_VTTM_DOMAIN_TT
 * @objects: (out) objects that exist now
 * @pages: (out) pages in objects now, without those that the pool keeps
 * @populates: (out) how often an object got its pages since the device was made
 * @evictions: (out) how often an object was moved out of %DRM_VTTM_DOMAIN_TT to
 *	make room
 * @swapouts: (out) how often an object was swapped out
 *
 * @objects and @pages are back at 0 when no one uses the device: leaks show.
 */
struct drm_vttm_device {
	__u32 flags;
	__u32 dma_bits;
	__s32 node;
	__u32 pad;
	__u64 tt_size;
	__u64 objects;
	__u64 pages;
	__u64 populates;
	__u64 evictions;
	__u64 swapouts;
};

/**
 * struct drm_vttm_drain - free the pages that the device's pool keeps
 * @flags: (in) 0
 * @pad: (in) 0
 *
 * The next populate is a cold one.
 *
 * Errors: EBUSY while an object has pages; EOPNOTSUPP for a plain pool, whose
 * pages belong to all devices; ENOMEM.
 */
struct drm_vttm_drain {
	__u32 flags;
	__u32 pad;
};

#define DRM_VTTM_CREATE			0x00
#define DRM_VTTM_MMAP			0x01
#define DRM_VTTM_POPULATE		0x02
#define DRM_VTTM_UNPOPULATE		0x03
#define DRM_VTTM_INFO			0x04
#define DRM_VTTM_DEVICE			0x05
#define DRM_VTTM_DRAIN			0x06

#define DRM_IOCTL_VTTM_CREATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTTM_CREATE, struct drm_vttm_create)
#define DRM_IOCTL_VTTM_MMAP \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTTM_MMAP, struct drm_vttm_mmap)
#define DRM_IOCTL_VTTM_POPULATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTTM_POPULATE, struct drm_vttm_populate)
#define DRM_IOCTL_VTTM_UNPOPULATE \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTTM_UNPOPULATE, struct drm_vttm_populate)
#define DRM_IOCTL_VTTM_INFO \
	DRM_IOWR(DRM_COMMAND_BASE + DRM_VTTM_INFO, struct drm_vttm_info)
#define DRM_IOCTL_VTTM_DEVICE \
	DRM_IOR(DRM_COMMAND_BASE + DRM_VTTM_DEVICE, struct drm_vttm_device)
#define DRM_IOCTL_VTTM_DRAIN \
	DRM_IOW(DRM_COMMAND_BASE + DRM_VTTM_DRAIN, struct drm_vttm_drain)

#if defined(__cplusplus)
}
#endif

#endif

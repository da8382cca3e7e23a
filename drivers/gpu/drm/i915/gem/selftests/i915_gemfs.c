// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pages behind objects in i915's own tmpfs, as the kernel sees them. For v5.10,
 * where VT-d is active for the whole machine or not at all.
 */

#include <linux/pagemap.h>
#include <linux/sizes.h>

#include "gem/i915_gemfs.h"
#include "i915_selftest.h"

#include "selftests/mock_gem_device.h"

static bool igt_expects_huge(void)
{
	return IS_ENABLED(CONFIG_TRANSPARENT_HUGEPAGE) &&
		has_transparent_hugepage() && intel_vtd_active();
}

/* Small pages of the object that are part of a huge one. */
static pgoff_t igt_count_huge(struct drm_i915_gem_object *obj)
{
	struct address_space *mapping = obj->base.filp->f_mapping;
	pgoff_t index, huge = 0;

	for (index = 0; index < obj->base.size >> PAGE_SHIFT; index++) {
		struct page *page = find_get_page(mapping, index);

		if (!page)
			continue;
		huge += PageTransCompound(page);
		put_page(page);
	}
	return huge;
}

static int igt_check_object(struct drm_i915_private *i915, u64 size)
{
	pgoff_t expected = igt_expects_huge() && size >= SZ_2M ? size >> PAGE_SHIFT : 0;
	struct drm_i915_gem_object *obj;
	pgoff_t huge;
	int err;

	obj = i915_gem_object_create_shmem(i915, size);
	if (IS_ERR(obj))
		return PTR_ERR(obj);

	err = i915_gem_object_pin_pages(obj);
	if (err)
		goto out_put;

	huge = igt_count_huge(obj);
	if (huge != expected) {
		pr_err("%llu KiB: %lu of its pages are in huge ones, not %lu\n",
		       size >> 10, huge, expected);
		err = -EINVAL;
	}
	i915_gem_object_unpin_pages(obj);
out_put:
	i915_gem_object_put(obj);
	return err;
}

/* A tail takes a huge page of its own in this kernel. */
static int igt_gemfs_pages(void *arg)
{
	static const u64 sizes[] = {
		SZ_4K, SZ_64K, SZ_2M, SZ_2M + SZ_4K, SZ_4M, SZ_16M,
	};
	struct drm_i915_private *i915 = arg;
	unsigned int i;
	int err;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		err = igt_check_object(i915, sizes[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The mount parses its options in place: a second one must find them whole. */
static int igt_gemfs_mount_again(void *arg)
{
	struct drm_i915_private *i915 = arg;
	int round, err;

	for (round = 0; round < 3; round++) {
		i915_gemfs_fini(i915);
		i915->mm.gemfs = NULL;
		err = i915_gemfs_init(i915);
		if (err)
			return err;
		err = igt_check_object(i915, SZ_4M);
		if (err)
			return err;
	}
	return 0;
}

/* Without a mount of its own i915 uses the kernel's, and has nothing to give back. */
static int igt_gemfs_none(void *arg)
{
	struct drm_i915_private *i915 = arg;
	struct vfsmount *gemfs = i915->mm.gemfs;
	struct drm_i915_gem_object *obj;
	int err;

	i915->mm.gemfs = NULL;
	i915_gemfs_fini(i915);

	obj = i915_gem_object_create_shmem(i915, SZ_4M);
	if (IS_ERR(obj)) {
		err = PTR_ERR(obj);
		goto out;
	}
	err = i915_gem_object_pin_pages(obj);
	if (!err) {
		if (igt_count_huge(obj)) {
			pr_err("huge pages without a mount for them\n");
			err = -EINVAL;
		}
		i915_gem_object_unpin_pages(obj);
	}
	i915_gem_object_put(obj);
out:
	i915->mm.gemfs = gemfs;
	return err;
}

int i915_gemfs_mock_selftests(void)
{
	static const struct i915_subtest tests[] = {
		SUBTEST(igt_gemfs_pages),
		SUBTEST(igt_gemfs_mount_again),
		SUBTEST(igt_gemfs_none),
	};
	struct drm_i915_private *i915;
	int err;

	i915 = mock_gem_device();
	if (!i915)
		return -ENOMEM;

	err = i915_subtests(tests, i915);

	mock_destroy_device(i915);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * vttm: a virtual device on TTM, see Documentation/gpu/vttm.rst.
 *
 * A device is a platform device that the module makes (one at load, more by
 * configfs), or a PCI function that was given to it with driver_override, so
 * that its memory goes through an IOMMU. A device that goes away takes the
 * pages of all objects with it; objects, files and mappings stay behind empty
 * until their owners let go, as with any DRM device that is unplugged.
 */

#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <linux/nodemask.h>
#include <linux/pci.h>
#include <linux/platform_device.h>

#include <drm/drm_debugfs.h>
#include <drm/drm_drv.h>
#include <drm/drm_file.h>
#include <drm/drm_managed.h>

#include "vttm_compat.h"
#include "vttm_drv.h"

/*
 * The arrays of page pointers and bus addresses of the largest object stay
 * below 64 MiB.
 */
#define VTTM_MAX_TT_MIB		16384

static bool default_device = true;
module_param(default_device, bool, 0444);
MODULE_PARM_DESC(default_device, "Make a device when the module is loaded (default: true)");

static unsigned int dma_bits = 64;
module_param(dma_bits, uint, 0444);
MODULE_PARM_DESC(dma_bits, "Width of the DMA mask, 24 to 64 (default: 64)");

static bool coherent = true;
module_param(coherent, bool, 0444);
MODULE_PARM_DESC(coherent, "The pool allocates through the DMA API (default: true)");

static int node = NUMA_NO_NODE;
module_param(node, int, 0444);
MODULE_PARM_DESC(node, "NUMA node of the device, -1 for none (default: -1)");

static bool own_cma;
module_param(own_cma, bool, 0444);
MODULE_PARM_DESC(own_cma, "Assign the contiguous memory area to the device (default: false)");

static unsigned int tt_mib = 256;
module_param(tt_mib, uint, 0444);
MODULE_PARM_DESC(tt_mib, "MiB that the translation table holds, 1 to 16384 (default: 256)");

static struct vttm_device *vttm_default;

void vttm_config_default(struct vttm_config *config)
{
	config->dma_bits = dma_bits;
	config->coherent = coherent;
	config->node = node;
	config->own_cma = own_cma;
	config->tt_mib = tt_mib;
}

int vttm_config_check(const struct vttm_config *config)
{
	if (config->dma_bits < 24 || config->dma_bits > 64)
		return -EINVAL;
	if (config->node != NUMA_NO_NODE &&
	    (config->node < 0 || config->node >= MAX_NUMNODES || !node_online(config->node)))
		return -EINVAL;
	if (config->tt_mib < 1 || config->tt_mib > VTTM_MAX_TT_MIB)
		return -EINVAL;
	return 0;
}

/**
 * vttm_populate_begin() - an object is about to get its pages
 * @vttm: device
 *
 * Waits for vttm_ttm_drain(), which is not long.
 *
 * Return: false if no object gets pages any more because the device is gone.
 */
bool vttm_populate_begin(struct vttm_device *vttm)
{
	while (!READ_ONCE(vttm->gone)) {
		if (atomic_inc_unless_negative(&vttm->populated))
			return true;
		wait_event(vttm->unused, READ_ONCE(vttm->gone) ||
			   atomic_read(&vttm->populated) >= 0);
	}
	return false;
}

/**
 * vttm_populate_end() - an object has no pages, or did not get any
 * @vttm: device
 */
void vttm_populate_end(struct vttm_device *vttm)
{
	if (atomic_dec_and_test(&vttm->populated))
		wake_up_all(&vttm->unused);
}

#ifdef CONFIG_DMA_CMA
/*
 * What the DMA API sees is an area that belongs to the device. That it is the
 * default area, too, does not matter to it.
 */
static int vttm_assign_cma(struct device *dev)
{
	dev->cma_area = vttm_default_cma();
	return dev->cma_area ? 0 : -EOPNOTSUPP;
}
#else
static int vttm_assign_cma(struct device *dev)
{
	return -EOPNOTSUPP;
}
#endif

#if IS_ENABLED(CONFIG_DEBUG_FS)
static int vttm_debugfs_pool(struct seq_file *m, void *data)
{
	struct drm_info_node *info = m->private;

	return vttm_ttm_debugfs(to_vttm(info->minor->dev), m);
}

static const struct drm_info_list vttm_debugfs_files[] = {
	{ "vttm_page_pool", vttm_debugfs_pool },
};

static void vttm_debugfs_init(struct drm_minor *minor)
{
	drm_debugfs_create_files(vttm_debugfs_files, ARRAY_SIZE(vttm_debugfs_files),
				 minor->debugfs_root, minor);
}
#endif

DEFINE_DRM_GEM_FOPS(vttm_fops);

static struct drm_driver vttm_driver = {
	.driver_features = DRIVER_GEM | DRIVER_RENDER,
	.fops = &vttm_fops,
	.ioctls = vttm_ioctls,
#if IS_ENABLED(CONFIG_DEBUG_FS)
	.debugfs_init = vttm_debugfs_init,
#endif
	.name = "vttm",
	.desc = "Virtual TTM device",
	VTTM_DRIVER_DATE
	.major = 1,
	.minor = 0,
};

static void vttm_release(struct drm_device *drm, void *data)
{
	vttm_ttm_fini(to_vttm(drm));
}

static void vttm_init_state(struct vttm_device *vttm, const struct vttm_config *config)
{
	vttm->config = *config;
	spin_lock_init(&vttm->lock);
	INIT_LIST_HEAD(&vttm->objects);
	init_waitqueue_head(&vttm->unused);
}

/* Make @dev, whose DMA configuration is not set up yet, a vttm device. */
static struct vttm_device *vttm_create(struct device *dev, const struct vttm_config *config)
{
	struct vttm_device *vttm;
	int ret;

	ret = dma_set_mask_and_coherent(dev, DMA_BIT_MASK(config->dma_bits));
	if (ret)
		return ERR_PTR(ret);
	if (config->node != NUMA_NO_NODE)
		set_dev_node(dev, config->node);
	if (config->own_cma) {
		ret = vttm_assign_cma(dev);
		if (ret)
			return ERR_PTR(ret);
	}

	vttm = devm_drm_dev_alloc(dev, &vttm_driver, struct vttm_device, drm);
	if (IS_ERR(vttm))
		return vttm;
	vttm_init_state(vttm, config);

	ret = vttm_ttm_init(vttm);
	if (ret)
		return ERR_PTR(ret);
	ret = drmm_add_action(&vttm->drm, vttm_release, NULL);
	if (ret)
		goto err_fini;
	ret = vttm_shrinker_init(vttm);
	if (ret)
		goto err_unplug;
	ret = drm_dev_register(&vttm->drm, 0);
	if (ret)
		goto err_shrinker;

	return vttm;

err_shrinker:
	vttm_shrinker_fini(vttm);
err_unplug:
	vttm_ttm_unplug(vttm);
	return ERR_PTR(ret);

err_fini:
	vttm_ttm_unplug(vttm);
	vttm_ttm_fini(vttm);
	return ERR_PTR(ret);
}

static void vttm_remove(struct vttm_device *vttm)
{
	drm_dev_unplug(&vttm->drm);
	vttm_shrinker_fini(vttm);
	vttm_ttm_unplug(vttm);
}

/**
 * vttm_platform_create() - make a device
 * @config: what it is like
 *
 * Return: the device, or an error pointer: -EINVAL for a @config out of range,
 * -EIO for a DMA mask that the platform cannot serve, -EOPNOTSUPP when there is
 * no contiguous memory area to assign.
 */
struct vttm_device *vttm_platform_create(const struct vttm_config *config)
{
	struct platform_device *pdev;
	struct vttm_device *vttm;
	int ret;

	ret = vttm_config_check(config);
	if (ret)
		return ERR_PTR(ret);

	pdev = platform_device_register_simple("vttm", PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(pdev))
		return ERR_CAST(pdev);

	/* No driver is bound, so nobody else releases what devres manages. */
	if (!devres_open_group(&pdev->dev, vttm_platform_create, GFP_KERNEL)) {
		ret = -ENOMEM;
		goto err_unregister;
	}

	vttm = vttm_create(&pdev->dev, config);
	if (IS_ERR(vttm)) {
		ret = PTR_ERR(vttm);
		goto err_group;
	}
	vttm->platform = pdev;
	return vttm;

err_group:
	devres_release_group(&pdev->dev, vttm_platform_create);
err_unregister:
	platform_device_unregister(pdev);
	return ERR_PTR(ret);
}

/**
 * vttm_platform_destroy() - remove a device
 * @vttm: what vttm_platform_create() returned; not to be used any more
 */
void vttm_platform_destroy(struct vttm_device *vttm)
{
	struct platform_device *pdev = vttm->platform;

	vttm_remove(vttm);
	devres_release_group(&pdev->dev, vttm_platform_create);
	platform_device_unregister(pdev);
}

static int vttm_pci_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct vttm_config config;
	struct vttm_device *vttm;
	int ret;

	vttm_config_default(&config);
	ret = vttm_config_check(&config);
	if (ret)
		return ret;
	ret = pcim_enable_device(pdev);
	if (ret)
		return ret;
	pci_set_master(pdev);

	vttm = vttm_create(&pdev->dev, &config);
	if (IS_ERR(vttm))
		return PTR_ERR(vttm);
	pci_set_drvdata(pdev, vttm);
	return 0;
}

static void vttm_pci_remove(struct pci_dev *pdev)
{
	vttm_remove(pci_get_drvdata(pdev));
}

/* No table of devices: a function is only taken when driver_override says so. */
static struct pci_driver vttm_pci_driver = {
	.name = "vttm",
	.probe = vttm_pci_probe,
	.remove = vttm_pci_remove,
};

static int __init vttm_init(void)
{
	struct vttm_config config;
	int ret;

	vttm_driver.num_ioctls = vttm_nr_ioctls;

	ret = pci_register_driver(&vttm_pci_driver);
	if (ret)
		return ret;
	ret = vttm_configfs_init();
	if (ret)
		goto err_pci;
	if (!default_device)
		return 0;

	vttm_config_default(&config);
	vttm_default = vttm_platform_create(&config);
	if (IS_ERR(vttm_default)) {
		ret = PTR_ERR(vttm_default);
		goto err_configfs;
	}
	return 0;

err_configfs:
	vttm_configfs_exit();
err_pci:
	pci_unregister_driver(&vttm_pci_driver);
	return ret;
}

static void __exit vttm_exit(void)
{
	if (vttm_default)
		vttm_platform_destroy(vttm_default);
	vttm_configfs_exit();
	pci_unregister_driver(&vttm_pci_driver);
}

module_init(vttm_init);
module_exit(vttm_exit);

MODULE_DESCRIPTION("Virtual TTM device");
MODULE_LICENSE("GPL");

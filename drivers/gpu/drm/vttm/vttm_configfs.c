// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices made at run time: each folder in /sys/kernel/config/vttm is one. Its
 * attributes say what the device is like and cannot be changed while it exists;
 * writing 1 to "enabled" makes it, 0 or removing the folder removes it. "minor"
 * is the number of the render node, as in /dev/dri/renderDN.
 */

#include <linux/configfs.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include <drm/drm_file.h>

#include "vttm_drv.h"

/**
 * struct vttm_item - folder of a device
 * @group: base
 * @lock: protects what follows
 * @config: what the device is, or will be, like
 * @vttm: device, NULL while it does not exist
 */
struct vttm_item {
	struct config_group group;
	struct mutex lock;	/* protects config, vttm */
	struct vttm_config config;
	struct vttm_device *vttm;
};

static struct vttm_item *to_vttm_item(struct config_item *item)
{
	return container_of(to_config_group(item), struct vttm_item, group);
}

/* Take over @config unless it is bad or the device exists. */
static int vttm_item_configure(struct vttm_item *vi, const struct vttm_config *config)
{
	int ret;

	lockdep_assert_held(&vi->lock);

	if (vi->vttm)
		return -EBUSY;
	ret = vttm_config_check(config);
	if (ret)
		return ret;
	vi->config = *config;
	return 0;
}

#define VTTM_SHOW(name, format)							\
static ssize_t vttm_item_##name##_show(struct config_item *item, char *page)		\
{											\
	struct vttm_item *vi = to_vttm_item(item);					\
	ssize_t ret;									\
											\
	mutex_lock(&vi->lock);								\
	ret = sprintf(page, format "\n", vi->config.name);				\
	mutex_unlock(&vi->lock);							\
	return ret;									\
}

#define VTTM_STORE(name, type, parse)							\
static ssize_t vttm_item_##name##_store(struct config_item *item, const char *page,	\
					size_t count)					\
{											\
	struct vttm_item *vi = to_vttm_item(item);					\
	struct vttm_config config;							\
	type value;									\
	int ret;									\
											\
	ret = parse;									\
	if (ret)									\
		return ret;								\
											\
	mutex_lock(&vi->lock);								\
	config = vi->config;								\
	config.name = value;								\
	ret = vttm_item_configure(vi, &config);						\
	mutex_unlock(&vi->lock);							\
	return ret ? ret : count;							\
}

VTTM_SHOW(dma_bits, "%u")
VTTM_STORE(dma_bits, unsigned int, kstrtouint(page, 0, &value))
CONFIGFS_ATTR(vttm_item_, dma_bits);

VTTM_SHOW(coherent, "%d")
VTTM_STORE(coherent, bool, kstrtobool(page, &value))
CONFIGFS_ATTR(vttm_item_, coherent);

VTTM_SHOW(node, "%d")
VTTM_STORE(node, int, kstrtoint(page, 0, &value))
CONFIGFS_ATTR(vttm_item_, node);

VTTM_SHOW(own_cma, "%d")
VTTM_STORE(own_cma, bool, kstrtobool(page, &value))
CONFIGFS_ATTR(vttm_item_, own_cma);

VTTM_SHOW(tt_mib, "%u")
VTTM_STORE(tt_mib, unsigned int, kstrtouint(page, 0, &value))
CONFIGFS_ATTR(vttm_item_, tt_mib);

static int vttm_item_enable(struct vttm_item *vi, bool enable)
{
	struct vttm_device *vttm;

	lockdep_assert_held(&vi->lock);

	if (enable == !!vi->vttm)
		return 0;
	if (!enable) {
		vttm_platform_destroy(vi->vttm);
		vi->vttm = NULL;
		return 0;
	}

	vttm = vttm_platform_create(&vi->config);
	if (IS_ERR(vttm))
		return PTR_ERR(vttm);
	vi->vttm = vttm;
	return 0;
}

static ssize_t vttm_item_enabled_show(struct config_item *item, char *page)
{
	struct vttm_item *vi = to_vttm_item(item);
	bool enabled;

	mutex_lock(&vi->lock);
	enabled = vi->vttm;
	mutex_unlock(&vi->lock);
	return sprintf(page, "%d\n", enabled);
}

static ssize_t vttm_item_enabled_store(struct config_item *item, const char *page,
				       size_t count)
{
	struct vttm_item *vi = to_vttm_item(item);
	bool enable;
	int ret;

	ret = kstrtobool(page, &enable);
	if (ret)
		return ret;

	mutex_lock(&vi->lock);
	ret = vttm_item_enable(vi, enable);
	mutex_unlock(&vi->lock);
	return ret ? ret : count;
}
CONFIGFS_ATTR(vttm_item_, enabled);

static ssize_t vttm_item_minor_show(struct config_item *item, char *page)
{
	struct vttm_item *vi = to_vttm_item(item);
	int minor = -ENODEV;

	mutex_lock(&vi->lock);
	if (vi->vttm)
		minor = vi->vttm->drm.render->index;
	mutex_unlock(&vi->lock);
	return minor < 0 ? minor : sprintf(page, "%d\n", minor);
}
CONFIGFS_ATTR_RO(vttm_item_, minor);

static struct configfs_attribute *vttm_item_attrs[] = {
	&vttm_item_attr_dma_bits,
	&vttm_item_attr_coherent,
	&vttm_item_attr_node,
	&vttm_item_attr_own_cma,
	&vttm_item_attr_tt_mib,
	&vttm_item_attr_enabled,
	&vttm_item_attr_minor,
	NULL
};

static void vttm_item_release(struct config_item *item)
{
	kfree(to_vttm_item(item));
}

static struct configfs_item_operations vttm_item_ops = {
	.release = vttm_item_release,
};

static const struct config_item_type vttm_item_type = {
	.ct_item_ops = &vttm_item_ops,
	.ct_attrs = vttm_item_attrs,
	.ct_owner = THIS_MODULE,
};

static struct config_group *vttm_make_group(struct config_group *group, const char *name)
{
	struct vttm_item *vi;

	vi = kzalloc(sizeof(*vi), GFP_KERNEL);
	if (!vi)
		return ERR_PTR(-ENOMEM);

	mutex_init(&vi->lock);
	vttm_config_default(&vi->config);
	config_group_init_type_name(&vi->group, name, &vttm_item_type);
	return &vi->group;
}

static void vttm_drop_item(struct config_group *group, struct config_item *item)
{
	struct vttm_item *vi = to_vttm_item(item);

	mutex_lock(&vi->lock);
	vttm_item_enable(vi, false);
	mutex_unlock(&vi->lock);
	config_item_put(item);
}

static struct configfs_group_operations vttm_group_ops = {
	.make_group = vttm_make_group,
	.drop_item = vttm_drop_item,
};

static const struct config_item_type vttm_group_type = {
	.ct_group_ops = &vttm_group_ops,
	.ct_owner = THIS_MODULE,
};

static struct configfs_subsystem vttm_subsystem = {
	.su_group.cg_item = {
		.ci_namebuf = "vttm",
		.ci_type = &vttm_group_type,
	},
	.su_mutex = __MUTEX_INITIALIZER(vttm_subsystem.su_mutex),
};

int vttm_configfs_init(void)
{
	config_group_init(&vttm_subsystem.su_group);
	return configfs_register_subsystem(&vttm_subsystem);
}

void vttm_configfs_exit(void)
{
	configfs_unregister_subsystem(&vttm_subsystem);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The PCI function of an Intel GPU with nothing behind it.
 *
 * QEMU's ivshmem-plain in slot 2 of the root bus has a BAR with memory behind
 * it. This module takes that function away and answers the slot's configuration
 * space itself, as an Intel GPU whose registers are that memory: what i915
 * writes there it reads back. The function has to be there when QEMU starts,
 * because the IOMMU's tables are made then.
 *
 * Documentation/gpu/igdstub.rst
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/device.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/notifier.h>
#include <linux/pci.h>
#include <linux/rcupdate.h>
#include <linux/sizes.h>
#include <linux/spinlock.h>

#include <asm/cpufeature.h>

#include "igdstub_acks.h"

#define IGDSTUB_DEVFN		PCI_DEVFN(2, 0)

/* ivshmem-plain; no name in pci_ids.h. */
#define IVSHMEM_VENDOR		0x1af4
#define IVSHMEM_DEVICE		0x1110
#define IVSHMEM_MEMORY		2

#define CONFIG_BYTES		256
#define CONFIG_WORDS		(CONFIG_BYTES / sizeof(u32))
#define WORD(where)		((where) / sizeof(u32))

/* What an Intel GPU of any generation has: registers, and the aperture. */
#define REGISTERS		0
#define REGISTERS_SIZE		SZ_16M
#define REGISTERS_FLAGS		PCI_BASE_ADDRESS_MEM_TYPE_64
#define APERTURE		2
#define APERTURE_SIZE		SZ_256M
#define APERTURE_FLAGS		(PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH)

#define BAR(n)			(PCI_BASE_ADDRESS_0 + (n) * sizeof(u32))

/*
 * Graphics control, where version 6 and later find the size of the GTT, which
 * is the upper half of the registers. No memory is stolen for the GPU.
 */
#define GMCH_CTRL		0x50
#define GMCH_CTRL_GTT_8M	(3 << 6)

/* Tiger Lake's last stepping: i915 calls those before it pre-production. */
#define REVISION		3

/* Fuses that version 12 reads: one slice with six dual subslices. */
#define GT_SLICE_ENABLE		0x9138
#define GT_DSS_ENABLE		0x913c

/* And those of its display: every power gate has been set up. */
#define FUSE_STATUS		0x42000

/* The microcontroller has not been started. */
#define GUC_STATUS		0xc000
#define GUC_IN_RESET		0x1

#define IRONLAKE		0x0042

static ushort device = IRONLAKE;
module_param(device, ushort, 0444);
MODULE_PARM_DESC(device, "PCI device ID to show (default: 0x0042, Ironlake)");

static bool force;
module_param(force, bool, 0444);
MODULE_PARM_DESC(force, "Load where no hypervisor is seen (default: no)");

static struct igdstub {
	struct pci_bus *bus;
	struct pci_ops *bus_ops;	/* the bus' own */
	struct pci_ops ops;		/* the same, but for slot 2 */
	struct pci_dev *dev;		/* what i915 binds to */

	/* The function in the slot as it was found. */
	u32 bars[PCI_STD_RESOURCE_END + 1];
	u16 command;

	/* Configuration accesses come without a lock on x86. */
	raw_spinlock_t lock;
	u32 config[CONFIG_WORDS];
} stub;

/* Graphics version 5 reads no fuses, and waits for nothing that memory does not do. */
static bool __init is_plain(void)
{
	return device == IRONLAKE;
}

/* Accesses to the real function, behind the stub's back. */

static int real_read(int where, int size, u32 *value)
{
	return stub.bus_ops->read(stub.bus, IGDSTUB_DEVFN, where, size, value);
}

static int real_write(int where, int size, u32 value)
{
	return stub.bus_ops->write(stub.bus, IGDSTUB_DEVFN, where, size, value);
}

/* The configuration space that the stub shows. */

static u32 mask_of(int where, int size)
{
	u32 mask = size == 4 ? ~0U : (1U << (size * 8)) - 1;

	return mask << (where % 4 * 8);
}

/*
 * Command and status are the real function's: it has to decode its memory, and
 * it does the DMA as far as the IOMMU is concerned. It has no capabilities.
 */
static u32 stub_word(int where)
{
	u32 value;

	if (where != PCI_COMMAND)
		return stub.config[WORD(where)];
	if (real_read(PCI_COMMAND, 4, &value))
		return 0;
	return value & ~((u32)PCI_STATUS_CAP_LIST << 16);
}

/* A 64-bit BAR takes the address bits that its size leaves. */
static void set_bar(int where, u32 value, int bar, u32 size, u32 flags)
{
	bool upper = where != BAR(bar);

	stub.config[WORD(where)] = upper ? value : (value & -size) | flags;
}

static void stub_set_word(int where, u32 value)
{
	switch (where) {
	case PCI_COMMAND:
		real_write(PCI_COMMAND, 2, value & 0xffff);
		break;
	case BAR(REGISTERS):
	case BAR(REGISTERS + 1):
		set_bar(where, value, REGISTERS, REGISTERS_SIZE, REGISTERS_FLAGS);
		/* Both are of one size, so the memory sizes as the registers do. */
		real_write(where + BAR(IVSHMEM_MEMORY) - BAR(REGISTERS), 4, value);
		break;
	case BAR(APERTURE):
	case BAR(APERTURE + 1):
		set_bar(where, value, APERTURE, APERTURE_SIZE, APERTURE_FLAGS);
		break;
	case PCI_INTERRUPT_LINE:
		stub.config[WORD(where)] &= ~0xffU;
		stub.config[WORD(where)] |= value & 0xff;
		real_write(PCI_INTERRUPT_LINE, 1, value & 0xff);
		break;
	default:
		/* The rest is read only, as far as i915 can tell. */
		break;
	}
}

static bool is_access(int where, int size)
{
	return where >= 0 && where + size <= CONFIG_BYTES && where % size == 0;
}

static int stub_read(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 *value)
{
	unsigned long flags;

	if (bus != stub.bus || devfn != IGDSTUB_DEVFN)
		return stub.bus_ops->read(bus, devfn, where, size, value);

	*value = ~0U;
	if (!is_access(where, size))
		return PCIBIOS_BAD_REGISTER_NUMBER;

	raw_spin_lock_irqsave(&stub.lock, flags);
	*value = (stub_word(where & ~3) & mask_of(where, size)) >> (where % 4 * 8);
	raw_spin_unlock_irqrestore(&stub.lock, flags);

	return PCIBIOS_SUCCESSFUL;
}

static int stub_write(struct pci_bus *bus, unsigned int devfn, int where, int size, u32 value)
{
	u32 mask = mask_of(where, size);
	unsigned long flags;
	u32 word;

	if (bus != stub.bus || devfn != IGDSTUB_DEVFN)
		return stub.bus_ops->write(bus, devfn, where, size, value);

	if (!is_access(where, size))
		return PCIBIOS_BAD_REGISTER_NUMBER;

	raw_spin_lock_irqsave(&stub.lock, flags);
	word = stub_word(where & ~3) & ~mask;
	stub_set_word(where & ~3, word | (value << (where % 4 * 8) & mask));
	raw_spin_unlock_irqrestore(&stub.lock, flags);

	return PCIBIOS_SUCCESSFUL;
}

static void __init stub_init_config(const struct pci_dev *real)
{
	stub.config[WORD(PCI_VENDOR_ID)] = device << 16 | PCI_VENDOR_ID_INTEL;
	stub.config[WORD(PCI_CLASS_REVISION)] = PCI_CLASS_DISPLAY_VGA << 16 | REVISION;
	stub.config[WORD(BAR(REGISTERS))] = REGISTERS_FLAGS;
	stub.config[WORD(BAR(APERTURE))] = APERTURE_FLAGS;
	stub.config[WORD(PCI_SUBSYSTEM_VENDOR_ID)] = device << 16 | PCI_VENDOR_ID_INTEL;
	stub.config[WORD(GMCH_CTRL)] = GMCH_CTRL_GTT_8M;
	/* INTA#, routed as for any function in the slot. */
	stub.config[WORD(PCI_INTERRUPT_LINE)] = 1 << 8 | (real->irq & 0xff);
}

/* A driver that is bound to the stub keeps the module. */
static int stub_event(struct notifier_block *nb, unsigned long action, void *data)
{
	if (!stub.dev || data != &stub.dev->dev)
		return NOTIFY_DONE;

	switch (action) {
	case BUS_NOTIFY_BOUND_DRIVER:
		__module_get(THIS_MODULE);
		break;
	case BUS_NOTIFY_UNBOUND_DRIVER:
		module_put(THIS_MODULE);
		break;
	}
	return NOTIFY_OK;
}

static struct notifier_block stub_notifier = {
	.notifier_call = stub_event,
};

/*
 * Nobody is left in our configuration accesses when this returns, unless he was
 * preempted in the few instructions before or after them.
 */
static void set_ops(struct pci_ops *ops)
{
	pci_bus_set_ops(stub.bus, ops);
	synchronize_rcu();
}

/* Give each BAR that has no place yet one. */
static int assign_bars(struct pci_dev *dev)
{
	int bar, err;

	for (bar = 0; bar <= PCI_STD_RESOURCE_END; bar++) {
		struct resource *res = &dev->resource[bar];

		if (!res->flags || res->parent)
			continue;
		err = pci_assign_resource(dev, bar);
		if (err)
			return err;
	}
	return 0;
}

/* Put the function back to where it was, or to any place if that is taken. */
static void restore_real(void)
{
	struct pci_dev *dev;
	int bar;

	set_ops(stub.bus_ops);

	real_write(PCI_COMMAND, 2, 0);
	for (bar = 0; bar <= PCI_STD_RESOURCE_END; bar++)
		real_write(BAR(bar), 4, stub.bars[bar]);
	real_write(PCI_COMMAND, 2, stub.command);

	dev = pci_scan_single_device(stub.bus, IGDSTUB_DEVFN);
	if (!dev) {
		pr_err("%02x.%x: the function is gone\n",
		       PCI_SLOT(IGDSTUB_DEVFN), PCI_FUNC(IGDSTUB_DEVFN));
		return;
	}
	for (bar = 0; bar <= PCI_STD_RESOURCE_END; bar++)
		if (dev->resource[bar].flags && !dev->resource[bar].parent)
			pci_claim_resource(dev, bar);
	if (assign_bars(dev))
		pr_warn("%s: no room for a BAR that was there before\n", pci_name(dev));
	pci_bus_add_device(dev);
}

static void remove_real(struct pci_dev *real)
{
	int bar;

	pci_read_config_word(real, PCI_COMMAND, &stub.command);
	for (bar = 0; bar <= PCI_STD_RESOURCE_END; bar++)
		pci_read_config_dword(real, BAR(bar), &stub.bars[bar]);
	pci_stop_and_remove_bus_device(real);
}

/* Show the stub to the PCI core; its driver binds when it is added. */
static int __init add_stub(void)
{
	struct pci_dev *dev = pci_scan_single_device(stub.bus, IGDSTUB_DEVFN);
	int err;

	if (!dev)
		return -ENODEV;
	err = assign_bars(dev);
	if (err) {
		pr_err("%s: no room for %d MiB of registers and aperture below the root bus\n",
		       pci_name(dev), (REGISTERS_SIZE + APERTURE_SIZE) / SZ_1M);
		pci_stop_and_remove_bus_device(dev);
		return err;
	}
	if (!is_plain()) {
		err = igdstub_start_acks(pci_resource_start(dev, REGISTERS));
		if (err) {
			pci_stop_and_remove_bus_device(dev);
			return err;
		}
	}
	/* Before a driver binds: stub_event() looks at it. */
	stub.dev = dev;
	pci_bus_add_device(dev);
	return 0;
}

static void __init set_state(void __iomem *registers)
{
	writel(GUC_IN_RESET, registers + GUC_STATUS);
	writel(0x1, registers + GT_SLICE_ENABLE);
	writel(0x3f, registers + GT_DSS_ENABLE);
	writel(~0U, registers + FUSE_STATUS);
}

/* Registers but for a few start as zero, whatever a driver has left there before. */
static int __init reset_registers(struct pci_dev *real)
{
	void __iomem *registers;
	int err;

	err = pci_enable_device_mem(real);
	if (err)
		return err;
	registers = pci_ioremap_bar(real, IVSHMEM_MEMORY);
	pci_disable_device(real);
	if (!registers)
		return -ENOMEM;
	memset_io(registers, 0, REGISTERS_SIZE);
	if (!is_plain())
		set_state(registers);
	iounmap(registers);
	return 0;
}

/* The root bus of QEMU's PC machines, which i915 expects as well. */
static struct pci_bus * __init find_bus(void)
{
	struct pci_bus *bus = pci_find_bus(0, 0);
	struct pci_dev *bridge;
	bool good;

	if (!bus || !pci_is_root_bus(bus))
		return NULL;
	bridge = pci_get_slot(bus, PCI_DEVFN(0, 0));
	good = bridge && bridge->vendor == PCI_VENDOR_ID_INTEL &&
	       bridge->class >> 8 == PCI_CLASS_BRIDGE_HOST;
	pci_dev_put(bridge);
	return good ? bus : NULL;
}

/* One line for each reason not to touch the slot. */
static int __init check_real(struct pci_dev *real)
{
	if (!real) {
		pr_err("00:02.0: no function there, needs QEMU's -device ivshmem-plain,addr=2.0\n");
		return -ENODEV;
	}
	if (real->class >> 16 == PCI_BASE_CLASS_DISPLAY) {
		pr_err("%s: a real display controller, %04x:%04x, is in the slot\n",
		       pci_name(real), real->vendor, real->device);
		return -EBUSY;
	}
	if (real->vendor != IVSHMEM_VENDOR || real->device != IVSHMEM_DEVICE ||
	    real->multifunction) {
		pr_err("%s: %04x:%04x is not ivshmem-plain (%04x:%04x)\n",
		       pci_name(real), real->vendor, real->device, IVSHMEM_VENDOR, IVSHMEM_DEVICE);
		return -ENODEV;
	}
	if (pci_resource_len(real, IVSHMEM_MEMORY) != REGISTERS_SIZE ||
	    !(pci_resource_flags(real, IVSHMEM_MEMORY) & IORESOURCE_MEM_64)) {
		pr_err("%s: its memory is not one 64-bit BAR of %d MiB\n",
		       pci_name(real), REGISTERS_SIZE / SZ_1M);
		return -ENODEV;
	}
	if (real->driver) {
		pr_err("%s: the driver %s is bound to it\n", pci_name(real), real->driver->name);
		return -EBUSY;
	}
	return 0;
}

static int __init take_slot(struct pci_dev *real)
{
	int err;

	err = reset_registers(real);
	if (err)
		return err;
	stub_init_config(real);
	remove_real(real);

	stub.ops = *stub.bus->ops;
	stub.ops.read = stub_read;
	stub.ops.write = stub_write;
	stub.bus_ops = stub.bus->ops;
	set_ops(&stub.ops);

	err = add_stub();
	if (err)
		restore_real();
	return err;
}

static int __init igdstub_init(void)
{
	struct pci_dev *real;
	int err;

	if (!force && !boot_cpu_has(X86_FEATURE_HYPERVISOR)) {
		pr_err("no hypervisor: this is for guests, force=1 loads it all the same\n");
		return -EPERM;
	}
	stub.bus = find_bus();
	if (!stub.bus) {
		pr_err("0000:00: not the root bus of a PC with an Intel host bridge\n");
		return -ENODEV;
	}
	raw_spin_lock_init(&stub.lock);

	err = bus_register_notifier(&pci_bus_type, &stub_notifier);
	if (err)
		return err;
	pci_lock_rescan_remove();
	real = pci_get_slot(stub.bus, IGDSTUB_DEVFN);
	err = check_real(real);
	if (!err)
		err = take_slot(real);
	pci_unlock_rescan_remove();
	pci_dev_put(real);
	if (err)
		bus_unregister_notifier(&pci_bus_type, &stub_notifier);
	return err;
}

static void __exit igdstub_exit(void)
{
	igdstub_stop_acks();
	pci_lock_rescan_remove();
	pci_stop_and_remove_bus_device(stub.dev);
	restore_real();
	pci_unlock_rescan_remove();
	bus_unregister_notifier(&pci_bus_type, &stub_notifier);
}

module_init(igdstub_init);
module_exit(igdstub_exit);

MODULE_DESCRIPTION("PCI function of an Intel GPU with nothing behind it");
MODULE_LICENSE("GPL");

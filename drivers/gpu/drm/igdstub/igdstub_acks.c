// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registers of a GPU of graphics version 9 and later that answer.
 *
 * i915 writes a request and polls until the hardware has set or cleared a bit.
 * Behind the stub is memory, so a thread looks at those registers all the time
 * and does what the hardware would. i915 spins with interrupts off for up to
 * 50 ms, hence at least two CPUs are needed.
 *
 * Names, places and bits are those of i915's register headers.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/kthread.h>

#include "igdstub_acks.h"

/* Up to the last register below, and no further: the GTT is not ours. */
#define REGISTERS_SIZE		0x200000

/* What a function that decodes no memory reads as. */
#define NOT_DECODED		(~0U)

/* Wake requests, and where they are acknowledged. */
struct forcewake {
	u32 request;
	u32 ack;
};

static const struct forcewake forcewakes[] = {
	{ 0xa188, 0x130044 },	/* GT */
	{ 0xa278, 0xd84 },	/* render */
	{ 0xa540, 0xd50 },	/* media: VDBOX 0 to 3 */
	{ 0xa544, 0xd54 },
	{ 0xa548, 0xd58 },
	{ 0xa54c, 0xd5c },
	{ 0xa560, 0xd70 },	/* VEBOX 0 and 1 */
	{ 0xa564, 0xd74 },
};

/* A register that is request and answer in one. */
struct reply {
	u32 reg;
	u32 (*answer)(u32 value);
};

/*
 * RING_RESET_CTL: an engine that does nothing is always ready for a reset, not
 * only when asked; i915 waits for less than a millisecond.
 */
static u32 ready_for_reset(u32 value)
{
	return value | BIT(1);
}

/* GDRST: what is to be reset has been, at once. */
static u32 reset_done(u32 value)
{
	return 0;
}

/* Power wells: pairs of bits, the request above the state. */
static u32 power_state(u32 value)
{
	const u32 requests = 0xaaaaaaaa;

	return (value & requests) | (value & requests) >> 1;
}

/* DBUF_CTL, CDCLK_PLL_ENABLE: a single such pair. */
static u32 top_state(u32 value)
{
	return value & BIT(31) ? value | BIT(30) : value & ~BIT(30);
}

/* PCODE_MAILBOX: the command has been executed without an error. */
static u32 mailbox_ready(u32 value)
{
	return value & BIT(31) ? 0 : value;
}

/*
 * DP_AUX_CH_CTL: done, and nobody is at the other end. A receive error, which
 * i915 clears by writing a one, there was not.
 */
static u32 transfer_done(u32 value)
{
	if (!(value & BIT(31)))
		return value;
	return (value & ~(BIT(31) | BIT(25))) | BIT(30) | BIT(28);
}

static const struct reply replies[] = {
	{ 0x20d0, ready_for_reset },	/* RCS */
	{ 0x220d0, ready_for_reset },	/* BCS */
	{ 0x1c00d0, ready_for_reset },	/* VCS 0 to 3 */
	{ 0x1c40d0, ready_for_reset },
	{ 0x1d00d0, ready_for_reset },
	{ 0x1d40d0, ready_for_reset },
	{ 0x1c80d0, ready_for_reset },	/* VECS 0 and 1 */
	{ 0x1d80d0, ready_for_reset },
	{ 0x941c, reset_done },
	{ 0x45404, power_state },	/* the driver's own: power wells, */
	{ 0x45444, power_state },	/* AUX, */
	{ 0x45454, power_state },	/* DDI */
	{ 0x45008, top_state },
	{ 0x44fe8, top_state },
	{ 0x46070, top_state },
	{ 0x138124, mailbox_ready },
	{ 0x64010, transfer_done },	/* AUX A to C */
	{ 0x64110, transfer_done },
	{ 0x64210, transfer_done },
};

static struct {
	struct task_struct *thread;
	void __iomem *registers;
	u32 awake[ARRAY_SIZE(forcewakes)];
} acks;

/* The upper half of a value written says which bits of the lower one count. */
static u32 masked_write(u32 old, u32 value)
{
	const u32 mask = value >> 16;

	return (old & ~mask) | (value & mask);
}

static void ack_forcewakes(void)
{
	size_t i;

	for (i = 0; i < ARRAY_SIZE(forcewakes); i++) {
		u32 value = readl(acks.registers + forcewakes[i].request);
		u32 awake;

		if (value == NOT_DECODED)
			continue;
		awake = masked_write(acks.awake[i], value);
		if (awake == acks.awake[i])
			continue;
		acks.awake[i] = awake;
		writel(awake, acks.registers + forcewakes[i].ack);
	}
}

/*
 * i915 may write to the same register meanwhile, and that must not get lost.
 * Behind the stub is memory, on which cmpxchg() works.
 */
static void answer(const struct reply *reply)
{
	u32 __iomem *reg = acks.registers + reply->reg;
	u32 old = readl(reg);
	u32 value;

	if (old == NOT_DECODED)
		return;
	value = reply->answer(old);
	if (value != old)
		cmpxchg((u32 __force *)reg, old, value);
}

static int acknowledge(void *unused)
{
	size_t i;

	while (!kthread_should_stop()) {
		ack_forcewakes();
		for (i = 0; i < ARRAY_SIZE(replies); i++)
			answer(&replies[i]);
		usleep_range(5, 20);
	}
	return 0;
}

int igdstub_start_acks(phys_addr_t registers)
{
	struct task_struct *thread;

	acks.registers = ioremap(registers, REGISTERS_SIZE);
	if (!acks.registers)
		return -ENOMEM;
	thread = kthread_run(acknowledge, NULL, KBUILD_MODNAME);
	if (IS_ERR(thread)) {
		iounmap(acks.registers);
		return PTR_ERR(thread);
	}
	acks.thread = thread;
	return 0;
}

void igdstub_stop_acks(void)
{
	if (!acks.thread)
		return;
	kthread_stop(acks.thread);
	acks.thread = NULL;
	iounmap(acks.registers);
}

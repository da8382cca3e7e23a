/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef IGDSTUB_ACKS_H
#define IGDSTUB_ACKS_H

#include <linux/types.h>

/*
 * Answers what is written to the registers at that address, from now on. They
 * may be out of reach for as long as their function decodes no memory.
 * -ENOMEM, or as kthread_run().
 */
int igdstub_start_acks(phys_addr_t registers);

/* The registers are plain memory again. Does nothing where nothing was started. */
void igdstub_stop_acks(void);

#endif

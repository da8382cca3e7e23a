/* SPDX-License-Identifier: GPL-2.0-only */
#pragma once

/*
 * libtracefs' header is C only (1.6): it has no extern "C", and an inline function in it passes
 * 0 for an enumerator. The overload below, which nothing calls and nobody defines, is what makes
 * that valid C++.
 */
struct tracefs_instance;
struct tracefs_hist;
int tracefs_hist_command(struct tracefs_instance *instance, struct tracefs_hist *hist, int command);

extern "C" {
#include <tracefs.h>
}

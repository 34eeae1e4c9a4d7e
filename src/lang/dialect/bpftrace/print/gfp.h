/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gfp: the names of the kernel's flags for allocating memory. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PRINT_GFP_H
#define STRATA_LANG_DIALECT_BPFTRACE_PRINT_GFP_H

#include <stdint.h>
#include <stdio.h>

/* The flags' names, joined by "|", those of several flags together first; unknown ones as one hexadecimal number. */
void gfp_print(FILE *out, uint64_t flags);

#endif

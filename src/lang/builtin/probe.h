/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe: the machine's registers by name, as programs read them. */
#ifndef STRATA_LANG_BUILTIN_PROBE_H
#define STRATA_LANG_BUILTIN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct gen;
struct span;

/* A static marker's argument, of those that its note describes, in R0: a number, or an address. 0: it has none. */
void probe_marker_argument(struct gen *g, struct span span, const char *arguments, unsigned int index);

/* Where the register is in struct pt_regs. False when the machine has none of this name. */
bool probe_register(const char *name, uint64_t *ret);

#endif

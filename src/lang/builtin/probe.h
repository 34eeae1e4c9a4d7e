/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probe: the registers of the machine by their names, as programs read them. */
#ifndef STRATA_LANG_BUILTIN_PROBE_H
#define STRATA_LANG_BUILTIN_PROBE_H

#include <stdbool.h>
#include <stdint.h>

/* Where the register is in struct pt_regs. False when the machine has none of this name. */
bool probe_register(const char *name, uint64_t *ret);

#endif

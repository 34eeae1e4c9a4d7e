/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of this machine's description; for src/arch/ only. */
#ifndef STRATA_ARCH_X86_64_PARTS_H
#define STRATA_ARCH_X86_64_PARTS_H

#include "arch/arch.h"

extern const struct arch x86_64;
extern const struct unwind_arch x86_64_unwind;
extern const struct code_arch x86_64_code;
extern const struct plt_arch x86_64_plt;
extern const struct key_arch x86_64_key;
extern const struct reference_arch x86_64_references;
extern const struct spot_arch x86_64_spot;

bool x86_64_usdt_operand(const char *text, struct arch_operand *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of this machine's description; for src/arch/ only. */
#ifndef STRATA_ARCH_AARCH64_PARTS_H
#define STRATA_ARCH_AARCH64_PARTS_H

#include "arch/arch.h"

extern const struct arch aarch64;
extern const struct unwind_arch aarch64_unwind;
extern const struct code_arch aarch64_code;
extern const struct plt_arch aarch64_plt;
extern const struct key_arch aarch64_key;
extern const struct reference_arch aarch64_references;

bool aarch64_usdt_operand(const char *text, struct arch_operand *ret);

#endif

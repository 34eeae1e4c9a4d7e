/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The general registers by DWARF's numbers, and which of them one of Capstone's is; for src/arch/x86_64/ only. */
#ifndef STRATA_ARCH_X86_64_REGISTERS_H
#define STRATA_ARCH_X86_64_REGISTERS_H

#include <stdint.h>

/* psABI AMD64, figure 3.36. */
enum { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8, R9, R10, R11, R12, R13, R14, R15 };

#define REGISTER_NONE 255

#define BIT(reg) (1u << (reg))

/* `capstone` is one of x86_reg; EAX, AX, AL and AH are RAX. REGISTER_NONE: it is no general register. */
uint8_t x86_64_register(unsigned int capstone);

/* The same as a mask; 0: no general register. */
uint32_t x86_64_register_bit(unsigned int capstone);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/registers.h"

#include <capstone/capstone.h>

/* By Capstone's numbers; + 1, so that 0 is none. */
static const uint8_t numbers[X86_REG_ENDING] = {
#define FAMILY(number, r64, r32, r16, r8)                                                                              \
	[X86_REG_##r64] = (number) + 1, [X86_REG_##r32] = (number) + 1, [X86_REG_##r16] = (number) + 1,                \
	[X86_REG_##r8] = (number) + 1
	FAMILY(RAX, RAX, EAX, AX, AL),
	FAMILY(RDX, RDX, EDX, DX, DL),
	FAMILY(RCX, RCX, ECX, CX, CL),
	FAMILY(RBX, RBX, EBX, BX, BL),
	FAMILY(RSI, RSI, ESI, SI, SIL),
	FAMILY(RDI, RDI, EDI, DI, DIL),
	FAMILY(RBP, RBP, EBP, BP, BPL),
	FAMILY(RSP, RSP, ESP, SP, SPL),
	FAMILY(R8, R8, R8D, R8W, R8B),
	FAMILY(R9, R9, R9D, R9W, R9B),
	FAMILY(R10, R10, R10D, R10W, R10B),
	FAMILY(R11, R11, R11D, R11W, R11B),
	FAMILY(R12, R12, R12D, R12W, R12B),
	FAMILY(R13, R13, R13D, R13W, R13B),
	FAMILY(R14, R14, R14D, R14W, R14B),
	FAMILY(R15, R15, R15D, R15W, R15B),
#undef FAMILY
	[X86_REG_AH] = RAX + 1,
	[X86_REG_DH] = RDX + 1,
	[X86_REG_CH] = RCX + 1,
	[X86_REG_BH] = RBX + 1,
};

uint8_t x86_64_register(unsigned int capstone)
{
	return capstone < X86_REG_ENDING && numbers[capstone] ? numbers[capstone] - 1 : REGISTER_NONE;
}

uint32_t x86_64_register_bit(unsigned int capstone)
{
	uint8_t number = x86_64_register(capstone);

	return number == REGISTER_NONE ? 0 : BIT(number);
}

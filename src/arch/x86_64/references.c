// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "arch/x86_64/parts.h"

static bool is_jump(const char *mnemonic)
{
	return *mnemonic == 'j';
}

static bool is_indirect(const char *mnemonic, const char *operands)
{
	return *mnemonic == 'j' && *operands != '0';
}

/*
 * `lea reg, [rip + d]` (48/4c 8d, mod 0, rm 5), `mov r32, imm32` (b8+r) of programs with fixed addresses,
 * and `call d` (e8). Every byte is tried as the start of the last four: what the bytes before are makes an accident
 * rare, and what a visitor looks for makes it rarer.
 */
static int visit_references(const struct reference_code *code, reference_visit visit, void *context)
{
	const uint8_t *bytes = code->bytes;
	int32_t operand;
	size_t i;
	int err = 0;

	for (i = 3; !err && i + sizeof(operand) <= code->size; i++) {
		bool lea = (bytes[i - 3] & 0xfb) == 0x48 && bytes[i - 2] == 0x8d && (bytes[i - 1] & 0xc7) == 0x05;
		bool call = bytes[i - 1] == 0xe8, move = (bytes[i - 1] & 0xf8) == 0xb8;

		if (!lea && !call && !move)
			continue;
		memcpy(&operand, bytes + i, sizeof(operand));
		if (move)
			err = visit(context, code->vaddr + i - 1, (uint32_t)operand);
		else
			err = visit(context, code->vaddr + i - 1,
				    code->vaddr + i + sizeof(operand) + (uint64_t)(int64_t)operand);
	}
	return err;
}

/* By `lea reg, [rip + d]` (8d, mod 0, rm 5), or as a number in any instruction. */
static bool uses_address(const struct reference_code *code, uint64_t target, bool is_fixed)
{
	const uint8_t *bytes = code->bytes;
	int32_t operand;
	size_t i;

	for (i = 0; i + sizeof(operand) <= code->size; i++) {
		memcpy(&operand, bytes + i, sizeof(operand));
		if (is_fixed && (uint32_t)operand == target)
			return true;
		if (code->vaddr + i + sizeof(operand) + (uint64_t)(int64_t)operand == target && i >= 2 &&
		    bytes[i - 2] == 0x8d && (bytes[i - 1] & 0xc7) == 0x05)
			return true;
	}
	return false;
}

const struct reference_arch x86_64_references = {
	.step = 1,
	.is_jump = is_jump,
	.is_indirect = is_indirect,
	.visit = visit_references,
	.uses_address = uses_address,
};

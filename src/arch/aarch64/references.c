// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "arch/aarch64/parts.h"

#define ADD_DISTANCE 8 /* instructions between ADRP and its ADD */

static bool is_jump(const char *mnemonic)
{
	return !strcmp(mnemonic, "b") || !strncmp(mnemonic, "b.", 2) || !strncmp(mnemonic, "cb", 2) ||
	       !strncmp(mnemonic, "tb", 2);
}

static bool is_indirect(const char *mnemonic, const char *operands)
{
	return !strcmp(mnemonic, "br") && *operands == 'x';
}

/* ADRP + ADD (immediate) of the same register, ADR, and BL: Arm ARM, C6.2. */
static int visit_references(const struct reference_code *code, reference_visit visit, void *context)
{
	size_t count = code->size / 4, i, j;
	uint32_t insn, add;
	int64_t offset;
	int err = 0;

	for (i = 0; !err && i < count; i++) {
		uint64_t place = code->vaddr + i * 4, page;

		memcpy(&insn, code->bytes + i * 4, 4);
		if (insn >> 26 == 0x25)
			err = visit(context, place, place + (uint64_t)((int64_t)((uint64_t)insn << 38) >> 36));
		offset = (int64_t)((uint64_t)(insn >> 5 & 0x7ffff) << 45 | (uint64_t)(insn >> 29 & 3) << 43) >> 43;
		if (!err && (insn & 0x9f000000) == 0x10000000) /* what linkers make of ADRP and ADD where it is near */
			err = visit(context, place, place + (uint64_t)offset);
		if ((insn & 0x9f000000) != 0x90000000)
			continue;
		page = (place & ~0xfffull) + ((uint64_t)offset << 12);
		for (j = i + 1; !err && j < count && j <= i + ADD_DISTANCE; j++) {
			memcpy(&add, code->bytes + j * 4, 4);
			if ((add & 0xffc00000) == 0x91000000 && (add >> 5 & 31) == (insn & 31)) {
				err = visit(context, place, page + (add >> 10 & 0xfff));
				break;
			}
		}
	}
	return err;
}

const struct reference_arch aarch64_references = {
	.step = 4,
	.is_jump = is_jump,
	.is_indirect = is_indirect,
	.visit = visit_references,
};

// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "arch/aarch64/parts.h"
#include "base/cursor.h"

#define BTI_C  0xd503245fu
#define HEADER 32 /* PLT0, with `bti c` or not: AAELF64, "Procedure Linkage Table"; ld, lld */

/*
 * A stub is `adrp x16, PAGE; ldr x17, [x16, OFFSET]; add x16, x16, OFFSET; br x17`, with `bti c` before, or `autia1716`
 * in the midst; what is left of 24 bytes then is a NOP.
 */
static bool decode(const uint8_t *bytes, size_t size, uint64_t vaddr, uint64_t *got, uint32_t *index)
{
	struct cursor c = cursor_init(bytes, size);
	uint32_t adrp = cursor_u32(&c), ldr;
	int64_t pages;

	(void)index;
	if (adrp == BTI_C) {
		vaddr += 4;
		adrp = cursor_u32(&c);
	}
	ldr = cursor_u32(&c);
	if (!cursor_ok(&c) || (adrp & 0x9f00001f) != 0x90000010 || (ldr & 0xffc003ff) != 0xf9400211)
		return false;
	pages = (int64_t)((uint64_t)(adrp >> 5 & 0x7ffff) << 45 | (uint64_t)(adrp >> 29 & 3) << 43) >> 43;
	*got = (vaddr & ~0xfffull) + ((uint64_t)pages << 12) + (ldr >> 10 & 0xfff) * 8;
	return true;
}

/* With `bti c`, or authenticated pointers, a stub has 24 bytes: the next one does not begin after 16. */
static size_t stub_size(const char *section, const uint8_t *bytes, size_t size)
{
	size_t first = strcmp(section, ".plt") ? 0 : HEADER;
	uint32_t word;

	if (size < first + 24)
		return 16;
	memcpy(&word, bytes + first, sizeof(word));
	if (word == BTI_C)
		return 24;
	memcpy(&word, bytes + first + 12, sizeof(word));
	return word == 0xd61f0220 ? 16 : 24; /* br x17 */
}

const struct plt_arch aarch64_plt = {.header = HEADER, .stub_size = stub_size, .decode = decode};

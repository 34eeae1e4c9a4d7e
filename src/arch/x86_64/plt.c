// SPDX-License-Identifier: GPL-2.0-or-later
#include "arch/x86_64/parts.h"
#include "base/cursor.h"

/*
 * A stub jumps through the GOT, `[bnd] jmp *disp32(%rip)`, after `endbr64` or not (psABI AMD64, 5.2). With IBT the
 * slots of .plt do not, but `push index`, which is the index of the relocation.
 */
static bool decode(const uint8_t *bytes, size_t size, uint64_t vaddr, uint64_t *got, uint32_t *index)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	struct cursor c = cursor_init(bytes, size);
	uint8_t op;

	if (size > sizeof(endbr64) && !memcmp(bytes, endbr64, sizeof(endbr64)))
		cursor_skip(&c, sizeof(endbr64));
	op = cursor_u8(&c);
	if (op == 0xf2) /* bnd */
		op = cursor_u8(&c);
	if (op == 0x68) {
		*got = 0;
		*index = cursor_u32(&c);
		return cursor_ok(&c);
	}
	if (op != 0xff || cursor_u8(&c) != 0x25)
		return false;
	*got = (uint64_t)(int64_t)cursor_s32(&c);
	*got += vaddr + cursor_position(&c);
	return cursor_ok(&c);
}

/* With IBT the slots of .plt.got have 16 bytes too, the first of them an endbr64. */
static size_t stub_size(const char *section, const uint8_t *bytes, size_t size)
{
	if (strcmp(section, ".plt.got"))
		return 16;
	return size >= 16 && bytes[0] == 0xf3 ? 16 : 8;
}

const struct plt_arch x86_64_plt = {.header = 0, .stub_size = stub_size, .decode = decode};

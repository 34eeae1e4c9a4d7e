/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cursor: bounds-checked reading of bytes that somebody else wrote.
 *
 * Every parser of ELF, CFI, line tables, perf maps and process memory goes through a cursor; none does
 * pointer arithmetic of its own. A read past the end returns 0 (or NULL), moves nothing and makes the
 * cursor fail for good: all later reads return 0 as well. So a parser may read a whole record and ask once,
 * `if (!cursor_ok(&c))`, and cursor_position() then still tells where it stopped.
 *
 * The cursor borrows the bytes; they must outlive it. Multi-byte values are in the host's byte order,
 * unaligned reads are fine. Not thread-safe, as any plain struct.
 */
#ifndef STRATA_BASE_CURSOR_H
#define STRATA_BASE_CURSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct cursor {
	const uint8_t *base; /* first byte of the range */
	size_t size;         /* bytes in the range */
	size_t at;           /* offset of the next byte to read, <= size */
	bool failed;
};

static inline struct cursor cursor_init(const void *bytes, size_t size)
{
	return (struct cursor){.base = bytes, .size = size};
}

static inline bool cursor_ok(const struct cursor *c)
{
	return !c->failed;
}

/* True when there is nothing more to read, or the cursor has failed. */
static inline bool cursor_at_end(const struct cursor *c)
{
	return c->failed || c->at == c->size;
}

static inline size_t cursor_position(const struct cursor *c)
{
	return c->at;
}

static inline size_t cursor_left(const struct cursor *c)
{
	return c->failed ? 0 : c->size - c->at;
}

/* Makes the cursor fail: for values that were read and make no sense. */
static inline void cursor_fail(struct cursor *c)
{
	c->failed = true;
}

/* The next `size` bytes, or NULL when there are fewer. */
static inline const uint8_t *cursor_take(struct cursor *c, size_t size)
{
	const uint8_t *bytes;

	if (c->failed || size > c->size - c->at) {
		c->failed = true;
		return NULL;
	}
	bytes = c->base + c->at;
	c->at += size;
	return bytes;
}

static inline bool cursor_skip(struct cursor *c, size_t size)
{
	return cursor_take(c, size) != NULL;
}

/* Moves to an absolute offset of the range. */
static inline bool cursor_seek(struct cursor *c, size_t at)
{
	if (c->failed || at > c->size) {
		c->failed = true;
		return false;
	}
	c->at = at;
	return true;
}

/* A cursor over the next `size` bytes, which the outer one skips; failed when there are fewer. */
static inline struct cursor cursor_sub(struct cursor *c, size_t size)
{
	const uint8_t *bytes = cursor_take(c, size);
	struct cursor sub = cursor_init(bytes, bytes ? size : 0);

	sub.failed = !bytes;
	return sub;
}

#define CURSOR_DEFINE_READ(name, type)                                                                                 \
	static inline type cursor_##name(struct cursor *c)                                                             \
	{                                                                                                              \
		const uint8_t *bytes = cursor_take(c, sizeof(type));                                                   \
		type value = 0;                                                                                        \
                                                                                                                       \
		if (bytes)                                                                                             \
			memcpy(&value, bytes, sizeof(type));                                                           \
		return value;                                                                                          \
	}
CURSOR_DEFINE_READ(u8, uint8_t)
CURSOR_DEFINE_READ(u16, uint16_t)
CURSOR_DEFINE_READ(u32, uint32_t)
CURSOR_DEFINE_READ(u64, uint64_t)
CURSOR_DEFINE_READ(s8, int8_t)
CURSOR_DEFINE_READ(s16, int16_t)
CURSOR_DEFINE_READ(s32, int32_t)
CURSOR_DEFINE_READ(s64, int64_t)
#undef CURSOR_DEFINE_READ

/* DWARF's unsigned LEB128; bits past the 64th must be zero, else the cursor fails. */
static inline uint64_t cursor_uleb128(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if ((shift == 63 && (byte & 0x7e)) || (shift > 63 && (byte & 0x7f)))
			cursor_fail(c);
		shift += 7;
	} while ((byte & 0x80) && cursor_ok(c));
	return cursor_ok(c) ? value : 0;
}

/* DWARF's signed LEB128; bits past the 64th are dropped. */
static inline int64_t cursor_sleb128(struct cursor *c)
{
	uint64_t value = 0;
	unsigned int shift = 0;
	uint8_t byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while ((byte & 0x80) && cursor_ok(c));
	if (shift < 64 && (byte & 0x40))
		value |= ~(uint64_t)0 << shift;
	return cursor_ok(c) ? (int64_t)value : 0;
}

/* A string up to its terminator, which must lie in the range; borrowed. NULL when there is none. */
static inline const char *cursor_string(struct cursor *c)
{
	const uint8_t *start = c->base + c->at;
	const uint8_t *end;

	if (c->failed)
		return NULL;
	end = c->size > c->at ? memchr(start, '\0', c->size - c->at) : NULL;
	if (!end) {
		c->failed = true;
		return NULL;
	}
	c->at += (size_t)(end - start) + 1;
	return (const char *)start;
}

#endif

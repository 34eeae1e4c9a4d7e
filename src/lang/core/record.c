// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/core/record.h"

#include <string.h>

#include "base/cursor.h"

#define USUAL_TEXT 48 /* a path, a name */

bool record_packs(const struct type *type)
{
	uint32_t i;

	if (type->kind == TYPE_STRING || type->kind == TYPE_BUFFER)
		return type->size > TEXT_FIXED;
	for (i = 0; type->kind == TYPE_TUPLE && i < type->field_count; i++)
		if (record_packs(type->fields[i].type))
			return true;
	return false;
}

uint32_t record_place(const struct type *arguments, uint32_t index)
{
	uint32_t at = 0, i;

	if (!record_packs(arguments))
		return arguments->fields[index].offset;
	for (i = 0; i < index; i++)
		if (!record_packs(arguments->fields[i].type))
			at += (arguments->fields[i].type->size + 7) & ~7u;
	return at;
}

/* A string that fills its place has a terminator more in the record. */
uint32_t record_most(const struct type *type)
{
	uint32_t most = 0, i;

	if (type->kind == TYPE_STRING && record_packs(type))
		return type->size + 1;
	if (!record_packs(type) || type->kind == TYPE_BUFFER)
		return type->size;
	for (i = 0; i < type->field_count; i++)
		most += record_most(type->fields[i].type);
	return most;
}

uint32_t record_usual(const struct type *arguments)
{
	uint32_t usual = 0, i;

	for (i = 0; i < arguments->field_count; i++)
		usual += record_packs(arguments->fields[i].type) ? USUAL_TEXT : arguments->fields[i].type->size;
	return usual;
}

static void read_part(const struct type *type, struct cursor *c, uint8_t *to)
{
	const uint8_t *bytes, *end;
	size_t size = type->size;
	uint32_t i;

	memset(to, 0, size);
	if (type->kind == TYPE_TUPLE && record_packs(type)) {
		for (i = 0; i < type->field_count; i++)
			read_part(type->fields[i].type, c, to + type->fields[i].offset);
		return;
	}
	if (cursor_at_end(c))
		return;
	if (type->kind == TYPE_STRING && record_packs(type)) {
		bytes = c->base + c->at;
		end = memchr(bytes, '\0', cursor_left(c));
		size = end ? (size_t)(end - bytes) : cursor_left(c) + 1;
		if (cursor_skip(c, size + 1) && size <= type->size)
			memcpy(to, bytes, size);
		else
			cursor_fail(c);
		return;
	}
	if (type->kind == TYPE_BUFFER && record_packs(type)) {
		bytes = c->base + c->at;
		size = cursor_u32(c);
		if (cursor_skip(c, size) && size <= type->size - sizeof(uint32_t))
			memcpy(to, bytes, sizeof(uint32_t) + size);
		else
			cursor_fail(c);
		return;
	}
	bytes = cursor_take(c, size);
	if (bytes)
		memcpy(to, bytes, size);
}

const uint8_t *record_read(const struct type *arguments, const uint8_t *record, size_t size, uint8_t *room)
{
	struct cursor small = cursor_init(record, size), packed = small;
	uint32_t i;

	if (!record_packs(arguments))
		return size < arguments->size ? NULL : record;
	cursor_seek(&packed, record_place(arguments, arguments->field_count));
	for (i = 0; i < arguments->field_count; i++) {
		const struct type_field *field = &arguments->fields[i];

		if (record_packs(field->type)) {
			read_part(field->type, &packed, room + field->offset);
			continue;
		}
		cursor_seek(&small, record_place(arguments, i));
		if (cursor_left(&small) < field->type->size)
			return NULL;
		memcpy(room + field->offset, small.base + small.at, field->type->size);
	}
	return cursor_ok(&packed) ? room : NULL;
}

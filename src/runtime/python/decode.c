// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/decode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *python_put_utf8(char *at, uint32_t c)
{
	if (c < 0x80) {
		*at++ = (char)c;
	} else if (c < 0x800) {
		*at++ = (char)(0xc0 | c >> 6);
		*at++ = (char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*at++ = (char)(0xe0 | c >> 12);
		*at++ = (char)(0x80 | (c >> 6 & 0x3f));
		*at++ = (char)(0x80 | (c & 0x3f));
	} else {
		*at++ = (char)(0xf0 | c >> 18);
		*at++ = (char)(0x80 | (c >> 12 & 0x3f));
		*at++ = (char)(0x80 | (c >> 6 & 0x3f));
		*at++ = (char)(0x80 | (c & 0x3f));
	}
	return at;
}

/* A PyUnicodeObject's characters as UTF-8, malloc'd; NULL when there are none or memory is short. */
static char *decode_string(const struct code_event *event, const struct code_string *string)
{
	const uint8_t *text = event->text + string->at;
	uint32_t count, i, c;
	char *utf8, *at;

	if ((string->kind != 1 && string->kind != 2 && string->kind != 4) || string->bytes > CODE_STRING_MAX)
		return NULL;
	count = string->bytes / string->kind;
	at = utf8 = malloc(count * 4ull + 4);
	for (i = 0; utf8 && i < count; i++) {
		if (string->kind == 1) {
			c = text[i];
		} else if (string->kind == 2) {
			uint16_t unit;

			memcpy(&unit, text + i * 2, 2);
			c = unit;
		} else {
			memcpy(&c, text + i * 4, 4);
		}
		/*
		 * Surrogates stand for undecodable bytes of file names (PEP 383); they have no UTF-8. A NUL would end
		 * the name.
		 */
		if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = '?';
		at = python_put_utf8(at, c);
	}
	if (utf8)
		strcpy(at, count < string->length ? "…" : "");
	return utf8;
}

/* The name of a task, malloc'd; NULL: it could not be read, or memory is short. */
static char *decode_task(const struct code_event *event)
{
	uint32_t digits[2];
	char *name = NULL;

	if (!event->is_named)
		return NULL;
	if (event->is_task == CODE_TASK_NAMELESS)
		return strdup("unnamed");
	if (event->is_task == CODE_TASK)
		return decode_string(event, &event->name);
	memcpy(digits, event->text, sizeof(digits));
	if (asprintf(&name, "Task-%" PRIu64, (uint64_t)digits[1] << 30 | digits[0]) < 0)
		return NULL;
	return name;
}

void python_decode(const struct code_event *event, char **name, char **file, bool *hidden)
{
	if (event->is_task) {
		*name = decode_task(event);
		*file = *name ? strdup("") : NULL;
		*hidden = false;
		return;
	}
	*name = decode_string(event, &event->qualname);
	if (!*name)
		*name = decode_string(event, &event->name);
	*file = decode_string(event, &event->filename);
	*hidden =
		event->version >= 0x030c && *name && *file && !strcmp(*name, "__init__") && !strcmp(*file, "__init__");
}

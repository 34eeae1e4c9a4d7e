// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "profile/frames.h"
#include "profile/text.h"

/* Appends to a buffer as snprintf would: `used` goes on counting when the buffer is full. */
struct appender {
	char *buffer;
	size_t size, used;
};

static void append(struct appender *to, const char *string)
{
	bool room = to->used < to->size;

	to->used += text_clean(string, room ? to->buffer + to->used : NULL, room ? to->size - to->used : 0);
}

int frame_format(const struct frame *frame, char *buffer, size_t size)
{
	struct appender to = {.buffer = buffer, .size = size};
	const char *file = frame->file ? frame->file : "";
	char line[16];

	if (size)
		buffer[0] = '\0';
	append(&to, frame->name);
	switch (frame->layer) {
	case FRAME_KERNEL:
		append(&to, " [k]");
		break;
	case FRAME_NATIVE:
		append(&to, " (");
		append(&to, *file ? file : "?");
		append(&to, ")");
		if (frame->line <= 0 || !frame->source || !*frame->source)
			break;
		snprintf(line, sizeof(line), ":%d]", frame->line);
		append(&to, " [");
		append(&to, frame->source);
		append(&to, line);
		break;
	case FRAME_RUNTIME:
		snprintf(line, sizeof(line), ":%d)", frame->line);
		append(&to, " (");
		append(&to, *file ? file : "?");
		append(&to, line);
		break;
	case FRAME_MARK:
	case FRAME_LAYER_COUNT:
		break;
	}
	return (int)to.used;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Folded stacks: `comm;outermost;…;innermost COUNT`. A frame's text says what it is (docs/OUTPUT.md); the text of
 * other tools' frames, without a module, is a native function of an unknown module.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "diff/reader.h"

/* Where `(file)` begins in a text that ends with it, its parentheses balanced; NULL: it does not. */
static char *last_group(char *text, size_t size)
{
	size_t depth = 0;

	while (size--) {
		if (text[size] == ')')
			depth++;
		else if (text[size] == '(' && !--depth)
			return size && text[size - 1] == ' ' ? text + size : NULL;
		if (!depth)
			return NULL;
	}
	return NULL;
}

/* Cuts ":LINE" off a file; 0: it has none. */
static int take_line(char *file)
{
	char *colon = strrchr(file, ':');
	size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;

	if (!digits || digits > 9 || colon[1 + digits])
		return 0;
	*colon = '\0';
	return atoi(colon + 1);
}

/* Cuts " [FILE:LINE]" off native code's text, which is then so long. */
static size_t take_source(char *text, size_t size, struct frame *frame)
{
	char *at = NULL, *found = text;

	while ((found = strstr(found, ") [")))
		at = found++;
	if (!at || text[size - 1] != ']')
		return size;
	text[size - 1] = '\0';
	frame->line = take_line(at + 3);
	if (!frame->line) {
		text[size - 1] = ']';
		return size;
	}
	frame->source = at + 3;
	at[1] = '\0';
	return (size_t)(at + 1 - text);
}

static struct frame frame_of(char *text)
{
	size_t size = strlen(text);
	struct frame frame = {.layer = FRAME_NATIVE, .name = text, .file = ""};
	char *group;

	if (size > 4 && !strcmp(text + size - 4, " [k]")) {
		text[size - 4] = '\0';
		frame.layer = FRAME_KERNEL;
	} else if (size > 1 && text[0] == '[' && text[size - 1] == ']') {
		frame.layer = FRAME_MARK;
	} else {
		size = take_source(text, size, &frame);
		group = last_group(text, size);
		if (!group)
			return frame;
		group[-1] = text[size - 1] = '\0';
		if (!frame.line) {
			frame.line = take_line(group + 1);
			frame.layer = frame.line ? FRAME_RUNTIME : FRAME_NATIVE;
			frame.runtime = frame.line ? "source" : "";
		}
		frame.file = strcmp(group + 1, "?") ? group + 1 : "";
	}
	return frame;
}

static int take_stack(struct reader *reader, char *text, uint64_t count)
{
	char *rest = NULL, *comm = text, *frame = strchr(text, ';');
	uint32_t id;
	int err = 0;

	if (frame)
		*frame++ = '\0';
	for (frame = frame ? strtok_r(frame, ";", &rest) : NULL; frame && !err; frame = strtok_r(NULL, ";", &rest)) {
		const struct frame made = frame_of(frame);

		err = profile_frame(reader->profile, &made, &id) ? reader_no_memory(reader) : reader_frame(reader, id);
	}
	return err ?: reader_sample(reader, comm, count, 1);
}

/* The line without its count; false: it has none. */
static bool cut_count(char *line, size_t size, uint64_t *ret)
{
	char *end, *space = memrchr(line, ' ', size);

	if (!space || space == line || space[1] < '0' || space[1] > '9')
		return false;
	errno = 0;
	*ret = strtoull(space + 1, &end, 10);
	*space = '\0';
	return !errno && (!*end || (*end == '\r' && !end[1]));
}

int read_folded(struct reader *reader, struct cursor *bytes)
{
	static const char waiting[] = ";[waiting: ";
	unsigned int number = 0;
	int err = 0;

	if (memmem(bytes->base + cursor_position(bytes), cursor_left(bytes), waiting, strlen(waiting)))
		reader->recording->kind = READ_TIMES;
	while (!err && !cursor_at_end(bytes)) {
		const char *from = (const char *)bytes->base + cursor_position(bytes);
		const char *end = memchr(from, '\n', cursor_left(bytes));
		size_t size = end ? (size_t)(end - from) : cursor_left(bytes);
		char *line = strndup(from, size);
		uint64_t count = 0;

		cursor_skip(bytes, size + (end ? 1 : 0));
		number++;
		if (!line)
			return reader_no_memory(reader);
		if (size && (strlen(line) != size || !cut_count(line, size, &count)))
			err = diag_fail(reader->diag, EINVAL, "read.folded",
					"line %u is no folded stack (comm;outermost;...;innermost COUNT), nor is the "
					"file in pprof's format",
					number);
		else if (count)
			err = take_stack(reader, line, count);
		free(line);
	}
	return err;
}

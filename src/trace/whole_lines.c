// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/whole_lines.h"

#include <errno.h>
#include <limits.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM ((size_t)65536) /* more than what is printed in one go, most often */

char *whole_lines_begin(FILE *out)
{
	char *buffer = malloc(WHOLE_LINES_BYTES);

	if (buffer && !setvbuf(out, buffer, _IOFBF, WHOLE_LINES_BYTES))
		return buffer;
	free(buffer);
	setvbuf(out, NULL, _IOFBF, ROOM);
	return NULL;
}

/* How much of it is written next: whole lines, as far as a pipe takes them at once. */
static size_t piece_of(const char *text, size_t size)
{
	const char *end = memrchr(text, '\n', size < PIPE_BUF ? size : PIPE_BUF);

	if (size <= PIPE_BUF)
		return size;
	return end ? (size_t)(end - text) + 1 : PIPE_BUF;
}

void whole_lines_write(FILE *out, const char *buffer)
{
	size_t size = __fpending(out), at = 0;
	char *rest;

	while (buffer && at < size) {
		ssize_t written = write(fileno(out), buffer + at, piece_of(buffer + at, size - at));

		if (written < 0 && errno != EINTR)
			break;
		at += written > 0 ? (size_t)written : 0;
	}
	/* What could not be written stays for fflush() to fail at. */
	rest = at && at < size ? malloc(size - at) : NULL;
	if (rest)
		memcpy(rest, buffer + at, size - at);
	if (at)
		__fpurge(out);
	if (rest)
		fwrite(rest, 1, size - at, out);
	free(rest);
	fflush(out);
}

void whole_lines_make_room(FILE *out, const char *buffer)
{
	if (buffer && __fpending(out) > WHOLE_LINES_BYTES - ROOM)
		whole_lines_write(out, buffer);
}

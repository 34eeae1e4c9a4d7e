// SPDX-License-Identifier: GPL-2.0-or-later
#include "export/gzip.h"

#include <stdint.h>
#include <stdlib.h>
#include <zlib.h>

#define CHUNK        65536
#define GZIP_WRAPPER 16 /* zlib.h, deflateInit2: added to windowBits for a gzip header */

struct gzip {
	FILE *out;
	z_stream stream;
};

static void deflate_some(struct gzip *to, const char *bytes, size_t size, int flush)
{
	uint8_t buffer[CHUNK];
	int status;

	to->stream.next_in = (uint8_t *)bytes;
	to->stream.avail_in = (uInt)size;
	do {
		to->stream.next_out = buffer;
		to->stream.avail_out = sizeof(buffer);
		status = deflate(&to->stream, flush);
		fwrite(buffer, 1, sizeof(buffer) - to->stream.avail_out, to->out);
	} while (status == Z_OK && !to->stream.avail_out);
}

static ssize_t gzip_write(void *cookie, const char *bytes, size_t size)
{
	struct gzip *to = cookie;
	size_t at, part;

	for (at = 0; at < size; at += part) {
		part = size - at < CHUNK ? size - at : CHUNK;
		deflate_some(to, bytes + at, part, Z_NO_FLUSH);
	}
	return (ssize_t)size;
}

static int gzip_close(void *cookie)
{
	struct gzip *to = cookie;

	deflate_some(to, NULL, 0, Z_FINISH);
	deflateEnd(&to->stream);
	free(to);
	return 0;
}

FILE *export_gzip(FILE *out)
{
	const cookie_io_functions_t functions = {.write = gzip_write, .close = gzip_close};
	struct gzip *to = calloc(1, sizeof(*to));
	FILE *stream;

	if (!to)
		return NULL;
	to->out = out;
	if (deflateInit2(&to->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + GZIP_WRAPPER, 8,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(to);
		return NULL;
	}
	stream = fopencookie(to, "w", functions);
	if (!stream) {
		deflateEnd(&to->stream);
		free(to);
		return NULL;
	}
	setvbuf(stream, NULL, _IOFBF, CHUNK);
	return stream;
}

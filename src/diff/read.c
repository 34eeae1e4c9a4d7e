// SPDX-License-Identifier: GPL-2.0-or-later
#include "diff/read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "diff/reader.h"

#define CHUNK        65536u
#define GZIP_WRAPPER 16 /* zlib.h, inflateInit2: added to windowBits for a gzip header */
#define SNIFFED      4096u

struct bytes {
	VEC(uint8_t) vec;
};

int reader_no_memory(struct reader *reader)
{
	return diag_fail(reader->diag, ENOMEM, "read.memory", "not enough memory to read it");
}

static int too_large(struct diag *diag)
{
	return diag_fail(diag, EFBIG, "read.large", "larger than strata reads (%u MiB, also unpacked)",
			 READ_BYTES_MAX >> 20);
}

int reader_frame(struct reader *reader, uint32_t frame)
{
	if (reader->stack.count >= READ_DEPTH_MAX || reader->frames >= READ_FRAMES_MAX)
		return diag_fail(reader->diag, EFBIG, "read.frames",
				 "more than %d frames in a stack, or %u million in all", READ_DEPTH_MAX,
				 READ_FRAMES_MAX >> 20);
	reader->frames++;
	return vec_push(&reader->stack, frame) ? reader_no_memory(reader) : 0;
}

int reader_sample(struct reader *reader, const char *comm, uint64_t count, uint64_t waits)
{
	bool times = reader->recording->kind != READ_SAMPLES;
	double squares = times ? (double)count * (double)count / (double)(waits ? waits : 1) : 0;
	const struct profile_sample sample = {.comm = comm,
					      .count = reader->side == READ_AFTER ? count : 0,
					      .before = reader->side == READ_BEFORE ? count : 0,
					      .squares = reader->side == READ_AFTER ? squares : 0,
					      .squares_before = reader->side == READ_BEFORE ? squares : 0,
					      .depth = (uint32_t)reader->stack.count,
					      .frames = reader->stack.at};
	int err;

	/* Sums stay exact in a double, which is what the page has. */
	if (count > (1ull << 53) - reader->recording->samples)
		return diag_fail(reader->diag, EINVAL, "read.count", "the sum of all samples is too large to be true");
	err = profile_add_sample(reader->profile, &sample, NULL);
	reader->recording->samples += count;
	reader->recording->squares += squares;
	reader->stack.count = 0;
	return err ? reader_no_memory(reader) : 0;
}

/* Folded stacks are text; each writer of pprof's format begins with fields whose tags or lengths are controls. */
static bool is_text(const uint8_t *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size && i < SNIFFED; i++)
		if (bytes[i] < 0x20 && bytes[i] != '\t' && bytes[i] != '\n' && bytes[i] != '\r')
			return false;
	return true;
}

static int inflate_all(const uint8_t *packed, size_t size, struct bytes *ret, struct diag *diag)
{
	z_stream stream = {.next_in = (uint8_t *)packed, .avail_in = (uInt)size};
	int status = inflateInit2(&stream, MAX_WBITS + GZIP_WRAPPER);
	int err = status == Z_OK ? 0 : -ENOMEM;

	while (!err && status == Z_OK) {
		if (vec_reserve(&ret->vec, CHUNK)) {
			err = -ENOMEM;
			break;
		}
		stream.next_out = ret->vec.at + ret->vec.count;
		stream.avail_out = CHUNK;
		status = inflate(&stream, Z_NO_FLUSH);
		ret->vec.count += CHUNK - stream.avail_out;
		if (ret->vec.count > READ_BYTES_MAX)
			err = too_large(diag);
	}
	inflateEnd(&stream);
	if (err == -ENOMEM)
		return diag_fail(diag, ENOMEM, "read.memory", "not enough memory to unpack it");
	if (!err && status != Z_STREAM_END)
		return diag_fail(diag, EINVAL, "read.gzip", "its compressed data is damaged or cut off");
	return err;
}

static int read_plain(const uint8_t *bytes, size_t size, struct reader *reader)
{
	struct cursor cursor = cursor_init(bytes, size);
	int err = is_text(bytes, size) ? read_folded(reader, &cursor) : read_pprof(reader, &cursor);

	vec_free(&reader->stack);
	return err;
}

int read_bytes(const uint8_t *bytes, size_t size, enum read_side side, struct profile *profile, struct recording *ret,
	       struct diag *diag)
{
	struct recording recording = {};
	struct reader reader = {.profile = profile, .side = side, .recording = &recording, .diag = diag};
	struct bytes unpacked = {};
	int err;

	if (size > READ_BYTES_MAX)
		return too_large(diag);
	if (size >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b) {
		err = inflate_all(bytes, size, &unpacked, diag);
		if (!err)
			err = read_plain(unpacked.vec.at, unpacked.vec.count, &reader);
		vec_free(&unpacked.vec);
	} else {
		err = read_plain(bytes, size, &reader);
	}
	if (!err)
		*ret = recording;
	return err;
}

static int read_all(int fd, struct bytes *ret, struct diag *diag)
{
	ssize_t got = 1;

	while (got > 0) {
		if (vec_reserve(&ret->vec, CHUNK))
			return diag_fail(diag, ENOMEM, "read.memory", "not enough memory to read it");
		got = read(fd, ret->vec.at + ret->vec.count, CHUNK);
		if (got < 0 && errno == EINTR)
			got = 1;
		else if (got < 0)
			return diag_fail(diag, errno, "read.file", "%s", strerror(errno));
		else
			ret->vec.count += (size_t)got;
		if (ret->vec.count > READ_BYTES_MAX)
			return too_large(diag);
	}
	return 0;
}

int read_file(const char *path, enum read_side side, struct profile *profile, struct recording *ret, struct diag *diag)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct bytes bytes = {};

	if (fd < 0)
		return diag_fail(diag, errno, "read.file", "%s: %s", path, strerror(errno));
	err = read_all(fd, &bytes, diag);
	close(fd);
	if (!err)
		err = read_bytes(bytes.vec.at, bytes.vec.count, side, profile, ret, diag);
	vec_free(&bytes.vec);
	if (err)
		diag_prefix(diag, "%s", path);
	return err;
}

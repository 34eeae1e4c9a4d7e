// SPDX-License-Identifier: GPL-2.0-or-later
/* What is put in comes out whole and in order, and stays where it is while more is put in. */
#include <stdint.h>
#include <string.h>

#include "kernel/backlog.h"
#include "tap.h"

#define RECORDS 500

/* Of all sizes up to some blocks. */
static size_t size_of(unsigned int i)
{
	return i % 100 == 99 ? 70000 + i : i * 37 % 3000 + 1;
}

static int put(struct backlog *backlog, unsigned int i)
{
	static uint8_t bytes[80000];

	memset(bytes, (int)(i % 251), size_of(i));
	return backlog_put(backlog, bytes, size_of(i));
}

static bool is_record(const uint8_t *bytes, size_t size, unsigned int i)
{
	return bytes && size == size_of(i) && !((uintptr_t)bytes & 7) && bytes[0] == i % 251 &&
	       !memcmp(bytes, bytes + 1, size - 1);
}

int main(void)
{
	struct backlog backlog = {};
	unsigned int i, put_in = 0, right = 0;
	const uint8_t *bytes;
	size_t size;

	ok(!backlog_take(&backlog, &size), "nothing in it");
	for (; put_in < RECORDS / 2; put_in++)
		if (put(&backlog, put_in))
			break;
	for (i = 0; i < RECORDS; i++) {
		bytes = backlog_take(&backlog, &size);
		for (; bytes && put_in < RECORDS && put_in < RECORDS / 2 + 2 * i; put_in++)
			if (put(&backlog, put_in))
				break;
		right += is_record(bytes, size, i);
	}
	is_int(right, RECORDS, "each record, in order, whole while others came");
	ok(!backlog_take(&backlog, &size), "and no more");
	ok(backlog.bytes <= 64 << 10, "what is empty takes little");
	for (i = 0, right = 0; i < RECORDS && !put(&backlog, 1); i++) {
		bytes = backlog_take(&backlog, &size);
		right += is_record(bytes, size, 1) && !backlog_take(&backlog, &size) && backlog.bytes <= 64 << 10;
	}
	is_int(right, RECORDS, "one at a time: its room is used again");
	backlog_deinit(&backlog);
	ok(!backlog.first && !backlog.bytes, "gone");
	return tap_done();
}

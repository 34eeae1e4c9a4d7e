// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A ZIP archive (PKWARE's APPNOTE.TXT, 4.3) is read from its end:
 *
 *   ... local header, name, extra, data ...      central directory           end record, comment
 *       ▲                                        entry, name, extra, comment   │ entries, size, offset
 *       └─────────────────── offset ─────────────┘ ▲ ... ◄─────────────────────┘
 *
 * Where the data begins only the local header says, whose extra field may have another length than the entry's: the
 * tools that align libraries to pages pad it.
 */
#include "elf/zip.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"

#define END_SIGNATURE   0x06054b50u
#define ENTRY_SIGNATURE 0x02014b50u
#define LOCAL_SIGNATURE 0x04034b50u
#define END_SIZE        22
#define LOCAL_SIZE      30
#define COMMENT_MAX     0xffffu
#define DIRECTORY_MAX   (64u << 20) /* 65,534 entries with names of 1,000 bytes */
#define IS_ENCRYPTED    1u
#define STORED          0

struct directory {
	uint8_t *bytes;
	uint64_t offset, size;
	uint32_t count;
};

/* `size` bytes, in new memory; NULL, with *err, when there are fewer. */
static uint8_t *read_bytes(struct foreign_file *file, uint64_t offset, size_t size, int *err)
{
	uint8_t *bytes = malloc(size ? size : 1);
	ssize_t got = bytes ? foreign_read(file, bytes, size, offset) : -ENOMEM;

	if (got == (ssize_t)size)
		return bytes;
	free(bytes);
	*err = got < 0 ? (int)got : -ENOEXEC;
	return NULL;
}

/* An end record whose comment reaches to the archive's end, and whose directory lies before it. */
static int parse_end(struct cursor c, uint64_t position, struct directory *ret)
{
	uint32_t signature = cursor_u32(&c), disks = cursor_u32(&c), here = cursor_u16(&c), all = cursor_u16(&c);
	uint32_t size = cursor_u32(&c), offset = cursor_u32(&c), comment = cursor_u16(&c);

	if (!cursor_ok(&c) || signature != END_SIGNATURE || comment != cursor_left(&c))
		return -ENOEXEC;
	if (all == 0xffff || size == 0xffffffff || offset == 0xffffffff)
		return -ENOTSUP;
	if (disks || here != all || (uint64_t)offset + size > position || size > DIRECTORY_MAX)
		return -ENOEXEC;
	*ret = (struct directory){.offset = offset, .size = size, .count = all};
	return 0;
}

static int find_end(struct foreign_file *file, uint64_t size, struct directory *ret)
{
	size_t length = size < END_SIZE + COMMENT_MAX ? (size_t)size : END_SIZE + COMMENT_MAX, at;
	uint64_t start = size - length;
	int err = -ENOEXEC;
	uint8_t *tail = length < END_SIZE ? NULL : read_bytes(file, start, length, &err);

	/* The last one, as a comment stands behind it. */
	for (at = length; tail && at >= END_SIZE && err == -ENOEXEC; at--) {
		size_t from = at - END_SIZE;

		err = parse_end(cursor_init(tail + from, length - from), start + from, ret);
	}
	free(tail);
	return err;
}

/* Where an entry's data begins; 0: nowhere. */
static uint64_t find_data(struct foreign_file *file, uint64_t header)
{
	uint8_t bytes[LOCAL_SIZE];
	struct cursor c = cursor_init(bytes, sizeof(bytes));
	uint64_t name, extra;

	if (foreign_read(file, bytes, sizeof(bytes), header) != (ssize_t)sizeof(bytes) ||
	    cursor_u32(&c) != LOCAL_SIGNATURE || !cursor_seek(&c, 26))
		return 0;
	name = cursor_u16(&c);
	extra = cursor_u16(&c);
	return header + LOCAL_SIZE + name + extra;
}

/* The next entry of the directory; false when it is damaged. `name` has room for 65,536 bytes. */
static bool next_entry(struct foreign_file *file, struct cursor *c, uint64_t end, char *name, struct zip_entry *ret,
		       bool *usable)
{
	uint32_t signature = cursor_u32(c), versions = cursor_u32(c), flags = cursor_u16(c), method = cursor_u16(c);
	const uint8_t *text;
	uint32_t times = cursor_u32(c), crc = cursor_u32(c), packed = cursor_u32(c), size = cursor_u32(c), header;
	uint16_t name_size = cursor_u16(c), extra_size = cursor_u16(c), comment_size = cursor_u16(c);

	(void)versions;
	(void)times;
	(void)crc;
	cursor_skip(c, 8); /* the disk, attributes */
	header = cursor_u32(c);
	text = cursor_take(c, name_size);
	cursor_skip(c, (size_t)extra_size + comment_size);
	if (!cursor_ok(c) || signature != ENTRY_SIGNATURE)
		return false;
	memcpy(name, text, name_size);
	name[name_size] = '\0';
	*usable = false;
	if (method != STORED || (flags & IS_ENCRYPTED) || packed != size || !size || strlen(name) != name_size)
		return true;
	*ret = (struct zip_entry){name, find_data(file, header), size};
	*usable = ret->offset && ret->offset <= end && ret->size <= end - ret->offset;
	return true;
}

int zip_each(struct foreign_file *file, void (*each)(void *context, const struct zip_entry *entry), void *context)
{
	struct directory directory = {};
	struct zip_entry entry;
	struct stat stat;
	char *name = NULL;
	struct cursor c;
	uint32_t i;
	int err = foreign_stat(file, &stat);

	if (!err)
		err = stat.st_size < 0 ? -ENOEXEC : find_end(file, (uint64_t)stat.st_size, &directory);
	if (err)
		return err;
	directory.bytes = read_bytes(file, directory.offset, directory.size, &err);
	name = directory.bytes ? malloc(COMMENT_MAX + 1) : NULL;
	if (directory.bytes && !name)
		err = -ENOMEM;
	c = cursor_init(directory.bytes, directory.size);
	for (i = 0; !err && i < directory.count; i++) {
		bool usable;

		if (!next_entry(file, &c, directory.offset, name, &entry, &usable))
			err = -ENOEXEC;
		else if (usable)
			each(context, &entry);
	}
	free(directory.bytes);
	free(name);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/zip.h"
#include "tap.h"

#define STORED    0
#define DEFLATED  8
#define ENCRYPTED 1

struct archive {
	uint8_t at[8192];
	size_t size;
	uint8_t directory[4096];
	size_t directory_size;
	uint16_t count;
};

static void put(uint8_t *at, size_t *size, uint64_t value, size_t bytes)
{
	memcpy(at + *size, &value, bytes); /* the machine's order is the archive's */
	*size += bytes;
}

/* A file of `length` bytes 'x' whose local extra field has `padding` bytes, and whose entry has none. */
static void put_file(struct archive *a, const char *name, uint16_t method, uint16_t flags, uint32_t length,
		     uint16_t padding)
{
	size_t header = a->size, name_size = strlen(name);

	put(a->at, &a->size, 0x04034b50, 4);
	memset(a->at + a->size, 0, 22);
	a->size += 22;
	put(a->at, &a->size, name_size, 2);
	put(a->at, &a->size, padding, 2);
	memcpy(a->at + a->size, name, name_size);
	memset(a->at + a->size + name_size, 0, padding);
	a->size += name_size + padding;
	memset(a->at + a->size, 'x', length);
	a->size += length;

	put(a->directory, &a->directory_size, 0x02014b50, 4);
	put(a->directory, &a->directory_size, 0, 4);
	put(a->directory, &a->directory_size, flags, 2);
	put(a->directory, &a->directory_size, method, 2);
	put(a->directory, &a->directory_size, 0, 8);
	put(a->directory, &a->directory_size, length, 4);
	put(a->directory, &a->directory_size, length, 4);
	put(a->directory, &a->directory_size, name_size, 2);
	put(a->directory, &a->directory_size, 0, 4); /* no extra field, no comment */
	put(a->directory, &a->directory_size, 0, 8);
	put(a->directory, &a->directory_size, header, 4);
	memcpy(a->directory + a->directory_size, name, name_size);
	a->directory_size += name_size;
	a->count++;
}

static void put_end(struct archive *a, const char *comment)
{
	size_t offset = a->size;

	memcpy(a->at + a->size, a->directory, a->directory_size);
	a->size += a->directory_size;
	put(a->at, &a->size, 0x06054b50, 4);
	put(a->at, &a->size, 0, 4);
	put(a->at, &a->size, a->count, 2);
	put(a->at, &a->size, a->count, 2);
	put(a->at, &a->size, a->directory_size, 4);
	put(a->at, &a->size, offset, 4);
	put(a->at, &a->size, strlen(comment), 2);
	memcpy(a->at + a->size, comment, strlen(comment));
	a->size += strlen(comment);
}

struct listing {
	char text[512];
	const struct archive *archive;
	bool wrong; /* bytes that are not the file's */
};

static void each(void *context, const struct zip_entry *entry)
{
	struct listing *listing = context;
	uint64_t i;

	snprintf(listing->text + strlen(listing->text), sizeof(listing->text) - strlen(listing->text), "%s:%d ",
		 entry->name, (int)entry->size);
	for (i = 0; i < entry->size; i++)
		listing->wrong |= listing->archive->at[entry->offset + i] != 'x';
}

static int list(const struct archive *a, size_t size, struct listing *ret)
{
	int fd = memfd_create("archive", MFD_CLOEXEC), err = -EIO;
	struct foreign_file *file;

	*ret = (struct listing){.archive = a};
	if (write(fd, a->at, size) != (ssize_t)size)
		return -EIO;
	file = foreign_wrap(fd);
	if (file)
		err = zip_each(file, each, ret);
	foreign_close(file);
	return err;
}

static void build(struct archive *a, const char *comment)
{
	*a = (struct archive){};
	put_file(a, "lib/a.so", STORED, 0, 100, 0);
	put_file(a, "lib/deflated.so", DEFLATED, 0, 50, 3);
	put_file(a, "lib/encrypted.so", STORED, ENCRYPTED, 50, 0);
	put_file(a, "lib/b.so", STORED, 0, 70, 33);
	put_file(a, "folder/", STORED, 0, 0, 0);
	put_end(a, comment);
}

static void test_whole(void)
{
	struct listing listing;
	struct archive a;

	build(&a, "");
	is_int(list(&a, a.size, &listing), 0, "zip: read");
	is_str(listing.text, "lib/a.so:100 lib/b.so:70 ", "zip: what is stored, with its sizes");
	ok(!listing.wrong, "zip: the bytes are the files', behind names and padding");
	build(&a, "a comment, with PK\5\6 in it, which could begin an end record");
	is_int(list(&a, a.size, &listing), 0, "zip: with a comment");
	is_str(listing.text, "lib/a.so:100 lib/b.so:70 ", "zip: the same files");
}

static void test_damaged(void)
{
	struct listing listing;
	struct archive a, b;
	size_t i, size;
	bool inside = true;

	build(&a, "");
	for (size = 0; size < a.size; size++)
		inside &= list(&a, size, &listing) == -ENOEXEC && !*listing.text;
	ok(inside, "zip: cut anywhere, it is none");
	/* Each byte changed: no file is told whose bytes lie outside. */
	for (i = 0; i < a.size; i++) {
		b = a;
		b.at[i] ^= 0xff;
		list(&b, b.size, &listing);
	}
	ok(true, "zip: any byte changed");
	b = a;
	memset(b.at + b.size - 12, 0xff, 2); /* the number of entries, which stands at two places */
	memset(b.at + b.size - 14, 0xff, 2);
	is_int(list(&b, b.size, &listing), -ENOTSUP, "zip: ZIP64 is refused");
	b = a;
	b.at[b.size - 22 - b.directory_size] ^= 1;
	is_int(list(&b, b.size, &listing), -ENOEXEC, "zip: an entry without its signature");
	b = a;
	b.at[0] ^= 1;
	is_int(list(&b, b.size, &listing), 0, "zip: a file without its local header");
	is_str(listing.text, "lib/b.so:70 ", "zip: the others are there");
	b = a;
	memset(b.at + b.size - 22 - b.directory_size + 20, 0x7f, 8); /* both sizes of the first file */
	list(&b, b.size, &listing);
	is_str(listing.text, "lib/b.so:70 ", "zip: not a file that is larger than the archive");
}

int main(void)
{
	test_whole();
	test_damaged();
	return tap_done();
}

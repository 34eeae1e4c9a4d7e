// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/notes.h"
#include "elf_builder.h"
#include "tap.h"

struct bytes {
	uint8_t at[1024];
	size_t size;
};

static void put(struct bytes *b, const void *bytes, size_t size)
{
	memcpy(b->at + b->size, bytes, size);
	b->size += size;
	while (b->size % 4)
		b->at[b->size++] = 0;
}

/* A note; `texts` are provider, name and arguments with their terminators. */
static void put_note(struct bytes *b, const char *owner, uint32_t type, uint64_t site, uint64_t base,
		     uint64_t semaphore, const char *texts, size_t texts_size)
{
	uint32_t head[] = {(uint32_t)strlen(owner) + 1, (uint32_t)(24 + texts_size), type};
	uint64_t addresses[] = {site, base, semaphore};

	put(b, head, sizeof(head));
	put(b, owner, head[0]);
	put(b, addresses, sizeof(addresses));
	put(b, texts, texts_size);
}

#define TEXTS(texts) texts, sizeof(texts)

static struct elf_marker *read_markers(const struct bytes *notes, bool with_base, uint64_t *base, size_t *count)
{
	struct elf_builder b = elf_builder_init();
	struct elf_marker *markers = NULL;
	static struct elf_file *elf;
	static uint8_t *image;

	elf_file_close(elf);
	free(image);
	elf_builder_section(&b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL, 0x100);
	elf_builder_section(&b, ".note.stapsdt", SHT_NOTE, 0, notes->at, notes->size);
	if (with_base)
		*base = elf_builder_section(&b, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, "", 1)->sh_addr;
	elf_builder_finish(&b, 0);
	if (elf_file_open_memory(b.bytes, b.size, "image", &elf, NULL) || elf_file_markers(elf, &markers, count))
		*count = SIZE_MAX;
	image = b.bytes;
	return markers;
}

static void test_markers(void)
{
	struct elf_marker *markers;
	struct bytes notes = {};
	uint64_t base = 0;
	size_t count;

	put_note(&notes, "stapsdt", 3, 0x30, 0x1000, 0, TEXTS("b\0two\08@%rax"));
	put_note(&notes, "stapsdt", 3, 0x20, 0x1000, 0x500, TEXTS("a\0one\0"));
	put_note(&notes, "GNU", 3, 1, 0x1000, 1, TEXTS("a\0other owner\0"));
	put_note(&notes, "stapsdt", 4, 1, 0x1000, 1, TEXTS("a\0other type\0"));
	put_note(&notes, "stapsdt", 3, 0x10, 0x1000, 0x500, TEXTS("a\0one\0-4@%edi"));
	markers = read_markers(&notes, false, &base, &count);
	is_int(count, 3, "three sites; another owner's and another type's notes are none");
	is_str(markers[0].provider, "a", "sorted: provider");
	is_str(markers[0].name, "one", "name");
	is_str(markers[0].arguments, "-4@%edi", "arguments");
	is_int(markers[0].site, 0x10, "the lower site first");
	is_int(markers[0].semaphore, 0x500, "semaphore");
	is_int(markers[1].site, 0x20, "the other site");
	is_str(markers[1].arguments, "", "no arguments");
	is_str(markers[2].name, "two", "another provider");
	is_int(markers[2].semaphore, 0, "no semaphore");
	free(markers);

	markers = read_markers(&notes, true, &base, &count);
	is_int(markers[0].site, base - 0x1000 + 0x10, "the file was moved: the site, too");
	is_int(markers[0].semaphore, base - 0x1000 + 0x500, "and the semaphore");
	is_int(markers[2].semaphore, 0, "but not one that is not there");
	free(markers);
}

static void test_damaged(void)
{
	struct bytes notes = {}, none = {};
	struct elf_marker *markers;
	uint64_t base;
	size_t count, i, wrong = 0;

	put_note(&notes, "stapsdt", 3, 0x30, 0, 0, "a\0no end", 8);
	put_note(&notes, "stapsdt", 3, 0x30, 0, 0, "a\0no arguments", 15);
	put_note(&notes, "stapsdt", 3, 0x30, 0, 0, "", 0);
	put_note(&notes, "stapsdt", 3, 0x20, 0, 0, TEXTS("a\0whole\0"));
	markers = read_markers(&notes, false, &base, &count);
	is_int(count, 1, "notes without their texts are left out");
	is_str(count == 1 ? markers->name : NULL, "whole", "and the next one is read");
	free(markers);
	for (i = 1; i < notes.size; i++) {
		struct bytes cut = notes;

		cut.size = i;
		markers = read_markers(&cut, false, &base, &count);
		/* Only the padding behind the last one may be missing. */
		wrong += count != (i + 3 >= notes.size);
		free(markers);
	}
	is_int(wrong, 0, "cut anywhere, there is none");
	markers = read_markers(&none, false, &base, &count);
	ok(!markers && !count, "an empty section");
	memset(notes.at, 0xff, notes.size);
	markers = read_markers(&notes, false, &base, &count);
	ok(!markers && !count, "sizes of 4 GiB");
}

int main(void)
{
	test_markers();
	test_damaged();
	return tap_done();
}

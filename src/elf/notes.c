// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A note of .note.stapsdt (SystemTap's sys/sdt.h, version 3 of the format):
 *
 *   namesz u32 · descsz u32 · type u32 = 3 · "stapsdt\0" · descriptor, each padded to 4 bytes
 *   descriptor: site u64 · base u64 · semaphore u64 · provider\0 · name\0 · arguments\0
 *
 * The addresses are those that the linker gave. What moves a file's sections later (prelink) cannot know the note, but
 * moves the section .stapsdt.base too: all addresses are off by the difference of its address and `base`.
 */
#include "elf/notes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
#include "base/vec.h"

#define NOTE_OWNER  "stapsdt"
#define NT_STAPSDT  3
#define NOTE_ALIGN  4
#define MARKERS_MAX 65536

static bool skip_padding(struct cursor *c)
{
	size_t padding = -cursor_position(c) & (NOTE_ALIGN - 1);

	return cursor_skip(c, padding < cursor_left(c) ? padding : cursor_left(c));
}

/* Reads one note; false when the rest is none. *is_marker tells whether *ret was set. */
static bool read_note(struct cursor *c, uint64_t base_vaddr, struct elf_marker *ret, bool *is_marker)
{
	uint32_t name_size = cursor_u32(c), size = cursor_u32(c), type = cursor_u32(c);
	const uint8_t *owner = cursor_take(c, name_size);
	struct elf_marker marker = {};
	struct cursor descriptor;
	uint64_t base;

	skip_padding(c);
	descriptor = cursor_sub(c, size);
	skip_padding(c);
	*is_marker = false;
	if (!cursor_ok(c))
		return false;
	if (type != NT_STAPSDT || name_size != sizeof(NOTE_OWNER) || memcmp(owner, NOTE_OWNER, sizeof(NOTE_OWNER)))
		return true;
	marker.site = cursor_u64(&descriptor);
	base = cursor_u64(&descriptor);
	marker.semaphore = cursor_u64(&descriptor);
	marker.provider = cursor_string(&descriptor);
	marker.name = cursor_string(&descriptor);
	marker.arguments = cursor_string(&descriptor);
	if (!cursor_ok(&descriptor))
		return true;
	if (base_vaddr && base) {
		marker.site += base_vaddr - base;
		if (marker.semaphore)
			marker.semaphore += base_vaddr - base;
	}
	*ret = marker;
	*is_marker = true;
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct elf_marker *a = left, *b = right;
	int order = strcmp(a->provider, b->provider);

	if (!order)
		order = strcmp(a->name, b->name);
	return order ? order : (a->site > b->site) - (a->site < b->site);
}

int elf_file_markers(const struct elf_file *elf, struct elf_marker **ret, size_t *count)
{
	VEC(struct elf_marker) markers = {};
	struct elf_section notes, base = {};
	struct elf_marker marker;
	bool is_marker;
	struct cursor c;

	if (!elf_file_section(elf, ".note.stapsdt", &notes) || !notes.bytes) {
		*ret = NULL;
		*count = 0;
		return 0;
	}
	elf_file_section_header(elf, ".stapsdt.base", &base);
	c = cursor_init(notes.bytes, notes.size);
	while (!cursor_at_end(&c) && markers.count < MARKERS_MAX && read_note(&c, base.vaddr, &marker, &is_marker)) {
		if (is_marker && vec_push(&markers, marker)) {
			vec_free(&markers);
			return -ENOMEM;
		}
	}
	if (markers.count)
		qsort(markers.at, markers.count, sizeof(*markers.at), compare);
	*ret = markers.at;
	*count = markers.count;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a part of a large file is compiled:
 *
 *   .eh_frame_hdr   each 64th start is kept ─► the rows of the index around a part ─► offsets of its FDEs
 *   .eh_frame       an image of the section: empty memory, except where the FDEs of the part and their CIEs were read
 *
 * A part begins with the last two FDEs before it. The later one may reach into the part; the other one says what is
 * before that.
 */
#include "unwind/unwind_parts.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "unwind/builder.h"

#define SECTION_MAX  (1ull << 30)
#define INDEX_AT     12u /* behind version, encodings, pointer and count: see find_fde.c */
#define INDEX_ROW    8u
#define INDEX_STEP   64u /* rows; of each so many the first one's start is kept */
#define INDEX_BUFFER (64u << 10)
#define CHUNK        (16u << 10) /* bytes of .eh_frame that are read at once */
#define FDE_MAX      (1u << 20)  /* bytes of an FDE; larger ones are not taken */
#define CIE_MAX      1024u
#define SLACK        64u /* bytes around a part that are looked at, for instructions across its ends */
#define CONTEXT      1   /* FDEs before the one that reaches into a part */

struct unwind_parts {
	uint64_t base, end;
	struct elf_section frame, index; /* without bytes */
	uint32_t count;                  /* of the index */
	VEC(uint32_t) starts;            /* of its rows 0, INDEX_STEP, ...; from the base */
	/* What builder_find_fillers() found. */
	rule_ranges fixed, derived;
	bool has_entry;
	uint32_t entry;
	bool knows_code; /* what code without FDEs does was found out */
};

/* An image of .eh_frame. */
struct image {
	const struct elf_file *elf;
	const struct elf_section *section;
	uint8_t *bytes;
	uint8_t *read; /* chunks: 1 when it was */
};

/* Rows of the index, some at a time. */
struct index_reader {
	const struct unwind_parts *parts;
	const struct elf_file *elf;
	uint64_t first, count;
	int32_t rows[2 * INDEX_STEP];
};

static bool read_rows(const struct unwind_parts *parts, const struct elf_file *elf, uint64_t first, uint64_t count,
		      int32_t *ret)
{
	return elf_file_copy_at(elf, parts->index.vaddr + INDEX_AT + first * INDEX_ROW, count * INDEX_ROW, ret);
}

/* Where the FDE of a row begins, and where it lies. */
static bool index_row(struct index_reader *reader, uint64_t row, uint64_t *start, uint64_t *fde)
{
	const struct unwind_parts *parts = reader->parts;

	if (row >= parts->count)
		return false;
	if (row < reader->first || row - reader->first >= reader->count) {
		reader->first = row;
		reader->count = parts->count - row < INDEX_STEP ? parts->count - row : INDEX_STEP;
		if (!read_rows(parts, reader->elf, row, reader->count, reader->rows)) {
			reader->count = 0;
			return false;
		}
	}
	*start = parts->index.vaddr + (uint64_t)(int64_t)reader->rows[2 * (row - reader->first)];
	*fde = parts->index.vaddr + (uint64_t)(int64_t)reader->rows[2 * (row - reader->first) + 1];
	return true;
}

/* Keeps some of the starts. False when they are not in order, or there is no memory. */
static bool read_index(struct unwind_parts *parts, const struct elf_file *elf, int32_t *buffer)
{
	const uint64_t step = INDEX_BUFFER / INDEX_ROW;
	uint64_t row, i, before = 0;

	for (row = 0; row < parts->count; row += step) {
		uint64_t count = parts->count - row < step ? parts->count - row : step;

		if (!read_rows(parts, elf, row, count, buffer))
			return false;
		for (i = 0; i < count; i++) {
			uint64_t start = parts->index.vaddr + (uint64_t)(int64_t)buffer[2 * i];

			if (start < before)
				return false;
			before = start;
			/* What a linker discarded stands before the text. */
			start = start < parts->base ? parts->base : start < parts->end ? start : parts->end;
			if ((row + i) % INDEX_STEP == 0 && vec_push(&parts->starts, (uint32_t)(start - parts->base)))
				return false;
		}
	}
	return true;
}

/* The index, if it is one that linkers write. */
static bool find_index(struct unwind_parts *parts, const struct elf_file *elf)
{
	static const uint8_t form[4] = {1, 0x1b, 0x03, 0x3b}; /* version; pcrel sdata4, udata4, datarel sdata4 */
	uint8_t head[INDEX_AT];
	int32_t *buffer;
	bool ret;

	if (!elf_file_section_header(elf, ".eh_frame", &parts->frame) ||
	    !elf_file_section_header(elf, ".eh_frame_hdr", &parts->index) || parts->frame.type == SHT_NOBITS ||
	    parts->frame.size > SECTION_MAX || parts->index.size < INDEX_AT ||
	    !elf_file_copy_at(elf, parts->index.vaddr, sizeof(head), head) || memcmp(head, form, sizeof(form)))
		return false;
	memcpy(&parts->count, head + 8, sizeof(parts->count));
	if (!parts->frame.size || !parts->count || parts->count > UNWIND_FDES_MAX ||
	    parts->count > (parts->index.size - INDEX_AT) / INDEX_ROW)
		return false;
	buffer = malloc(INDEX_BUFFER);
	ret = buffer && read_index(parts, elf, buffer);
	free(buffer);
	return ret;
}

/* Go's tables cover all of the text, and C in it is known by what they leave. */
static bool is_go(const struct elf_file *elf)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab", ".go.buildinfo", ".note.go.buildid",
					    ".note.go.pkg-list"};
	struct elf_section section;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (elf_file_section_header(elf, names[i], &section))
			return true;
	return false;
}

static void take_fillers(struct unwind_parts *parts, struct builder *b)
{
	vec_free(&parts->fixed);
	vec_free(&parts->derived);
	parts->fixed = b->fixed;
	parts->derived = b->derived;
	parts->has_entry = b->has_entry;
	parts->entry = b->entry;
	b->fixed = b->derived = (rule_ranges){};
}

int unwind_parts_create(const struct elf_file *elf, struct unwind_parts **ret, struct diag *diag)
{
	struct unwind_table text = {};
	struct unwind_parts *parts;
	struct builder b;
	int err = builder_init(&b, elf, NULL, &text, diag);

	if (err || text.end - text.base < UNWIND_PARTS_LEAST || is_go(elf))
		return -ENOTSUP;
	parts = calloc(1, sizeof(*parts));
	if (!parts)
		return diag_fail(diag, ENOMEM, "unwind.memory", "%s: out of memory", elf_file_path(elf));
	parts->base = text.base;
	parts->end = text.end;
	err = find_index(parts, elf) ? builder_find_fixed(&b) : -ENOTSUP;
	if (!err)
		take_fillers(parts, &b);
	builder_deinit(&b);
	if (err)
		unwind_parts_destroy(parts);
	else
		*ret = parts;
	return err;
}

void unwind_parts_destroy(struct unwind_parts *parts)
{
	if (!parts)
		return;
	vec_free(&parts->starts);
	vec_free(&parts->fixed);
	vec_free(&parts->derived);
	free(parts);
}

static int image_open(struct image *image, const struct unwind_parts *parts, const struct elf_file *elf)
{
	void *bytes = mmap(NULL, parts->frame.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);

	*image = (struct image){.elf = elf, .section = &parts->frame};
	image->bytes = bytes == MAP_FAILED ? NULL : bytes;
	image->read = calloc(parts->frame.size / CHUNK + 1, 1);
	return image->bytes && image->read ? 0 : -ENOMEM;
}

static void image_close(struct image *image)
{
	if (image->bytes)
		munmap(image->bytes, image->section->size);
	free(image->read);
}

/* Reads what was not yet; false when the file does not have it. */
static bool image_has(struct image *image, uint64_t at, uint64_t size)
{
	const uint64_t end = image->section->size;
	uint64_t chunk;

	if (at > end || size > end - at)
		return false;
	for (chunk = at / CHUNK; size && chunk <= (at + size - 1) / CHUNK; chunk++) {
		uint64_t from = chunk * CHUNK, bytes = end - from < CHUNK ? end - from : CHUNK;

		if (image->read[chunk])
			continue;
		if (!elf_file_copy_at(image->elf, image->section->vaddr + from, bytes, image->bytes + from))
			return false;
		image->read[chunk] = 1;
	}
	return true;
}

/* Has an entry's length read, then, if it is not too long, the entry. */
static bool image_has_entry(struct image *image, uint64_t at, uint32_t most)
{
	uint32_t length;

	if (!image_has(image, at, sizeof(length)))
		return false;
	memcpy(&length, image->bytes + at, sizeof(length));
	return length <= most && image_has(image, at, sizeof(length) + (uint64_t)length);
}

static int collect(struct builder *b, struct image *image, uint64_t fde)
{
	struct eh_entry entry;
	uint64_t at = fde - image->section->vaddr;

	if (fde < image->section->vaddr || !image_has_entry(image, at, FDE_MAX))
		return 0;
	entry = eh_entry_at(&b->frame, (uint32_t)at);
	if (entry.kind != EH_FDE || !image_has_entry(image, entry.cie, CIE_MAX))
		return 0;
	return builder_collect_fde(b, &entry);
}

/* The last row that begins at or before an offset; 0 when none does. */
static uint64_t find_row(struct index_reader *reader, uint32_t offset)
{
	const struct unwind_parts *parts = reader->parts;
	size_t low = 0, high = parts->starts.count;
	uint64_t row, start, fde;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		/* Of equal ones the first, and the one before. */
		if (parts->starts.at[middle] < offset)
			low = middle + 1;
		else
			high = middle;
	}
	row = low ? (low - 1) * INDEX_STEP : 0;
	while (index_row(reader, row + 1, &start, &fde) && start <= parts->base + offset)
		row++;
	return row;
}

/* Collects the FDEs that a part needs. *next: where the first one behind it begins, an offset. 0 or -ENOMEM. */
static int collect_part(struct builder *b, const struct unwind_parts *parts, struct image *image, uint32_t from,
			uint32_t to, uint32_t *next)
{
	struct index_reader reader = {.parts = parts, .elf = b->elf};
	uint64_t row = find_row(&reader, from), start, fde;
	bool first;
	int err = 0;

	first = row <= CONTEXT;
	row = first ? 0 : row - CONTEXT;
	*next = (uint32_t)(parts->end - parts->base);
	if (!first && index_row(&reader, row, &start, &fde))
		b->done = start < parts->base ? 0 : (uint32_t)(start - parts->base);
	for (; !err && index_row(&reader, row, &start, &fde); row++) {
		if (start >= parts->base + to) {
			*next = start < parts->end ? (uint32_t)(start - parts->base) : *next;
			break;
		}
		err = collect(b, image, fde);
	}
	return err ? err : builder_sort_fdes(b);
}

static int compile(const struct unwind_parts *parts, struct image *image, struct builder *b, uint32_t from, uint32_t to)
{
	uint32_t next;
	size_t i;
	int err = collect_part(b, parts, image, from, to, &next);

	for (i = 0; i < b->fdes.count && !err; i++) {
		if (b->fdes.at[i].start < to)
			builder_compile_fde(b, &b->fdes.at[i]);
		err = b->err;
	}
	if (!err && b->done < to)
		builder_fill_gap(b, next > b->done ? next : to);
	return err ? err : b->err;
}

/* *lacks_code: there is code without FDEs in the part, and nothing is known of it yet. */
static int compile_part(struct unwind_parts *parts, const struct elf_file *elf, const struct unwind_options *options,
			uint32_t from, uint32_t to, struct unwind_table *ret, bool *lacks_code, struct diag *diag)
{
	struct unwind_table table = {};
	struct image image;
	struct builder b;
	int err = builder_init(&b, elf, options, &table, diag);

	if (err)
		return err;
	if (table.base != parts->base || table.end != parts->end)
		return diag_fail(diag, EBADMSG, "unwind.changed", "%s: is another file now", elf_file_path(elf));
	err = image_open(&image, parts, elf);
	b.frame = (struct eh_frame){.section = parts->frame, .hdr_vaddr = parts->index.vaddr};
	b.frame.section.bytes = image.bytes;
	b.fixed = parts->fixed;
	b.derived = parts->derived;
	b.has_entry = parts->has_entry;
	b.entry = parts->entry;
	b.is_part = !parts->knows_code;
	b.window = from > SLACK ? from - SLACK : 0;
	b.window_end = to < UINT32_MAX - SLACK ? to + SLACK : UINT32_MAX;
	if (!err)
		err = compile(parts, &image, &b, from, to);
	if (!err)
		err = elf_file_unread(elf);
	if (!err)
		builder_finish(&b);
	*lacks_code = b.lacks_code;
	b.fixed = b.derived = (rule_ranges){};
	builder_deinit(&b);
	image_close(&image);
	if (err)
		return diag_fail(diag, -err, "unwind.read", "%s: %s", elf_file_path(elf), strerror(-err));
	*ret = table;
	return 0;
}

/* Finds out what the code does that no FDE covers, by all FDEs. 0 or a negative errno. */
static int find_code(struct unwind_parts *parts, const struct elf_file *elf, const struct unwind_options *options)
{
	struct unwind_table table = {};
	struct diag diag = {};
	struct builder b;
	int err = builder_init(&b, elf, options, &table, &diag);

	if (!err)
		err = builder_collect_fdes(&b);
	if (!err)
		err = builder_find_fillers(&b);
	if (!err)
		err = elf_file_unread(elf);
	if (!err) {
		take_fillers(parts, &b);
		parts->knows_code = true;
	}
	builder_deinit(&b);
	return err;
}

int unwind_parts_compile(struct unwind_parts *parts, const struct elf_file *elf, const struct unwind_options *options,
			 uint32_t from, uint32_t to, struct unwind_table *ret, struct diag *diag)
{
	struct unwind_table table;
	bool lacks_code;
	int err = compile_part(parts, elf, options, from, to, &table, &lacks_code, diag);

	if (!err && lacks_code) {
		unwind_table_deinit(&table);
		err = find_code(parts, elf, options);
		if (!err)
			err = compile_part(parts, elf, options, from, to, &table, &lacks_code, diag);
	}
	if (!err)
		*ret = table;
	return err;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_lines: the source lines of addresses in one file, and the functions that were inlined there, by its DWARF
 * (dwarf/source.h), as bytes that another process may have written.
 *
 *   file_lines_write()   reads the debug information. Run by the analyser (engine/analyser.h), or here if there is none
 *   file_lines_add()     trusts none of the bytes: each index, size and end of a text is checked
 *
 *   bytes   struct file_lines_head
 *           head.count times struct file_lines_entry: for the addresses that were asked for, in their order; only for
 *           the first ones, if their lines take too much room or time
 *           head.frame_count times struct file_lines_frame
 *           head.text_size bytes of text, the last of which is 0
 */
#ifndef STRATA_ENGINE_FILE_LINES_H
#define STRATA_ENGINE_FILE_LINES_H

#include "base/vec.h"
#include "dwarf/source.h"
#include "elf/debug_file.h"
#include "elf/elf_file.h"

/* libdw reads all of a file's debug information: of larger ones, uncompressed, there are no lines. */
#define FILE_LINES_BYTES_MAX (256ull << 20)

struct file_lines_head {
	uint32_t count, frame_count, text_size;
	uint32_t wants_debug; /* 1: the file has no debug information itself */
	uint32_t has_debug;   /* 1: it was read */
	uint32_t is_cut;      /* 1: there was no time for all addresses */
	struct elf_debug_names debug;
};

_Static_assert(sizeof(struct file_lines_head) % sizeof(uint64_t) == 0, "entries are aligned");

struct file_lines_entry {
	uint64_t vaddr;
	uint32_t first, count; /* frames: the innermost first */
};

/* `function`, `file`: where their text begins; 0: there is none. */
struct file_lines_frame {
	uint32_t function, file, line;
};

/* As zeroes at first. */
struct file_lines {
	VEC(struct file_lines_part { uint8_t *bytes; }) parts;
};

/* Where lines come from. */
struct file_lines_source {
	struct elf_file *elf;            /* closed by file_lines_write() */
	const char *debug_root;          /* not NULL: a debug file is looked for below it, if it takes one */
	struct foreign_file *debug_file; /* else this one is used, if it belongs to the file; may be NULL */
	double seconds;                  /* of CPU time that may be used; 0: no limit */
	bool is_confined;                /* debug_info_options */
};

/* Writes the lines of sorted addresses as at most `most` bytes, malloc'd. 0, or -ENOMEM. */
int file_lines_write(const struct file_lines_source *source, const uint64_t *vaddrs, size_t count, size_t most,
		     uint8_t **bytes, size_t *size);

/*
 * Takes ownership of the answer for these addresses, which are sorted and all larger than those of earlier answers.
 * Returns how many of the addresses the answer covers; or -EBADMSG or -ENOMEM, and the bytes are freed.
 */
ssize_t file_lines_add(struct file_lines *lines, uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count);

/* Drops the bytes that were added last. */
void file_lines_drop(struct file_lines *lines);
void file_lines_deinit(struct file_lines *lines);

/* The head of the bytes that were added last; NULL: none were. */
const struct file_lines_head *file_lines_said(const struct file_lines *lines);

/*
 * The frames of an address, as debug_info_source() gives them, but with names for people. How many; 0: none.
 * The texts live as long as the lines.
 */
size_t file_lines_find(const struct file_lines *lines, uint64_t vaddr, struct source_frame ret[SOURCE_FRAMES_MAX]);

#endif

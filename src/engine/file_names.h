/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_names: the names of addresses in one file, or in one perf map, as bytes that another process may have written.
 *
 *   file_names_write()   parses the file: symbols, functions without one, demangling; file_names_write_map() a perf
 *                        map. Run by the analyser (engine/analyser.h), or here if there is none
 *   file_names_add()     trusts none of the bytes: each index, size and end of a text is checked
 *
 *   bytes   struct file_names_head
 *           head.count times struct file_names_entry: for the addresses that were asked for, in their order. If their
 *           names take too much room, only for the first ones
 *           head.text_size bytes of text, the last of which is 0
 *
 * Whether a name is right cannot be checked. But a wrong answer about a file affects only the names of that file.
 */
#ifndef STRATA_ENGINE_FILE_NAMES_H
#define STRATA_ENGINE_FILE_NAMES_H

#include "base/vec.h"
#include "elf/debug_file.h"
#include "elf/elf_file.h"

#define FILE_NAMES_AT_ONCE (16u << 10) /* addresses that are asked for at once */
#define FILE_NAMES_TEXT    8192        /* bytes of one name; longer ones are cut */

struct file_names_head {
	uint32_t count, text_size;
	uint32_t wants_debug; /* 1: a debug file would be used, if there were one */
	uint16_t has_debug;   /* 1: it was */
	uint16_t too_long;    /* 1: some functions have no name because it is too long: elf_symbols_too_long() */
	struct elf_debug_names debug;
};

_Static_assert(sizeof(struct file_names_head) % sizeof(uint64_t) == 0, "entries are aligned");

/* `symbol`, `shown`: where their text begins; 0: there is none. */
struct file_names_entry {
	uint64_t vaddr, start;
	uint32_t symbol, shown;
};

/* The name of an address. Its strings live as long as the names. */
struct file_name {
	const char *symbol; /* as in the file; NULL: there is none */
	const char *shown;  /* demangled; as in the file if it is not mangled */
	uint64_t start;     /* vaddr of the symbol, or of the function; the address itself if that is not known */
};

/* As zeroes at first. */
struct file_names {
	VEC(struct file_names_part {
		uint8_t *bytes;
		size_t count;
	})
	parts;
};

/* Where names come from. */
struct file_names_source {
	struct elf_file *elf;            /* closed by file_names_write() */
	const char *debug_root;          /* not NULL: debug files are looked for below it (elf/debug_file.h) */
	struct foreign_file *debug_file; /* else this one is used, if it belongs to the file; may be NULL */
};

/*
 * Writes the names of sorted addresses as at most `most` bytes, malloc'd. 0, or -ENOMEM.
 */
struct perf_map;
int file_names_write_map(struct perf_map *map, const uint64_t *addresses, size_t count, size_t most, uint8_t **bytes,
			 size_t *size); /* the same from a perf map */
int file_names_write(const struct file_names_source *source, const uint64_t *vaddrs, size_t count, size_t most,
		     uint8_t **bytes, size_t *size);

/*
 * Takes ownership of the answer for these addresses, which are sorted and all larger than those of earlier answers.
 * Returns how many of the addresses the answer covers, at least 1; or -EBADMSG or -ENOMEM, and the bytes are freed.
 */
ssize_t file_names_add(struct file_names *names, uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count);

/* Drops the bytes that were added last. */
void file_names_drop(struct file_names *names);
void file_names_deinit(struct file_names *names);

/* The head of the bytes that were added last; NULL: none were. */
const struct file_names_head *file_names_said(const struct file_names *names);

/* Have some functions no name because it is too long? */
bool file_names_too_long(const struct file_names *names);

/* False: it was not asked for. */
bool file_names_find(const struct file_names *names, uint64_t vaddr, struct file_name *ret);

#endif

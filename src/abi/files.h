/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files whose tables are in the kernel, by the kernel's identity of a mapped file. With it bpf/find.h finds the
 * mappings of a process by itself, before user space has heard of the process.
 *
 * Device numbers are not compared. So overlay file systems, which report two, need nothing special.
 */
#ifndef STRATA_ABI_FILES_H
#define STRATA_ABI_FILES_H

#include "abi/limits.h"
#include "abi/runtime.h"
#include "abi/types.h"

/*
 * Which file, and which content. The kernel part makes the key and sends it (EVENT_FILE); user space stores it
 * unchanged in the map `files`. While user space has the file open, no other file can get that inode's address. A file
 * that was written to has another time or size.
 */
struct file_key {
	__u64 inode;   /* address of the kernel's struct inode; or FILE_KEY_VDSO */
	__u64 changed; /* st_ctim, ns */
	__u64 size;
};
ABI_ASSERT_SIZE(struct file_key, 24);

#define FILE_KEY_VDSO 1 /* not a file: mapped by the kernel, the same for all processes */

#define FILE_SEGMENTS_MAX 3 /* executable segments; a file with more is not put into the map */

/* The bytes of the file from `offset` up to `end` are in the page index at offset + `shift`. */
struct file_segment {
	__u64 offset, end, shift;
};

struct known_file {
	__u32 page_first; /* as in struct mapping_entry */
	__u32 page_count : 28;
	__u32 kind : 4;
	__u64 base; /* vaddr of the page index's first byte */
	struct file_segment segments[FILE_SEGMENTS_MAX];
	/* The runtime in it, with vaddrs for addresses; tgid and check are 0. RUNTIME_NONE: there is none. */
	struct runtime_process runtime;
};
ABI_ASSERT_SIZE(struct known_file, 200);

/* A map of two words that concern everything the kernel part has found. */
enum found_word {
	FOUND_POSITION,   /* how many entries of `mappings` have been used for runs since the start */
	FOUND_VOID_UNTIL, /* CLOCK_MONOTONIC ns, set by user space: what was found before this time is invalid */
	FOUND_WORDS
};

#endif

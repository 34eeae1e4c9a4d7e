/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * notes: the static markers (SystemTap's SDT, "USDT") that a file declares in .note.stapsdt: names for places in its
 * code at which a tracer may stop. A marker that the compiler inlined or unrolled has several sites.
 */
#ifndef STRATA_ELF_NOTES_H
#define STRATA_ELF_NOTES_H

#include "elf/elf_file.h"

/* One site of a marker. */
struct elf_marker {
	const char *provider, *name;
	const char *arguments; /* where its arguments are, "-4@%eax 8@%rbx"; may be "" */
	uint64_t site;         /* vaddr of the instruction */
	uint64_t semaphore;    /* vaddr of the u16 that a tracer increments to enable the marker; 0: always enabled */
};

/*
 * All sites, sorted by provider, name and site. *ret is malloc'd, NULL when there are none; the caller frees it, the
 * texts live as long as the elf_file. Notes that make no sense are left out. 0, or -ENOMEM.
 */
int elf_file_markers(const struct elf_file *elf, struct elf_marker **ret, size_t *count);

#endif

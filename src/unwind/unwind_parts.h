/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_parts: the rows of a large file, one part of its text at a time. A library of 350 MB has 2.5 million rows, of
 * which a sampled program needs some thousands.
 *
 * `record` uses it for files with 8 MiB of code or more: rows are made where a walk needs them, 1 MiB of code at a
 * time, in 1 to 3 ms. So attaching takes the same time whatever is mapped, and memory depends on what is sampled.
 * `trace` compiles whole files, because its first stacks must not be late.
 *
 * .eh_frame_hdr, in which the linker has sorted the FDEs by start, leads to the FDEs of a part. They are compiled like
 * those of a whole file (unwind_table.h), and the rows are the same, unless FDEs overlap or the index lacks some,
 * which no linker does. Finding the code that has no FDE, and following it, needs all FDEs: that is done once, when a
 * part has such code.
 *
 * Nothing is kept but where things are in the file; each call reads what it needs. Keeping compiled rows on disk would
 * save a millisecond a part, and they would have to be trusted. Not thread-safe. tests/elf/parts.t compares parts with
 * whole files.
 */
#ifndef STRATA_UNWIND_UNWIND_PARTS_H
#define STRATA_UNWIND_UNWIND_PARTS_H

#include "unwind/unwind_table.h"

#define UNWIND_PARTS_LEAST (8ull << 20) /* bytes of text; a smaller file takes some milliseconds as a whole */

struct unwind_parts;

/*
 * 0, or -ENOTSUP if the file must be compiled as a whole: it is small, it is Go's, or it has no sorted index. -ENOMEM.
 */
int unwind_parts_create(const struct elf_file *elf, struct unwind_parts **ret, struct diag *diag);
void unwind_parts_destroy(struct unwind_parts *parts);

/*
 * The rows in force in [from, to), offsets from the base, as a table of the whole text that is only right in this
 * range. To be released with unwind_table_deinit(). `elf` is the same file again. 0, -ENOMEM, or another negative
 * errno: it cannot be read.
 */
int unwind_parts_compile(struct unwind_parts *parts, const struct elf_file *elf, const struct unwind_options *options,
			 uint32_t from, uint32_t to, struct unwind_table *ret, struct diag *diag);

#endif

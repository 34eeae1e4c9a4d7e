/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * unwind_parts: the rows of a large file, a part of its text at a time. A library of 350 MB has 2.5 million rows, of
 * which a program that is sampled needs some thousands.
 *
 * .eh_frame_hdr, in which the linker has sorted the FDEs by where they begin, leads to those of a part. They are
 * compiled as those of a whole file are (unwind_table.h), and the rows are the same, but where FDEs overlap or the
 * index lacks some, as no linker writes them. What takes all FDEs, finding the code that has none and what it does, is
 * done once, when a part has such code.
 *
 * Nothing of the file is kept but where it is; each call reads what it needs. Not thread-safe.
 */
#ifndef STRATA_UNWIND_UNWIND_PARTS_H
#define STRATA_UNWIND_UNWIND_PARTS_H

#include "unwind/unwind_table.h"

struct unwind_parts;

/*
 * 0, or -ENOTSUP when the file is one to be compiled as a whole: it is small, is Go's, or has no index that is in
 * order. -ENOMEM.
 */
int unwind_parts_create(const struct elf_file *elf, struct unwind_parts **ret, struct diag *diag);
void unwind_parts_destroy(struct unwind_parts *parts);

/* The lowest vaddr of the executable segments, and one past the highest. */
void unwind_parts_text(const struct unwind_parts *parts, uint64_t *base, uint64_t *end);

/*
 * The rows in force in [from, to), offsets from the base: a table of the whole text which is right there. To be
 * released with unwind_table_deinit(). `elf` is the same file again. 0, -ENOMEM, or another negative errno: it cannot
 * be read.
 */
int unwind_parts_compile(struct unwind_parts *parts, const struct elf_file *elf, const struct unwind_options *options,
			 uint32_t from, uint32_t to, struct unwind_table *ret, struct diag *diag);

#endif

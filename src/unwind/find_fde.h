/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find_fde: finds the FDE of an address with the table in .eh_frame_hdr, which is sorted by start (LSB Core 5.0,
 * 10.6.2): version 1 · three encodings · .eh_frame's address · number of FDEs · the table. For src/unwind/ only.
 */
#ifndef STRATA_UNWIND_FIND_FDE_H
#define STRATA_UNWIND_FIND_FDE_H

#include "unwind/eh_frame.h"

struct fde_range {
	uint64_t start, end;
	bool signal; /* of a signal trampoline */
};

enum fde_answer {
	FDE_COVERS,  /* *ret is its range */
	FDE_GAP,     /* no FDE covers the address; *ret is the gap between its neighbours */
	FDE_NO_TABLE /* there is no table, or it makes no sense here */
};

/* Takes time that is logarithmic in the table's length. *ret is untouched with FDE_NO_TABLE. */
enum fde_answer fde_by_table(const struct eh_frame *frame, const struct elf_section *hdr, uint64_t vaddr,
			     struct fde_range *ret);

/* The range of an entry that is an FDE. `cie` keeps the last CIE read; at first its .at is UINT32_MAX. */
bool fde_read(const struct eh_frame *frame, const struct eh_entry *entry, struct eh_cie *cie, struct fde_range *ret);

#endif

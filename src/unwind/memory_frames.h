/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * memory_frames: unwind information in a process's memory for code that the process has generated.
 *
 * It is .eh_frame, or .debug_frame brought into that form: the entries are the same but for how an FDE names its CIE
 * (DWARF 5, 6.4.1; LSB Core 5.0, 10.6.1). All of it is hostile; invalid entries are ignored.
 */
#ifndef STRATA_UNWIND_MEMORY_FRAMES_H
#define STRATA_UNWIND_MEMORY_FRAMES_H

#include "unwind/eh_frame.h"
#include "unwind/rule_ranges.h"

/* Rewrites a .debug_frame of 32-bit DWARF in place; what follows the first entry of another form is cut off: how many
 * bytes are left. */
size_t memory_frames_from_debug(uint8_t *bytes, size_t size);

/* The code that the FDEs of a section cover, from the first to the last; false when there is none. */
bool memory_frames_extent(const struct elf_section *section, uint64_t *start, uint64_t *end);

/*
 * The rules of the FDE that covers an address, as ranges of addresses, which are added to *ret. section->vaddr is where
 * its bytes lie in the process. `start` and `end` may be NULL, else they are the FDE's. 0, -ENOENT when there is none
 * whose CFI tells, or -ENOMEM.
 */
int memory_frames_rules(const struct elf_section *section, uint64_t address, rule_ranges *ret, uint64_t *start,
			uint64_t *end);

#endif

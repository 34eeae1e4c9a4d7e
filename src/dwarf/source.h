/* SPDX-License-Identifier: GPL-2.0-or-later */
/* source: from an address to the file and line of its code, and to the functions that were inlined there, by DWARF. */
#ifndef STRATA_DWARF_SOURCE_H
#define STRATA_DWARF_SOURCE_H

#include "dwarf/debug_info.h"

#define SOURCE_FRAMES_MAX 32 /* inlined calls, one in the other, and the function itself; more are left out */

struct source_frame {
	const char *function; /* of an inlined call: as linkers name it, if that is known; NULL: it has none */
	const char *file;     /* with its folder, as the compiler was given it; NULL: not known */
	uint32_t line;        /* 0: not known */
};

/*
 * The functions that are executed at an address, innermost first. The last one is the function whose symbol covers the
 * address; those before it were inlined. For a return address, pass the address before it. Returns how many; 0: nothing
 * is known. The texts live as long as `info`.
 */
size_t debug_info_source(struct debug_info *info, uint64_t vaddr, struct source_frame ret[SOURCE_FRAMES_MAX]);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* lines: from a source file and line to the address of a statement, by DWARF's line tables. */
#ifndef STRATA_DWARF_LINES_H
#define STRATA_DWARF_LINES_H

#include "dwarf/debug_info.h"

enum line_answer {
	LINE_FOUND,
	LINE_NO_FILE,      /* no file of this name has statements */
	LINE_AMBIGUOUS,    /* several have */
	LINE_NO_STATEMENT, /* on this line, or at this column */
};

struct line_place {
	uint64_t vaddr;
	const char *file, *other; /* as the tables name it; LINE_AMBIGUOUS: another one */
	uint32_t before, after;   /* LINE_NO_STATEMENT: the nearest lines that have one; 0: none */
	uint32_t column;          /* LINE_NO_STATEMENT: one that has a statement on the line; 0: none */
};

/*
 * The first statement on a line of the file that is called `file`, or whose path ends with it; at the column, if that
 * is not 0. A statement may have several places (in a loop, in inlined copies). Then it is the one with the lowest
 * address in the first unit that has it. The statement of a function's own line is where its code begins.
 */
enum line_answer debug_info_line(struct debug_info *info, const char *file, uint32_t line, uint32_t column,
				 struct line_place *ret);

/* Is `file` the path, or its last parts? "./" and "x/../" are ignored. */
bool line_path_matches(const char *path, const char *file);

#endif

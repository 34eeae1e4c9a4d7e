/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines: from the offset of an instruction to a line, for each of CPython's line-table formats.
 *
 *   3.6-3.9   co_lnotab       (Objects/lnotab_notes.txt): pairs (unsigned offset delta, signed line delta)
 *   3.10      co_linetable    (PEP 626): pairs of signed line delta with -128 for "no line"
 *   3.11+     location table  (Objects/locations.md)
 *
 * The table is hostile bytes. The result is that of CPython's own PyCode_Addr2Line, with one exception: for an
 * instruction without a line (-128 in 3.10, a location of kind 15; for example COPY_FREE_VARS and MAKE_CELL at the
 * start of a closure) CPython gives -1. Here it is the line of the entry before it in the table, or co_firstlineno if
 * there was none yet.
 */
#ifndef STRATA_PYTHON_LINES_H
#define STRATA_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of the instruction at `offset` bytes from the start of the bytecode; negative offsets (a frame that
 * has not started) give `firstlineno`. `version` is (major << 8) | minor. Never fails: damaged tables give the line
 * reached so far.
 */
int python_line(uint16_t version, const uint8_t *table, size_t size, int firstlineno, int offset);

#endif

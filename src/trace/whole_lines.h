/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * whole_lines: output that is held back for a while, and then written in pieces that end where lines end. A pipe takes
 * up to PIPE_BUF bytes at once or not at all (pipe(7)). So neither a line of the traced command, which writes to the
 * same pipe, comes in the middle of a line of ours, nor the other way round. Longer lines are in several pieces.
 */
#ifndef STRATA_TRACE_WHOLE_LINES_H
#define STRATA_TRACE_WHOLE_LINES_H

#include <stdio.h>

#define WHOLE_LINES_BYTES ((size_t)1 << 20)

/*
 * The stream gets a buffer of that size, of which only what is used takes memory. It has to be the first thing that is
 * done with it. The buffer is to be freed after fclose(), and never if the stream stays open. NULL: it has its own.
 */
char *whole_lines_begin(FILE *out);
/* Writes what is in the buffer. An error is told by ferror(), as after fflush(). */
void whole_lines_write(FILE *out, const char *buffer);
/* The same, if there may not be room for what is printed next. */
void whole_lines_make_room(FILE *out, const char *buffer);

#endif

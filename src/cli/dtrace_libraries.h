/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * dtrace_libraries: D's libraries, the files *.d of folders that -L and -x libdir name. Their texts come in front of
 * the program, each behind those that its lines "#pragma D depends_on library NAME" name.
 */
#ifndef STRATA_CLI_DTRACE_LIBRARIES_H
#define STRATA_CLI_DTRACE_LIBRARIES_H

#include <stdbool.h>

#include "base/diag.h"
#include "base/vec.h"

struct dtrace_library {
	char *path, *text;
	size_t size;
	size_t begin, end; /* where it is in the whole text */
	bool is_open, is_done;
};

struct dtrace_libraries {
	VEC(struct dtrace_library) of; /* of one folder after the other, by their names */
	VEC(size_t) order;             /* as they are in the text */
};

/* Reads a folder's libraries. A folder that is not there has none, as in dtrace. 0, or a negative errno. */
int dtrace_libraries_read(struct dtrace_libraries *libraries, const char *folder, struct diag *diag);
/* Appends them to the text, in their order. 0, or a negative errno: one that is needed is missing, or needs itself. */
int dtrace_libraries_append(struct dtrace_libraries *libraries, char **text, size_t *size, struct diag *diag);
/* The library that has this place of the text; NULL: it is behind them. */
const struct dtrace_library *dtrace_libraries_find(const struct dtrace_libraries *libraries, size_t place);
void dtrace_libraries_deinit(struct dtrace_libraries *libraries);

#endif

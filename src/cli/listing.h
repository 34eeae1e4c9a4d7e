/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * listing: what `strata list` and `strata trace` share: script files, process ids, and the probes that match patterns.
 */
#ifndef STRATA_CLI_LISTING_H
#define STRATA_CLI_LISTING_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/diag.h"
#include "lang/compile.h"

struct listing {
	struct compile_options options;
	const char *program;          /* of -e; NULL: the arguments count */
	const char *const *arguments; /* patterns, and scripts' files by their suffix .bt; none: everything */
	size_t count;
	bool verbose;
	char *debug_folders; /* of --debuginfo, malloc'd; also in the options */
};

/* Writes the probes to stdout. Returns how many; negative if something could not be read, with a diag or messages. */
int listing_print(const struct listing *listing, struct diag *diag);

/* A script's text into malloc'd memory; "-" is standard input. NULL with a diag. */
char *source_read(const char *path, size_t *size, struct diag *diag);
/* The name of that file in messages. */
const char *source_name(const char *path);

/* Appends a value of --debuginfo to *list, which is malloc'd. */
int add_folders(char **list, const char *value, struct diag *diag);

/* The value of -p. */
int take_pid(const char *value, pid_t *ret, struct diag *diag);

#endif

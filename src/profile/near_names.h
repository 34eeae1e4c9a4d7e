/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * near_names: which names of a traced program somebody may have meant who gave one that never came. Allocates nothing.
 *
 *     struct near_names near = {.wanted = "fooo", .separator = '.'};
 *     near_names_offer(&near, "foo");      // for each name that came
 *     near_names_write(&near, stderr);     // "; near it: foo"
 */
#ifndef STRATA_PROFILE_NEAR_NAMES_H
#define STRATA_PROFILE_NEAR_NAMES_H

#include <stdio.h>

#include "base/near.h"

#define NEAR_NAMES_MOST 3

struct near_names {
	const char *wanted;
	char separator; /* what follows the last one of these counts as a name, too; '\0': nothing does */
	unsigned int count;
	struct {
		char name[NEAR_NAME_MAX];
		unsigned int distance;
	} at[NEAR_NAMES_MOST + 1]; /* the nearest first, those that are equally near by their letters */
};

/* A name: any bytes, terminated. The wanted one itself, and what was offered before, count for nothing. */
void near_names_offer(struct near_names *near, const char *name);
/* Those that are near, safe for a line of output; nothing if there are none. */
void near_names_write(const struct near_names *near, FILE *out);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * near: the name that somebody may have meant who mistyped one. Allocates nothing.
 *
 *     struct near near = {.wanted = "ngnix"};
 *     near_offer(&near, "nginx");  // for each existing name
 *     near.best                    // "nginx"; "": none is near
 */
#ifndef STRATA_BASE_NEAR_H
#define STRATA_BASE_NEAR_H

#include <stddef.h>

#define NEAR_NAME_MAX 256 /* longer names are near nothing */

/*
 * How many letters have to be put in, taken out or changed (Levenshtein), without regard to case. Both sizes are less
 * than NEAR_NAME_MAX.
 */
unsigned int near_distance(const char *a, size_t a_size, const char *b, size_t b_size);

struct near {
	const char *wanted;
	char best[NEAR_NAME_MAX];
	unsigned int distance; /* letters that differ, of the best */
};

/*
 * Is this one nearer than those before? Near is what differs in a third of its letters at most, or contains the other
 * name.
 */
void near_offer(struct near *near, const char *name);

#endif

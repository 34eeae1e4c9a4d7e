/* SPDX-License-Identifier: GPL-2.0-or-later */
/* probes: what probes.c and processes.c share while they look for the places of D's probe descriptions. */
#ifndef STRATA_LANG_DIALECT_D_PROBES_H
#define STRATA_LANG_DIALECT_D_PROBES_H

#include "lang/dialect/d/d.h"

struct provider;

/* While units are made: a place, and the clauses that are about it. */
struct spot {
	struct attach attach;
	struct d_place place;
	const struct provider *provider;
	const struct attach_text *point;
	VEC(uint32_t) clauses;
	size_t asked; /* the last description that it is a place of */
};

struct making {
	struct compiler *c;
	VEC(struct spot) spots;
	uint32_t clause, next_id;
	const struct d_probe *probe;
	size_t found; /* places of this description */
	size_t asked; /* which description it is, counted from 1 */
	bool takes_wrong; /* markers, too, that do not tell what their names say */
	bool has_wrong;   /* one was left out */
};

/* What is left of a description when its place is known. */
typedef bool place_namer(struct making *m, const struct attach *attach, struct d_place *place);

/* An empty pattern matches whatever. */
bool d_matches(const char *pattern, const char *text);

/* Has a provider find the places, gives them their D names, and leaves out those that the description does not mean. */
void d_search(struct making *m, const char *const *parts, uint32_t count, struct d_place like, place_namer *name);

/* processes.c: the functions of pidN and the markers of a program. */
void d_find_functions(struct making *m);
void d_find_usdt(struct making *m);
/* p*d1234: a pattern that pid1234 matches. */
bool d_is_pid_pattern(struct making *m);

#endif

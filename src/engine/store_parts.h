/* SPDX-License-Identifier: GPL-2.0-or-later */
/* store_parts: what store.c and store_rebuild.c share; no other file includes it. */
#ifndef STRATA_ENGINE_STORE_PARTS_H
#define STRATA_ENGINE_STORE_PARTS_H

#include "engine/store.h"

/* What the tables of ids hold: number + 1, the turn in which the id was named last, whether it is to be forgotten. */
#define ID_NUMBER(value) ((uint32_t)(value))
#define ID_TURN(value)   ((uint32_t)((value) >> 32) & 0x7fffffff)
#define ID_DYING         (1ull << 63)

/* Each adds what is not there already, and gives its number. 0 or -ENOMEM. */
int store_add_stack(struct store *store, enum runtime_id runtime, const uint32_t *frames, uint32_t count,
		    uint32_t *ret);
int store_add_second_location(struct store *store, const struct second_location *location, uint32_t *ret);
int store_add_tally(struct store *store, const struct tally *tally, uint32_t *ret);

/* Shares a code object of another store, for this number + 1: it has one user more. */
struct code *store_adopt_code(struct store *store, struct code *code, uint32_t number);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * budget: how much work or memory the files of other users may cost, shared between these users.
 *
 * One user may take half of what the others left, so nobody can take everything: of 256 in all, the first user gets up
 * to 128, the second one then up to 64. What was taken is forgotten over time: it halves every `halving_s` seconds. Not
 * thread-safe.
 */
#ifndef STRATA_BASE_BUDGET_H
#define STRATA_BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

struct budget {
	uint64_t whole;     /* in the caller's unit; set by the caller, as is the next */
	uint64_t halving_s; /* not 0 */
	/* The rest begins as zeroes. */
	struct table taken; /* user + 1 → what is counted against them */
	uint64_t total;     /* sum of the above */
	uint64_t aged_s;    /* when it was last halved */
	uint64_t refused;   /* how often budget_take() said no */
};

void budget_deinit(struct budget *budget);

/*
 * Takes `amount` for a user, all or nothing. The time is in seconds of any clock that does not go back. False: it is
 * more than the user's share, or memory is short; `refused` counts that.
 */
bool budget_take(struct budget *budget, uint32_t user, uint64_t amount, uint64_t now_s);

/*
 * The same of something whose cost is known only afterwards, such as time: counts it, even beyond the share. False: it
 * is beyond, and budget_take() of anything will say no for a while. `refused` does not count that.
 */
bool budget_charge(struct budget *budget, uint32_t user, uint64_t amount, uint64_t now_s);

#endif

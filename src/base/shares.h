/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * shares: divides a limited resource between users and their processes, so that none can take all of it.
 *
 * All processes of one user may hold `user_16ths` sixteenths of what the other users left. One process may hold
 * `process_16ths` sixteenths of what the user's other processes left of that, or `floor` if that is more. What is held
 * counts until it is given back. Not thread-safe.
 */
#ifndef STRATA_BASE_SHARES_H
#define STRATA_BASE_SHARES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/table.h"

struct share_owner {
	uint32_t user, process;
};

/* No user has this id. What is taken for it is not counted, and has no limit. */
#define SHARE_NOBODY ((struct share_owner){UINT32_MAX, 0})

struct shares {
	uint64_t whole, floor; /* in the caller's unit; set by the caller, as are the next */
	uint32_t user_16ths, process_16ths;
	/* The rest begins as zeroes. */
	struct table users;     /* user + 1 -> what they hold */
	struct table processes; /* user << 32 | process, + 1 -> the same */
	uint64_t total;         /* of users */
};

void shares_deinit(struct shares *shares);

/* How much more an owner may take. */
uint64_t shares_left(const struct shares *shares, const struct share_owner *owner);

/* Takes `amount`, all or nothing. 0; -ENOSPC: it is beyond a share; -ENOMEM. */
int shares_take(struct shares *shares, const struct share_owner *owner, uint64_t amount);

/* Gives back what was taken. */
void shares_give(struct shares *shares, const struct share_owner *owner, uint64_t amount);

/* The process that holds most, and how much; false when nobody holds anything. */
bool shares_most(const struct shares *shares, struct share_owner *ret, uint64_t *amount);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/shares.h"

#include <errno.h>

void shares_deinit(struct shares *shares)
{
	table_deinit(&shares->users);
	table_deinit(&shares->processes);
}

static uint64_t user_key(const struct share_owner *owner)
{
	return owner->user + 1ull;
}

static uint64_t process_key(const struct share_owner *owner)
{
	return ((uint64_t)owner->user << 32 | owner->process) + 1;
}

static bool is_nobody(const struct share_owner *owner)
{
	return owner->user == SHARE_NOBODY.user;
}

static uint64_t held(const struct table *table, uint64_t key)
{
	uint64_t ret = 0;

	table_get(table, key, &ret);
	return ret;
}

static uint64_t part(uint64_t whole, uint32_t sixteenths)
{
	return whole / 16 * sixteenths + whole % 16 * sixteenths / 16;
}

uint64_t shares_left(const struct shares *shares, const struct share_owner *owner)
{
	uint64_t of_user = held(&shares->users, user_key(owner)), own = held(&shares->processes, process_key(owner));
	uint64_t user_most = part(shares->whole - (shares->total - of_user), shares->user_16ths);
	uint64_t user_left = user_most > of_user ? user_most - of_user : 0, most, left;

	if (is_nobody(owner))
		return UINT64_MAX;
	most = part(user_left + own, shares->process_16ths);
	most = most > shares->floor ? most : shares->floor;
	left = most > own ? most - own : 0;
	return left < user_left ? left : user_left;
}

int shares_take(struct shares *shares, const struct share_owner *owner, uint64_t amount)
{
	uint64_t user = held(&shares->users, user_key(owner)), process = held(&shares->processes, process_key(owner));

	if (amount > shares_left(shares, owner))
		return -ENOSPC;
	if (!amount || is_nobody(owner))
		return 0;
	if (table_set(&shares->users, user_key(owner), user + amount))
		return -ENOMEM;
	if (table_set(&shares->processes, process_key(owner), process + amount)) {
		table_set(&shares->users, user_key(owner), user);
		return -ENOMEM;
	}
	shares->total += amount;
	return 0;
}

static void give(struct table *table, uint64_t key, uint64_t amount)
{
	uint64_t left = held(table, key) - amount;

	if (left)
		(void)!table_set(table, key, left); /* it is there */
	else
		table_remove(table, key);
}

void shares_give(struct shares *shares, const struct share_owner *owner, uint64_t amount)
{
	if (!amount || is_nobody(owner))
		return;
	give(&shares->users, user_key(owner), amount);
	give(&shares->processes, process_key(owner), amount);
	shares->total -= amount;
}

bool shares_most(const struct shares *shares, struct share_owner *ret, uint64_t *amount)
{
	struct table_slot *slot;
	size_t at = 0;

	*amount = 0;
	while ((slot = table_next(&shares->processes, &at)))
		if (slot->value > *amount) {
			*amount = slot->value;
			*ret = (struct share_owner){.user = (uint32_t)((slot->key - 1) >> 32),
						    .process = (uint32_t)(slot->key - 1)};
		}
	return *amount;
}

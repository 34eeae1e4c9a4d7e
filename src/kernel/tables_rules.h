/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tables_rules: the array of distinct rules (abi/tables.h), with a count of the files that use each. For
 * kernel/tables.c. The first user of a rule is charged for it until nobody uses it any more.
 */
#ifndef STRATA_KERNEL_TABLES_RULES_H
#define STRATA_KERNEL_TABLES_RULES_H

#include "abi/tables.h"
#include "abi/unwind.h"
#include "base/shares.h"
#include "base/table.h"
#include "base/vec.h"
#include "kernel/shared_array.h"

struct tables_rules {
	struct shared_array array;
	struct unwind_rule *at;
	uint32_t count; /* the highest number ever used, plus one */
	uint32_t uses[UNWIND_RULES_MAX];
	struct share_owner owners[UNWIND_RULES_MAX];
	VEC(uint32_t) free;
	struct table ids; /* the rule's 8 bytes + 1 -> index + 1 */
};

/* `map` is borrowed. 0 or a negative errno. */
int tables_rules_init(struct tables_rules *rules, int map);
void tables_rules_deinit(struct tables_rules *rules);

/* The number of a rule, added if it is new, for one more file. 0; -ENOSPC: the array or the owner's share is full;
 * -ENOMEM. */
int tables_rules_take(struct tables_rules *rules, const struct unwind_rule *rule, struct shares *shares,
		      const struct share_owner *owner, uint32_t *ret);

/* One file less uses the rule. */
void tables_rules_give(struct tables_rules *rules, struct shares *shares, uint32_t index);

#endif

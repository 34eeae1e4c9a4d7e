// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/tables_rules.h"

#include <errno.h>
#include <string.h>

static uint64_t rule_key(const struct unwind_rule *rule)
{
	uint64_t key;

	memcpy(&key, rule, sizeof(key));
	return key + 1; /* 0 is UNWIND_NO_RULE, and reserved as a key */
}

int tables_rules_init(struct tables_rules *rules, int map)
{
	static const struct unwind_rule fixed[RULE_FIRST_FREE] = {
		[RULE_NONE] = {.kind = UNWIND_NO_RULE},          [RULE_FP_CHAIN] = {.kind = UNWIND_FP_CHAIN},
		[RULE_NO_TABLE] = {.kind = UNWIND_NO_TABLE},     [RULE_NO_ANSWER] = {.kind = UNWIND_NO_ANSWER},
		[RULE_NO_MAPPING] = {.kind = UNWIND_NO_MAPPING}, [RULE_UNLEARNT] = {.kind = UNWIND_UNLEARNT},
		[RULE_ABSENT] = {.kind = UNWIND_ABSENT},         [RULE_TABLE_FULL] = {.kind = UNWIND_TABLE_FULL},
		[RULE_FP_KEPT] = {.kind = UNWIND_FP_CHAIN, .param = UNWIND_CHAIN_KEPT},
	};
	uint32_t i;
	int err = shared_array_open(&rules->array, map, UNWIND_RULES_MAX * sizeof(*rules->at));

	rules->at = (void *)rules->array.at;
	for (i = 0; i < RULE_FIRST_FREE && !err; i++) {
		rules->at[i] = fixed[i];
		err = table_set(&rules->ids, rule_key(&fixed[i]), i + 1);
	}
	rules->count = RULE_FIRST_FREE;
	return err;
}

void tables_rules_deinit(struct tables_rules *rules)
{
	shared_array_close(&rules->array);
	vec_free(&rules->free);
	table_deinit(&rules->ids);
}

int tables_rules_take(struct tables_rules *rules, const struct unwind_rule *rule, struct shares *shares,
		      const struct share_owner *owner, uint32_t *ret)
{
	bool again = rules->free.count;
	uint32_t index = again ? rules->free.at[rules->free.count - 1] : rules->count;
	uint64_t found;
	int err;

	if (table_get(&rules->ids, rule_key(rule), &found)) {
		*ret = (uint32_t)found - 1;
		rules->uses[*ret]++;
		return 0;
	}
	if (index >= UNWIND_RULES_MAX)
		return -ENOSPC;
	err = shared_array_reach(&rules->array, (index + 1ull) * sizeof(*rules->at));
	if (!err)
		err = shares_take(shares, owner, 1);
	if (err)
		return err;
	if (table_set(&rules->ids, rule_key(rule), index + 1)) {
		shares_give(shares, owner, 1);
		return -ENOMEM;
	}
	rules->free.count -= again;
	rules->count += !again;
	rules->at[index] = *rule;
	rules->uses[index] = 1;
	rules->owners[index] = *owner;
	*ret = index;
	return 0;
}

void tables_rules_give(struct tables_rules *rules, struct shares *shares, uint32_t index)
{
	if (index < RULE_FIRST_FREE || --rules->uses[index])
		return;
	table_remove(&rules->ids, rule_key(&rules->at[index]));
	shares_give(shares, &rules->owners[index], 1);
	(void)!vec_push(&rules->free, index); /* without memory the number is lost, no more */
}

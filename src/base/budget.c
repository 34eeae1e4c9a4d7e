// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/budget.h"

void budget_deinit(struct budget *budget)
{
	table_deinit(&budget->taken);
}

static void age(struct budget *budget, uint64_t now_s)
{
	uint64_t halvings = budget->aged_s ? (now_s - budget->aged_s) / budget->halving_s : 0;
	struct table_slot *slot;
	size_t at = 0;

	if (!budget->aged_s)
		budget->aged_s = now_s;
	if (!halvings)
		return;
	budget->aged_s += halvings * budget->halving_s;
	budget->total = 0;
	while ((slot = table_next(&budget->taken, &at))) {
		slot->value = halvings < 64 ? slot->value >> halvings : 0;
		budget->total += slot->value;
	}
}

bool budget_take(struct budget *budget, uint32_t user, uint64_t amount, uint64_t now_s)
{
	uint64_t own = 0, others;

	age(budget, now_s);
	table_get(&budget->taken, user + 1ull, &own);
	others = budget->total - own;
	if (amount > budget->whole || others > budget->whole || own + amount > (budget->whole - others) / 2 ||
	    table_set(&budget->taken, user + 1ull, own + amount)) {
		budget->refused++;
		return false;
	}
	budget->total += amount;
	return true;
}

bool budget_charge(struct budget *budget, uint32_t user, uint64_t amount, uint64_t now_s)
{
	uint64_t own = 0, others;

	age(budget, now_s);
	table_get(&budget->taken, user + 1ull, &own);
	others = budget->total - own;
	amount = amount < budget->whole ? amount : budget->whole;
	if (table_set(&budget->taken, user + 1ull, own + amount))
		return false;
	budget->total += amount;
	return others < budget->whole && own + amount <= (budget->whole - others) / 2;
}

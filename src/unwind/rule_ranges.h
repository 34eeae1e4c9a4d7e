/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rule_ranges: rules found instruction by instruction, for code that no FDE covers. The user of a list says what its
 * addresses are relative to.
 */
#ifndef STRATA_UNWIND_RULE_RANGES_H
#define STRATA_UNWIND_RULE_RANGES_H

#include <stdint.h>

#include "abi/unwind.h"
#include "base/vec.h"

struct rule_range {
	uint64_t start, end;
	struct unwind_rule rule;
};

typedef VEC(struct rule_range) rule_ranges;

/* Sorts the ranges, and joins neighbours with the same rule. If instructions overlap, the later one ends the other. */
void rule_ranges_tidy(rule_ranges *ranges);

#endif

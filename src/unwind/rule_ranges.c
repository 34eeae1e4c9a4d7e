// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/rule_ranges.h"

#include <stdlib.h>
#include <string.h>

static int by_start(const void *a, const void *b)
{
	const struct rule_range *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

void rule_ranges_tidy(rule_ranges *ranges)
{
	size_t i, kept = 0;

	if (ranges->count)
		qsort(ranges->at, ranges->count, sizeof(ranges->at[0]), by_start);
	for (i = 0; i < ranges->count; i++) {
		struct rule_range *last = kept ? &ranges->at[kept - 1] : NULL;

		if (last && last->end > ranges->at[i].start)
			last->end = ranges->at[i].start;
		if (last && last->end == ranges->at[i].start &&
		    !memcmp(&last->rule, &ranges->at[i].rule, sizeof(last->rule)))
			last->end = ranges->at[i].end;
		else
			ranges->at[kept++] = ranges->at[i];
	}
	ranges->count = kept;
}

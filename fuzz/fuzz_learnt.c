// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as what was learnt of a file in earlier runs, as the cache gives it back. */
#include "fuzz.h"
#include "engine/watch_parts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	rule_ranges ranges = {};
	uint64_t digest;
	size_t i;

	if (watch_learnt_decode(data, size, &digest, &ranges)) {
		CHECK(size >= sizeof(digest) && ranges.count <= (size - sizeof(digest)) / sizeof(struct rule_range));
		for (i = 0; i < ranges.count; i++) {
			const struct rule_range *range = &ranges.at[i];

			CHECK(range->start < range->end && range->end - range->start < LEARNT_RANGE_MAX);
			CHECK(range->rule.kind == UNWIND_SP || range->rule.kind == UNWIND_FP ||
			      range->rule.kind == UNWIND_REGISTER || range->rule.kind == UNWIND_SP_DEREF ||
			      range->rule.kind == UNWIND_FP_DEREF);
		}
	}
	vec_free(&ranges);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a recording for strata diff: no crash, and what was read adds up. */
#include "diff/compare.h"
#include "diff/read.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"before", "after"};
	struct profile *profile = profile_create();
	struct recording recordings[2] = {};
	struct compare compare = {};
	struct diag diag = {};
	uint64_t before = 0, after = 0;
	size_t i;

	if (!profile)
		return 0;
	if (!read_bytes(data, size, READ_BEFORE, profile, &recordings[0], &diag) &&
	    !read_bytes(data, size, READ_AFTER, profile, &recordings[1], &diag)) {
		for (i = 0; i < profile_sample_count(profile); i++) {
			before += profile_sample_at(profile, i)->before;
			after += profile_sample_at(profile, i)->count;
		}
		CHECK(before == recordings[0].samples && after == before);
		if (!compare_prepare(profile, recordings, names, false, &diag)) {
			CHECK(!compare_functions(profile, &compare, &diag));
			for (i = 0; i < compare.count; i++)
				CHECK(!compare_differs(&profile_get_info(profile)->compared,
						       compare.rows[i].total_before, compare.rows[i].total,
						       compare.rows[i].total_spread));
			compare_deinit(&compare);
		}
	}
	profile_destroy(profile);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* When the samples of a profile were, for the formats that tell. */
#include <errno.h>
#include <stdlib.h>

#include "export/common.h"

static int by_sample(const void *a, const void *b)
{
	const struct profile_slice *x = a, *y = b;

	if (x->sample != y->sample)
		return x->sample < y->sample ? -1 : 1;
	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

static int by_slice(const void *a, const void *b)
{
	const struct profile_slice *x = a, *y = b;

	return x->slice < y->slice ? -1 : x->slice > y->slice;
}

int export_times_init(struct export_times *times, const struct profile *profile)
{
	size_t count = profile_slice_count(profile), samples = profile_sample_count(profile), i;

	*times = (struct export_times){.profile = profile};
	if (!count || !(profile_get_info(profile)->times.width_s > 0))
		return 0;
	times->slices = calloc(count, sizeof(*times->slices));
	times->first = calloc(samples + 2, sizeof(*times->first));
	if (!times->slices || !times->first)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		times->slices[i] = *profile_slice_at(profile, i);
		times->first[times->slices[i].sample + 1]++;
	}
	qsort(times->slices, count, sizeof(*times->slices), by_sample);
	for (i = 0; i < samples; i++) {
		times->first[i + 1] += times->first[i];
		if (table_set(&times->index_of, (uintptr_t)profile_sample_at(profile, i), i + 1))
			return -ENOMEM;
	}
	return 0;
}

void export_times_deinit(struct export_times *times)
{
	free(times->slices);
	free(times->first);
	table_deinit(&times->index_of);
	vec_free(&times->list);
	*times = (struct export_times){};
}

bool export_times_kept(const struct export_times *times)
{
	return times->slices != NULL;
}

int export_times_of(struct export_times *times, const struct profile_sample *const *samples, size_t count)
{
	size_t i, at, kept = 0;
	uint64_t index = 0;

	times->list.count = 0;
	for (i = 0; i < count; i++) {
		if (!table_get(&times->index_of, (uintptr_t)samples[i], &index))
			continue;
		for (at = times->first[index - 1]; at < times->first[index]; at++)
			if (vec_push(&times->list, times->slices[at]))
				return -ENOMEM;
	}
	if (times->list.count)
		qsort(times->list.at, times->list.count, sizeof(*times->list.at), by_slice);
	for (i = 0; i < times->list.count; i++) {
		if (kept && times->list.at[kept - 1].slice == times->list.at[i].slice)
			times->list.at[kept - 1].count += times->list.at[i].count;
		else
			times->list.at[kept++] = times->list.at[i];
	}
	times->list.count = kept;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/extents.h"

#include <string.h>

int extents_init(struct extents *extents, uint32_t size)
{
	*extents = (struct extents){};
	return vec_push(&extents->free, (struct extent){.first = 0, .count = size});
}

void extents_deinit(struct extents *extents)
{
	vec_free(&extents->free);
}

static void remove_at(struct extents *extents, size_t at)
{
	extents->free.count--;
	memmove(&extents->free.at[at], &extents->free.at[at + 1],
		(extents->free.count - at) * sizeof(*extents->free.at));
}

int extents_take(struct extents *extents, uint32_t count, uint32_t *ret)
{
	size_t i;

	for (i = 0; i < extents->free.count; i++) {
		struct extent *extent = &extents->free.at[i];

		if (extent->count < count)
			continue;
		*ret = extent->first;
		extent->first += count;
		extent->count -= count;
		if (!extent->count)
			remove_at(extents, i);
		return 0;
	}
	return -ENOSPC;
}

int extents_give(struct extents *extents, uint32_t first, uint32_t count)
{
	size_t i = 0;
	struct extent *at;

	if (!count)
		return 0;
	while (i < extents->free.count && extents->free.at[i].first < first)
		i++;
	at = extents->free.at;
	if (i > 0 && at[i - 1].first + at[i - 1].count == first) {
		at[i - 1].count += count;
		if (i < extents->free.count && at[i - 1].first + at[i - 1].count == at[i].first) {
			at[i - 1].count += at[i].count;
			remove_at(extents, i);
		}
		return 0;
	}
	if (i < extents->free.count && first + count == at[i].first) {
		at[i].first = first;
		at[i].count += count;
		return 0;
	}
	if (vec_reserve(&extents->free, 1))
		return -ENOMEM;
	at = extents->free.at;
	memmove(&at[i + 1], &at[i], (extents->free.count - i) * sizeof(*at));
	at[i] = (struct extent){.first = first, .count = count};
	extents->free.count++;
	return 0;
}

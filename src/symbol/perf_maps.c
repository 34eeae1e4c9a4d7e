// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/perf_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "base/budget.h"
#include "base/table.h"

struct perf_maps {
	struct foreign_files *files;
	struct table found; /* key → struct perf_map * or 1 (none) */
	struct budget budget;
	uint64_t refused; /* processes; their map may have been looked for in two places */
};

struct perf_maps *perf_maps_create(struct foreign_files *files)
{
	struct perf_maps *maps = calloc(1, sizeof(*maps));

	if (!maps)
		return NULL;
	maps->files = files;
	maps->budget = (struct budget){.whole = PERF_MAPS_BYTES, .halving_s = PERF_MAPS_HALVING_S};
	return maps;
}

static void destroy_found(uint64_t found)
{
	if (found > 1)
		perf_map_destroy((struct perf_map *)(uintptr_t)found);
}

void perf_maps_destroy(struct perf_maps *maps)
{
	struct table_slot *slot;
	size_t at = 0;

	if (!maps)
		return;
	while ((slot = table_next(&maps->found, &at)))
		destroy_found(slot->value);
	table_deinit(&maps->found);
	budget_deinit(&maps->budget);
	free(maps);
}

struct perf_map *perf_maps_of(struct perf_maps *maps, uint64_t key, int pid)
{
	uint64_t found, refused = maps->budget.refused;

	if (!table_get(&maps->found, key, &found)) {
		struct perf_map *map = perf_map_load(maps->files, pid, &maps->budget);

		maps->refused += !map && maps->budget.refused != refused;
		found = map ? (uint64_t)(uintptr_t)map : 1;
		if (table_set(&maps->found, key, found)) {
			perf_map_destroy(map);
			return NULL;
		}
	}
	return found > 1 ? (struct perf_map *)(uintptr_t)found : NULL;
}

struct perf_map *perf_maps_renew(struct perf_maps *maps, uint64_t key, int pid)
{
	struct perf_map *map;
	uint64_t found;

	if (!table_get(&maps->found, key, &found))
		return perf_maps_of(maps, key, pid);
	map = perf_map_load(maps->files, pid, &maps->budget);
	if (map) {
		table_set(&maps->found, key, (uint64_t)(uintptr_t)map); /* replaces: cannot fail */
		destroy_found(found);
	}
	return perf_maps_of(maps, key, pid);
}

int perf_maps_give(struct perf_maps *maps, uint64_t key, struct perf_map *map)
{
	uint64_t found = 1;

	table_get(&maps->found, key, &found);
	if (table_set(&maps->found, key, (uint64_t)(uintptr_t)map))
		return -ENOMEM;
	destroy_found(found);
	return 0;
}

struct perf_map *perf_maps_kept(const struct perf_maps *maps, uint64_t key)
{
	uint64_t found;

	return table_get(&maps->found, key, &found) && found > 1 ? (struct perf_map *)(uintptr_t)found : NULL;
}

void perf_maps_forget(struct perf_maps *maps, uint64_t key)
{
	uint64_t found;

	if (!table_get(&maps->found, key, &found))
		return;
	table_remove(&maps->found, key);
	destroy_found(found);
}

uint64_t perf_maps_refused(const struct perf_maps *maps)
{
	return maps->refused;
}

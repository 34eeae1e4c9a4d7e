// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/table.h"
#include "base/time.h"
#include "base/vec.h"
#include "elf/debuginfod.h"

/* A file with locations that have no name yet. */
struct lacking {
	struct object *object;
	uint64_t vaddr, locations; /* of one of them; how many */
	struct elf_debug_names names;
};

typedef VEC(struct lacking) lacking_list;

static int by_locations(const void *a, const void *b)
{
	const struct lacking *x = a, *y = b;

	return x->locations > y->locations ? -1 : x->locations < y->locations;
}

/* The files that have such locations. */
static int find_files(const struct store *store, const struct objects *objects, struct table *places,
		      lacking_list *files)
{
	size_t i;
	int err = 0;

	for (i = 0; i < store->unnamed.count && !err; i++) {
		const struct location *location = &store->locations.at[store->unnamed.at[i]];
		struct lacking one = {.vaddr = location->address};
		uint64_t place;

		if (location->object < LOCATION_FILES)
			continue;
		if (!table_get(places, location->object, &place)) {
			place = files->count;
			one.object = objects_at(objects, location->object - LOCATION_FILES);
			err = vec_push(files, one);
			err = err ? err : table_set(places, location->object, place);
		}
		if (!err)
			files->at[place].locations++;
	}
	return err;
}

/* Keeps those that have no symbols. */
static int keep_lacking(lacking_list *files, struct namer *namer)
{
	size_t i, kept = 0;
	int lacks = 0;

	for (i = 0; i < files->count && lacks >= 0; i++) {
		struct lacking *file = &files->at[i];

		lacks = file->object ? namer_lacks_symbols(namer, file->object, file->vaddr, &file->names) : 0;
		if (lacks > 0)
			files->at[kept++] = *file;
	}
	files->count = kept;
	return lacks < 0 ? lacks : 0;
}

static void ask_for(struct fetch *fetch, const struct lacking *file, size_t number, double end)
{
	char build_id[ELF_BUILD_ID_TEXT];
	double left = end - time_s(CLOCK_MONOTONIC);
	int err;

	if (left <= 0) {
		fetch->err = -ETIMEDOUT;
		return;
	}
	if (fetch->progress)
		fetch->progress(fetch->context, file->object->file->path, number, fetch->wanted);
	elf_build_id_text(file->names.build_id, file->names.build_id_size, build_id);
	err = debuginfod_fetch(build_id, left);
	if (!err)
		fetch->fetched++;
	else if (err == -EINTR || err == -ENOTSUP || err == -ECHILD)
		fetch->err = err;
}

int fetch_symbols(struct fetch *fetch, const struct store *store, const struct objects *objects, struct namer *namer)
{
	lacking_list files = {};
	struct table places = {};
	double end = time_s(CLOCK_MONOTONIC) + FETCH_SECONDS;
	int err = find_files(store, objects, &places, &files);
	size_t i;

	if (!err)
		err = keep_lacking(&files, namer);
	fetch->wanted = err ? 0 : files.count;
	if (fetch->wanted)
		qsort(files.at, files.count, sizeof(*files.at), by_locations);
	for (i = 0; i < fetch->wanted && !fetch->err; i++)
		ask_for(fetch, &files.at[i], i + 1, end);
	table_deinit(&places);
	vec_free(&files);
	return err;
}

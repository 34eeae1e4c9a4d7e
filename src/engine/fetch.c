// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/fetch.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/table.h"
#include "base/time.h"
#include "base/vec.h"
#include "elf/debuginfod.h"

/* A file without symbols. */
struct lacking {
	struct fetch_file file;
	struct elf_debug_names names;
};

typedef VEC(struct lacking) lacking_list;
typedef VEC(struct fetch_file) file_list;

static int by_locations(const void *a, const void *b)
{
	const struct fetch_file *x = &((const struct lacking *)a)->file, *y = &((const struct lacking *)b)->file;

	return x->locations > y->locations ? -1 : x->locations < y->locations;
}

/* The files that have locations without a name. */
static int find_files(const struct store *store, const struct objects *objects, struct table *places, file_list *files)
{
	size_t i;
	int err = 0;

	for (i = 0; i < store->unnamed.count && !err; i++) {
		const struct location *location = &store->locations.at[store->unnamed.at[i]];
		struct fetch_file one = {.vaddr = location->address};
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

/* Those that have no symbols. */
static int find_lacking(const struct fetch_file *files, size_t count, struct namer *namer, lacking_list *ret)
{
	size_t i;
	int lacks, err = 0;

	for (i = 0; i < count && !err; i++) {
		struct lacking one = {.file = files[i]};

		lacks = one.file.object ? namer_lacks_symbols(namer, one.file.object, one.file.vaddr, &one.names) : 0;
		if (lacks)
			err = lacks < 0 ? lacks : vec_push(ret, one);
	}
	return err;
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
		fetch->progress(fetch->context, file->file.object->file->path, number, fetch->wanted);
	elf_build_id_text(file->names.build_id, file->names.build_id_size, build_id);
	err = debuginfod_fetch(build_id, left);
	if (!err)
		fetch->fetched++;
	else if (err == -EINTR || err == -ENOTSUP || err == -ECHILD)
		fetch->err = err;
}

int fetch_files(struct fetch *fetch, const struct fetch_file *files, size_t count, struct namer *namer)
{
	lacking_list lacking = {};
	double end = time_s(CLOCK_MONOTONIC) + FETCH_SECONDS;
	int err = find_lacking(files, count, namer, &lacking);
	size_t i;

	fetch->wanted = err ? 0 : lacking.count;
	if (fetch->wanted)
		qsort(lacking.at, lacking.count, sizeof(*lacking.at), by_locations);
	for (i = 0; i < fetch->wanted && !fetch->err; i++)
		ask_for(fetch, &lacking.at[i], i + 1, end);
	vec_free(&lacking);
	return err;
}

const char *fetch_reason(const struct fetch *fetch, int err)
{
	if (err)
		return "memory was short";
	switch (fetch->err) {
	case 0:
		return "no server gave others";
	case -ECHILD:
		return "no process could be started for it";
	case -EINTR:
		return "it was interrupted";
	case -ENOTSUP:
		return "the library libdebuginfod is not installed";
	}
	return "it took too long";
}

int fetch_symbols(struct fetch *fetch, const struct store *store, const struct objects *objects, struct namer *namer)
{
	file_list files = {};
	struct table places = {};
	int err = find_files(store, objects, &places, &files);

	if (!err)
		err = fetch_files(fetch, files.at, files.count, namer);
	table_deinit(&places);
	vec_free(&files);
	return err;
}

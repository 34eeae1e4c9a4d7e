// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/sources.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"

struct source_file {
	struct elf_file *elf;
	struct debug_info *info; /* NULL: there is none */
	struct table places;     /* vaddr + 1 → struct source_place * */
};

struct sources {
	const char *folders;
	struct table files; /* struct object * → struct source_file * */
};

struct sources *sources_create(const char *folders)
{
	struct sources *sources = calloc(1, sizeof(*sources));

	if (sources)
		sources->folders = folders;
	return sources;
}

static void destroy_file(struct source_file *file)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(&file->places, &at)))
		free((void *)(uintptr_t)slot->value);
	table_deinit(&file->places);
	debug_info_close(file->info);
	elf_file_close(file->elf);
	free(file);
}

void sources_forget(struct sources *sources)
{
	struct table_slot *slot;
	size_t at = 0;

	if (!sources)
		return;
	while ((slot = table_next(&sources->files, &at)))
		destroy_file((struct source_file *)(uintptr_t)slot->value);
	table_deinit(&sources->files);
	sources->files = (struct table){};
}

void sources_destroy(struct sources *sources)
{
	sources_forget(sources);
	free(sources);
}

static struct source_file *file_of(struct sources *sources, struct object *object)
{
	uint64_t key = (uint64_t)(uintptr_t)object, found;
	struct source_file *file;

	if (table_get(&sources->files, key, &found))
		return (struct source_file *)(uintptr_t)found;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	if (object_debug_info(object, sources->folders, SOURCES_DEBUG_MAX, &file->elf, &file->info))
		file->info = NULL;
	if (table_set(&sources->files, key, (uint64_t)(uintptr_t)file)) {
		destroy_file(file);
		return NULL;
	}
	return file;
}

const struct source_place *sources_place(struct sources *sources, struct object *object, uint64_t vaddr)
{
	struct source_frame frames[SOURCE_FRAMES_MAX];
	struct source_file *file = file_of(sources, object);
	struct source_place *place;
	uint64_t found;
	size_t count;

	if (!file || !file->info || vaddr == UINT64_MAX)
		return NULL;
	if (table_get(&file->places, vaddr + 1, &found))
		return (const struct source_place *)(uintptr_t)found;
	count = debug_info_source(file->info, vaddr, frames);
	place = count ? malloc(sizeof(*place) + count * sizeof(frames[0])) : NULL;
	if (place) {
		place->count = count;
		memcpy(place->frames, frames, count * sizeof(frames[0]));
	}
	if (table_set(&file->places, vaddr + 1, (uint64_t)(uintptr_t)place)) {
		free(place);
		return NULL;
	}
	return place;
}

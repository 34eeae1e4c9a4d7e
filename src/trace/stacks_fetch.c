// SPDX-License-Identifier: GPL-2.0-or-later
/* When tracing has ended: symbols from debuginfod for the files in the stacks that were sent. */
#include "trace/stacks_parts.h"

#include <stdlib.h>

#include "engine/fetch.h"

typedef VEC(struct fetch_file) file_list;

static int add_place(file_list *files, struct table *places, const struct frame_place *place)
{
	const struct fetch_file one = {.object = place->object, .vaddr = place->vaddr - place->is_return};
	uint64_t key = (uint64_t)(uintptr_t)place->object, index;
	int err = 0;

	if (!place->object || place->object->file->kind == FILE_ANONYMOUS)
		return 0;
	if (!table_get(places, key, &index)) {
		index = files->count;
		err = vec_push(files, one);
		if (!err)
			err = table_set(places, key, index);
	}
	if (!err)
		files->at[index].locations++;
	return err;
}

static int find_files(struct stacks *stacks, file_list *files)
{
	struct table places = {};
	struct table_slot *slot;
	size_t at = 0;
	uint32_t i;
	int err = 0;

	while (!err && (slot = table_next(stacks_of(stacks, EVENT_NATIVE_STACK), &at))) {
		const struct sent_stack *stack = (const void *)(uintptr_t)slot->value;

		for (i = 0; i < stack->count && !err; i++)
			err = add_place(files, &places, &stack->frames[i]);
	}
	table_deinit(&places);
	return err;
}

/* What was read of files before they had symbols. */
static void forget_resolvers(struct stacks *stacks)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(&stacks->resolvers, &at))) {
		struct resolver *resolver = (struct resolver *)(uintptr_t)slot->value;

		resolver_close(resolver);
		free(resolver);
	}
	table_deinit(&stacks->resolvers);
	stacks->resolvers = (struct table){};
}

int stacks_fetch(struct stacks *stacks, struct fetch *fetch)
{
	file_list files = {};
	int err = find_files(stacks, &files);

	if (!err)
		err = fetch_files(fetch, files.at, files.count, watch_namer(stacks->watch));
	if (fetch->fetched) {
		forget_resolvers(stacks);
		sources_forget(stacks->sources);
	}
	vec_free(&files);
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/watch_parts.h"

#include <stdlib.h>

#define SOME_MAPPINGS 256          /* a process with more does not have each change published at once: */
#define MAPPING_NS    20000ull     /* then no oftener than this for each mapping */
#define PUBLISHED_MOST 8192u /* mappings that a process publishes in TABLES_GRACE_NS, for which it holds their space */
#define MANY_MAPPINGS 1024         /* from here on a process is suspected of mappings that are gone */
#define RESCAN_NS     200000000ull /* how often one process's /proc/PID/maps may be read again */
#define RUNTIME_TEXT  (256u << 10) /* no runtime's code is as small as that: CPython 3.6's has 1.5 MB */

bool watch_is_generated(const struct object *object)
{
	return object->file->kind == FILE_ANONYMOUS || (object->content && !object->readable && !object->unanswered);
}

static struct object_compiling compiling(struct watch *watch)
{
	return (struct object_compiling){
		.whole = watch->publishing.whole_tables,
		.pause = watch_relieve,
		.rows = watch_find_rows,
		.failed = watch_note_rowless,
		.follow = watch_follow,
		.context = watch};
}

void watch_fill(void *context, uint32_t page)
{
	struct watch *watch = context;
	const struct object_compiling how = compiling(watch);
	struct object *object = objects_of_page(watch->objects, page);

	if (!object)
		return;
	watch->sharing.charged = object->charged;
	object_fill(object, sampler_tables(watch->sampler), page, &how);
	if (object->lacks_parts)
		watch_note_full(watch, NULL);
}

/* How the kernel shall unwind in a mapping. */
static struct mapping_entry describe(struct watch *watch, const struct process *process,
				     const struct process_mapping *mapping)
{
	struct mapping_entry entry = {.start = mapping->start, .end = mapping->end, .kind = MAPPING_NO_TABLE};
	struct object_compiling how;
	struct object *object;
	uint64_t vaddr;
	bool unknown;

	object = objects_get(watch->objects, mapping->file, process, mapping);
	if (!object)
		return entry;
	if (watch_is_generated(object)) {
		entry.kind = MAPPING_FP_CHAIN;
		return entry;
	}
	unknown = object->table == OBJECT_TABLE_UNKNOWN;
	how = compiling(watch);
	if (unknown) {
		watch_charge(watch, process);
		object->charged = watch->sharing.charged;
	}
	object_compile(object, sampler_tables(watch->sampler), &how);
	if (unknown && object->table == OBJECT_TABLE_READY)
		watch_recall(watch, object);
	watch_tell_file(watch, object);
	watch->publishing.unnamed += mapping->file->kind == FILE_REGULAR && !object->known;
	if (object->unanswered)
		entry.kind = MAPPING_NO_ANSWER;
	if (object->table == OBJECT_TABLE_FULL) {
		entry.kind = MAPPING_TABLE_FULL;
		watch_note_full(watch, process->user);
	}
	if (object->table != OBJECT_TABLE_READY || !object_vaddr(object, mapping, mapping->start, &vaddr))
		return entry;
	(void)!vec_push(&watch->publishing.files, mapping->file->index); /* room was made for it */
	entry.kind = object->learnt && object->learnt->complete ? MAPPING_COMPLETE : MAPPING_TABLE;
	entry.bias = mapping->start - (vaddr - object->run.base);
	entry.page_first = object->run.page_first;
	entry.page_count = object->run.page_count;
	return entry;
}

static int by_start(const void *a, const void *b)
{
	const struct mapping_entry *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Adds a mapping to publishing.entries. */
static int add_mapping(struct watch *watch, struct process *process, const struct process_mapping *mapping)
{
	struct mapping_entry entry = describe(watch, process, mapping);

	if (entry.kind == MAPPING_FP_CHAIN)
		return watch_describe_generated(watch, process, mapping);
	return vec_push(&watch->publishing.entries, entry);
}

int watch_describe(struct watch *watch, struct process *process, uint64_t time)
{
	size_t i;

	watch->publishing.entries.count = watch->publishing.files.count = 0;
	watch->publishing.unnamed = 0;
	if (vec_reserve(&watch->publishing.files, process->mappings.count))
		return -ENOMEM;
	for (i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];

		if (mapping->from > time || mapping->to <= time)
			continue;
		if (add_mapping(watch, process, mapping))
			return -ENOMEM;
	}
	if (watch->publishing.entries.count > 1)
		qsort(watch->publishing.entries.at, watch->publishing.entries.count,
		      sizeof(*watch->publishing.entries.at), by_start);
	return 0;
}

bool watch_rescan(struct watch *watch, struct process *process, uint64_t now)
{
	struct watched *watched = watched_of(watch, process);

	if (!watched || process->ended != UINT64_MAX || (process->scanned && watched->rescanned + RESCAN_NS > now))
		return false;
	watched->rescanned = now;
	return !processes_scan(watch->processes, process->pid, now, NULL);
}

bool watch_published_lately(const struct watched *watched, uint64_t now)
{
	return (watched->entry.mapping_count > SOME_MAPPINGS &&
		now < watched->published_at + watched->entry.mapping_count * MAPPING_NS) ||
	       now + TABLES_GRACE_NS < watched->published_enough;
}

void watch_count_published(struct watched *watched, uint32_t mappings, uint64_t now)
{
	uint64_t cost = mappings * (TABLES_GRACE_NS / PUBLISHED_MOST);

	if (watched->published_enough < now)
		watched->published_enough = now;
	watched->published_enough += cost < TABLES_GRACE_NS ? cost : TABLES_GRACE_NS;
}

/* What was published needs other files now. */
static void repin(struct watch *watch, struct watched *watched)
{
	size_t i;

	for (i = 0; i < watch->publishing.files.count; i++)
		objects_at(watch->objects, watch->publishing.files.at[i])->pins++;
	watch_unpin(watch, watched);
	for (i = 0; i < watch->publishing.files.count; i++)
		watched->pins.at[watched->pins.count++] = watch->publishing.files.at[i];
}

int watch_publish(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);
	struct publication publication;
	uint32_t before; /* where its mappings were */
	int err = watched ? watch_describe(watch, process, UINT64_MAX - 1) : -ENOMEM;

	if (!err && watch->publishing.entries.count > MANY_MAPPINGS &&
	    watch->publishing.entries.count > 2 * watched->kept && watch_rescan(watch, process, watch_now())) {
		err = watch_describe(watch, process, UINT64_MAX - 1);
		watched->kept = watch->publishing.entries.count;
	}
	if (err)
		return err;
	watched->published_at = watch_now();
	if (watched->published_changes != process->changes)
		watched->changed = watch->drained_at;
	publication = (struct publication){.now = watched->published_at,
					   .valid_from = watch->drained_at,
					   .changed = watched->changed,
					   .epoch = process->epoch,
					   .unnamed = watch->publishing.unnamed,
					   .mappings = watch->publishing.entries.at,
					   .count = (uint32_t)watch->publishing.entries.count};
	if (vec_reserve(&watched->pins, watch->publishing.files.count))
		return -ENOMEM;
	watch_charge(watch, process);
	before = watched->entry.generation ? watched->entry.mapping_first : UINT32_MAX;
	err = tables_publish(sampler_tables(watch->sampler), (uint32_t)process->pid, &publication, &watched->entry);
	if (err == -ENOSPC) {
		watch_shorten(watch);
		watch_note_full(watch, watched);
		publication.count = (uint32_t)watch->publishing.entries.count;
		err = tables_publish(sampler_tables(watch->sampler), (uint32_t)process->pid, &publication,
				     &watched->entry);
	}
	/* What is published is of before: walks by it would be wrong. */
	if (err == -ENOSPC && watched->entry.generation) {
		tables_withdraw(sampler_tables(watch->sampler), (uint32_t)process->pid, &watched->entry,
				watched->published_at);
		watched->entry = (struct process_entry){};
		watch_unpin(watch, watched);
	}
	if (!err && watched->entry.mapping_first != before)
		watch_count_published(watched, watched->entry.mapping_count, watched->published_at);
	if (!err)
		repin(watch, watched);
	watched->published_changes = process->changes;
	if (err != -ENOMEM)
		watch_published_anew(watched);
	return err == -ENOMEM ? err : 0;
}

bool watch_is_wanted(const struct watch *watch, const struct process *process)
{
	const struct watched *watched = process->user;

	return watch->everything || (watched && watched->wanted);
}

/*
 * The mapping of a runtime's code. The largest one: libffi maps a page of the library that contains it a second time,
 * for its trampolines, and that one's address says nothing of where the data is.
 */
static const struct process_mapping *runtime_mapping(struct watch *watch, const struct process *process,
						     struct object **ret)
{
	const struct process_mapping *found = NULL;
	size_t i;

	for (i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];
		struct object *object;

		if (mapping->to != UINT64_MAX || mapping->file->kind != FILE_REGULAR ||
		    mapping->end - mapping->start < RUNTIME_TEXT)
			continue;
		if (found && mapping->end - mapping->start <= found->end - found->start)
			continue;
		object = objects_get(watch->objects, mapping->file, process, mapping);
		if (object && object->runtime.unknown)
			watch_note_unknown(watch, object);
		if (!object || !object_is_walked(object))
			continue;
		found = mapping;
		*ret = object;
	}
	return found;
}

/* What another file of the process tells that its runtime needs; NULL while that is not known. */
static const struct runtime_aid *aid_of(struct watch *watch, const struct process *process,
					const struct runtime *runtime)
{
	const struct runtime_aid *aid = NULL;
	size_t i;

	for (i = 0; !aid && i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];
		struct object *object;

		if (mapping->to != UINT64_MAX || mapping->file->kind != FILE_REGULAR)
			continue;
		object = objects_get(watch->objects, mapping->file, process, mapping);
		if (object && object->aids == runtime)
			aid = object_aid(object);
	}
	return aid;
}

/* Tells the kernel of the process's runtime, and once more when its libc, which is mapped later, is known, too. */
void watch_find_runtime(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);
	const struct process_mapping *mapping;
	const struct runtime_file *file;
	const struct runtime_aid *aid;
	struct object *object = NULL;
	uint64_t vaddr, bias;

	if (!watched || watched->has_aid || (watched->runtime && watched->runtime_changes == process->changes))
		return;
	mapping = runtime_mapping(watch, process, &object);
	if (!mapping || !object_vaddr(object, mapping, mapping->start, &vaddr))
		return;
	file = &object->runtime;
	watched->runtime_changes = process->changes;
	aid = file->needs_aid ? aid_of(watch, process, file->runtime) : NULL;
	if (watched->runtime && !aid)
		return;
	bias = mapping->start - vaddr;
	if (file->to_prove && !watch_prove(watch, process, object, bias))
		return;
	runtime_attach(file, bias, aid, &watched->facts);
	watched->interpreter = object;
	watched->bias = bias;
	watch_tell_tasks(watch, watched);
	watched->runtime = !sampler_runtime(watch->sampler, process->pid, &file->layout, &watched->facts);
	watched->has_aid = watched->runtime && (aid || !file->needs_aid);
}

int watch_refresh(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (!watched)
		return -ENOMEM;
	if (!watch_is_wanted(watch, process) || (!watched->entry.generation && watch_finds(watch, process)))
		return 0;
	watch_find_runtime(watch, process);
	if ((watched->runtime || watched->is_prepared || watched->entry.generation || !watch->everything) &&
	    (watched->published_changes != process->changes || !watched->entry.generation))
		return watch_publish(watch, process);
	return 0;
}

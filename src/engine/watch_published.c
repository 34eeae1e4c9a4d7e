// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwind information that processes publish for the code that they generate: GDB's JIT interface
 * (symbol/jit_objects.h). It is looked for when a sample was in code that no file backs. It is read again when such a
 * sample has no rule, a few times a second, and for at most a tenth of the time.
 */
#include <stdlib.h>

#include "base/time.h"
#include "engine/watch_parts.h"
#include "symbol/jit_objects.h"

#define READ_NS      100000000ull   /* how often a process's list may be read, */
#define READ_SHARE   10             /* and for which part of the time */
#define FULL_NS      10000000000ull /* when it is tried again after there was no room for it */
#define FUNCTION_MAX (256u << 10)   /* bytes: an FDE of more is of a whole buffer of code, that changes (QEMU's) */
/* Such a buffer begins with how it is entered and left, where its unwind information is not true. */
#define ENTRY_BYTES   1024
#define NOT_PUBLISHED UINT64_MAX

/* Where the process has the descriptor; NOT_PUBLISHED: nowhere. */
static uint64_t find_descriptor(struct watch *watch, const struct process *process)
{
	size_t i;

	for (i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];
		struct object *object;
		uint64_t vaddr;

		if (mapping->to != UINT64_MAX || mapping->file->kind != FILE_REGULAR)
			continue;
		object = objects_get(watch->objects, mapping->file, process, mapping);
		if (object && object_jit_descriptor(object) && object_vaddr(object, mapping, mapping->start, &vaddr))
			return object->jit_descriptor + (mapping->start - vaddr);
	}
	return NOT_PUBLISHED;
}

static bool looked_for(struct watch *watch, struct process *process, struct published *published)
{
	if (!published->descriptor ||
	    (published->descriptor == NOT_PUBLISHED && published->changes != process->changes)) {
		published->descriptor = find_descriptor(watch, process);
		published->changes = process->changes;
	}
	return published->descriptor != NOT_PUBLISHED;
}

/* Counts what is kept now. False: it is beyond the process's share. */
static bool keep(struct watch *watch, struct watched *watched)
{
	uint64_t bytes = jit_objects_bytes(watched->published.objects);

	shares_give(&watch->sharing.published, &watched->owner, watched->published.kept);
	watched->published.kept = 0;
	if (shares_take(&watch->sharing.published, &watched->owner, bytes))
		return false;
	watched->published.kept = bytes;
	return true;
}

bool watch_read_published(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);
	const struct memory memory = memory_of_process(process->pid);
	struct mapped_file *anonymous;
	struct perf_map *names;
	uint64_t begin = watch_now(), cpu = time_ns(CLOCK_THREAD_CPUTIME_ID), took;
	unsigned int changed;

	if (!watched || process->ended != UINT64_MAX || begin < watched->published.next)
		return false;
	watched->published.next = begin + READ_NS;
	if (!watch_may_spend(watch, process))
		return false;
	if (!looked_for(watch, process, &watched->published))
		return false;
	if (!watched->published.objects)
		watched->published.objects = jit_objects_create();
	if (!watched->published.objects)
		return false;
	changed = jit_objects_read(watched->published.objects, &memory, watched->published.descriptor);
	if (changed) {
		names = jit_objects_names(watched->published.objects);
		anonymous = names ? processes_anonymous(watch->processes, process) : NULL;
		if (!anonymous || perf_maps_give(watch->naming.jit_maps, anonymous->index + 1ull, names))
			perf_map_destroy(names);
	}
	watch_spend(watch, process, cpu);
	took = watch_now() - begin;
	if (watched->published.next < begin + READ_SHARE * took)
		watched->published.next = begin + READ_SHARE * took;
	if (changed && !keep(watch, watched)) {
		watch_forget_published(watched);
		watched->published.next = begin + FULL_NS;
		return true;
	}
	return changed & JIT_OBJECTS_WENT;
}

int watch_published_rules(const struct process *process, uint64_t address, rule_ranges *ret, bool *whole)
{
	const struct watched *watched = process->user;
	uint64_t start = 0, end = 0;
	size_t i, before = ret->count, kept = before;
	int err = watched && watched->published.objects
			  ? jit_objects_rules(watched->published.objects, address, ret, &start, &end)
			  : -ENOENT;

	*whole = end - start > FUNCTION_MAX;
	if (err || !*whole)
		return err;
	for (i = before; i < ret->count; i++) {
		struct rule_range range = ret->at[i];

		range.start = range.start > start + ENTRY_BYTES ? range.start : start + ENTRY_BYTES;
		if (range.start < range.end)
			ret->at[kept++] = range;
	}
	ret->count = kept;
	return address < start + ENTRY_BYTES ? -ENOENT : 0;
}

void watch_forget_published(struct watched *watched)
{
	if (watched->published.kept)
		shares_give(&watched->watch->sharing.published, &watched->owner, watched->published.kept);
	jit_objects_destroy(watched->published.objects);
	watched->published = (struct published){};
}

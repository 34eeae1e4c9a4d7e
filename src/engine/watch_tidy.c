// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is released while the recording lasts, so that it may last for days. What it holds is bounded by what is
 * running and by what was seen, not by time.
 *
 * - Files that no process maps any more are closed ten seconds later, and their tables freed. Their samples are
 *   named before (engine/names.h), so a program that is gone, or a deleted temporary file, keeps its symbols. A file
 *   whose content was overwritten while it was open, or whose inode is another file's now, counts as a new file for
 *   what is mapped from then on. What was mapped before keeps its rows, and loses its symbols rather than getting
 *   wrong ones.
 * - Ids of stacks and code objects that the kernel has not named for a minute. One turn before, the kernel is told
 *   to send them again if they come back.
 * - When memory is bounded, the rarest stacks (engine/store.h).
 * - Free memory of the allocator, every ten seconds. In between, `trace`, which compiles whole files, can take 100
 *   MB for one (libLLVM's unwind information: 60 to 98 MB). `record` reads parts of large files: 31 to 60 MB in all
 *   with JAX or Chromium (docs/FACTS.md).
 *
 * tests/chaos/leak.t checks that memory and descriptors do not grow.
 */
#include "engine/watch_parts.h"

#include <malloc.h>

#define FILE_IDLE_NS 10000000000ull /* a file that nobody maps may come back: programs are started again and again */
#define AGE_EVERY_NS 10000000000ull
#define NAMING_NS    50000000ull /* at once; asking the process that names takes 1 to 10 ms, a large file 0.1 s */
/* Bytes; a smaller store is not worth it: one that is kept at the end, or from window to window. */
#define REBUILD_LEAST  (16ull << 20)
#define REBUILD_WINDOW (4ull << 20)

static void unsend(void *context, uint64_t id)
{
	struct watch *watch = context;

	sampler_unsend(watch->sampler, id);
}

void watch_unpin(struct watch *watch, struct watched *watched)
{
	size_t i;

	for (i = 0; i < watched->pins.count; i++) {
		struct object *object = objects_at(watch->objects, watched->pins.at[i]);

		if (object)
			object->pins--;
	}
	watched->pins.count = 0;
}

/* Walks may go by a name for a while after it was forgotten: so it is in time before the file is closed. */
static void forget_names(struct watch *watch, struct object *object)
{
	if (object->idle_since + FILE_IDLE_NS >= watch->drained_at + 2 * TABLES_GRACE_NS)
		return;
	watch_forget_keys(watch, object);
	if (object->idle_since + FILE_IDLE_NS < watch->drained_at + TABLES_GRACE_NS)
		object->idle_since = watch->drained_at + TABLES_GRACE_NS - FILE_IDLE_NS;
}

int watch_forget_files(struct watch *watch, uint64_t ns)
{
	uint64_t until = watch_now() + ns;
	uint32_t i;
	int err = 0;

	watch->tidying.has_files = false;
	for (i = 0; i < processes_file_count(watch->processes) && !err; i++) {
		struct mapped_file *file = processes_file(watch->processes, i);
		struct object *object = file ? objects_at(watch->objects, i) : NULL;

		if (!file)
			continue;
		if (!object) {
			if (!file->users)
				processes_forget_file(watch->processes, file);
			continue;
		}
		if (file->users || object->pins) {
			object->idle_since = 0;
		} else if (!object->idle_since) {
			object->idle_since = watch->drained_at;
		} else if (object->names.count) {
			forget_names(watch, object);
		} else if (object->idle_since + FILE_IDLE_NS < watch->drained_at) {
			err = watch_name_file(watch, file);
			if (err)
				break; /* what is not named still needs it */
			watch_keep_learnt(object);
			objects_drop(watch->objects, i, sampler_tables(watch->sampler));
			processes_forget_file(watch->processes, file);
			watch->tidying.has_files = watch_now() > until;
			if (watch->tidying.has_files)
				break;
		}
	}
	return err;
}

/* May what was sampled in an object be named now, as it would be later? */
static bool can_be_named(const struct watch *watch, uint32_t number)
{
	const struct mapped_file *file =
		number < LOCATION_FILES ? NULL : processes_file(watch->processes, number - LOCATION_FILES);
	const struct object *object = file ? objects_at(watch->objects, file->index) : NULL;

	/* A perf map may not have it yet, and a file system not have answered yet. */
	return number == LOCATION_KERNEL || (object && file->kind != FILE_ANONYMOUS && !object->unanswered);
}

/* Names what is not named yet, for a while. True when all is. */
static bool name_mapped(struct watch *watch, int *err)
{
	uint64_t until = watch_now() + NAMING_NS;
	size_t end = LOCATION_FILES + processes_file_count(watch->processes);

	for (; !*err && watch->tidying.next < end && watch_now() < until; watch->tidying.next++)
		if (can_be_named(watch, watch->tidying.next))
			*err = watch_name(watch, watch->tidying.next);
	return watch->tidying.next >= end;
}

/* What is bounded: the store, and the names of what is in it. */
static uint64_t held(const struct watch *watch)
{
	return store_bytes(&watch->store) + frames_bytes(watch->naming.names);
}

static int rebuild(struct watch *watch, const struct store_drop *drop)
{
	int err = store_rebuild(&watch->store, drop, unsend, watch, &watch->counts.dropped[drop->what]);

	return err ? err : watch_forget_names(watch);
}

/* Drops what is rare, until no more than `most` is held: threads before stacks. */
static int drop_rare(struct watch *watch, uint64_t most)
{
	struct store_drop drop = {.threshold = 1};
	int err = 0;

	for (; !err && drop.threshold && held(watch) > most; drop.threshold *= 2) {
		drop.what = STORE_DROP_THREADS;
		if (!watch->store.merges_threads)
			err = rebuild(watch, &drop);
		drop.what = STORE_DROP_STACKS;
		if (!err && held(watch) > most)
			err = rebuild(watch, &drop);
	}
	return err;
}

/*
 * Makes the store anew when it has doubled, or comes near its bound. Before, all is named: addresses in one function
 * become one frame, and much that differed is the same. While it is made anew there are two of it, so its bound is half
 * of what is allowed.
 */
static int bound_store(struct watch *watch)
{
	const struct store_drop nothing = {.what = STORE_DROP_NOTHING};
	uint64_t bytes = held(watch), most = watch->tidying.max_memory / 2;
	uint64_t least = watch->store.in_windows ? REBUILD_WINDOW : REBUILD_LEAST;
	bool full = most && bytes > most / 8 * 7;
	int err = 0;

	if (!full && (bytes < least || bytes < 2 * watch->tidying.rebuilt_bytes))
		return 0;
	if (!name_mapped(watch, &err) && bytes <= most)
		return err;
	watch->tidying.next = 0;
	if (!err)
		err = rebuild(watch, &nothing);
	if (!err && full)
		err = drop_rare(watch, most / 4 * 3);
	watch->tidying.rebuilt_bytes = held(watch);
	return err;
}

int watch_tidy(struct watch *watch)
{
	size_t i;
	int err = watch_forget_files(watch, CLOSING_NS);

	/* Samples named stacks that did not arrive: what was lost on the way is sent again. */
	for (i = 0; i < watch->store.missing.count; i++)
		sampler_unsend(watch->sampler, watch->store.missing.at[i]);
	watch->store.missing.count = 0;
	if (watch->drained_at > watch->tidying.aged_at + AGE_EVERY_NS) {
		watch->tidying.aged_at = watch->drained_at;
		store_age(&watch->store, unsend, watch);
		malloc_trim(0); /* else glibc keeps what was freed */
	}
	return err ? err : bound_store(watch);
}

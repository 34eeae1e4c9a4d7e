// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is let go while the recording lasts, so that it may last for days: files that no process has mapped any more
 * (their samples are named first), ids that the kernel has not used for a minute, and, when memory is bounded, the
 * rarest stacks.
 */
#include "record/watch_parts.h"

#include <malloc.h>

#define FILE_IDLE_NS  10000000000ull /* a file that nobody maps may come back: programs are started again and again */
#define AGE_EVERY_NS  10000000000ull
#define NAMING_NS     50000000ull   /* for so long at once; reading the symbols of one file can take 0.1 s */
#define REBUILD_LEAST (16ull << 20) /* bytes; a smaller store is not worth it */

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

/* Forgets the files that nobody has mapped for a while. */
static int forget_files(struct watch *watch)
{
	uint64_t until = watch_now() + NAMING_NS;
	bool named = false;
	uint32_t i;
	int err = 0;

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
		} else if (object->idle_since + FILE_IDLE_NS < watch->drained_at) {
			err = watch_name_file(watch, file);
			objects_drop(watch->objects, i, sampler_tables(watch->sampler));
			processes_forget_file(watch->processes, file);
			named = true;
			if (watch_now() > until)
				break;
		}
	}
	if (named)
		malloc_trim(0); /* else glibc keeps what was freed */
	return err;
}

/*
 * Makes the store anew when it has doubled, because then much of it has become equal; and as often as it takes, when
 * memory is bounded. While that lasts there are two of it, so its bound is half of what is allowed.
 */
static int bound_store(struct watch *watch)
{
	uint64_t bytes = store_bytes(&watch->store), most = watch->max_memory / 2, threshold;
	bool over = most && bytes > most;
	int err;

	if (!over && (bytes < REBUILD_LEAST || bytes < 2 * watch->rebuilt_bytes))
		return 0;
	err = store_rebuild(&watch->store, 0, unsend, watch, &watch->counts.evicted);
	for (threshold = 1; over && !err && threshold && store_bytes(&watch->store) > most / 4 * 3; threshold *= 2)
		err = store_rebuild(&watch->store, threshold, unsend, watch, &watch->counts.evicted);
	watch->rebuilt_bytes = store_bytes(&watch->store);
	malloc_trim(0); /* else glibc keeps what was freed */
	return err;
}

int watch_tidy(struct watch *watch)
{
	size_t i;
	int err = forget_files(watch);

	/* Samples named stacks that did not arrive: what was lost on the way is sent again. */
	for (i = 0; i < watch->store.missing.count; i++)
		sampler_unsend(watch->sampler, watch->store.missing.at[i]);
	watch->store.missing.count = 0;
	if (watch->drained_at > watch->aged_at + AGE_EVERY_NS) {
		watch->aged_at = watch->drained_at;
		store_age(&watch->store, unsend, watch);
	}
	return err ? err : bound_store(watch);
}

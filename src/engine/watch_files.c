// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tells the kernel part about files, so that it finds the mappings of processes by itself (bpf/find.h). Processes whose
 * files it knows are not published.
 *
 * When the kernel part does not know a file, it sends its name (EVENT_FILE). The mapping at that place says which file
 * it is. The file that is open here must be the one that was mapped there: same size, same time of change. So no other
 * file can have that name while it is open.
 *
 * What the kernel part has found about a process is read back (watch_meet_stack()) when neither the side-band nor /proc
 * tells where the addresses of a stack are mapped: the process has ended, and its records were lost.
 */
#include "engine/watch_parts.h"

#define KEYS_MAX 8 /* of one file: its status changes (link(), chmod()), and what is read of it stays the same */

static uint64_t nanoseconds(const struct timespec *time)
{
	return (uint64_t)time->tv_sec * 1000000000ull + (uint64_t)time->tv_nsec;
}

/* Is what is open what the kernel part means? */
static bool is_same(const struct object *object, const struct file_key *key)
{
	struct stat status;

	if (key->inode == FILE_KEY_VDSO)
		return object->file->kind == FILE_VDSO;
	return object->content && !foreign_stat(object->content, &status) && (uint64_t)status.st_size == key->size &&
	       nanoseconds(&status.st_ctim) == key->changed && !object_changed(object);
}

/* Where what is mapped of a file lies in its page index. False when it has too many segments for that. */
static bool describe_segments(const struct object *object, struct known_file *ret)
{
	size_t i, count = 0;

	for (i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];

		if (!(segment->flags & PF_X))
			continue;
		if (count == FILE_SEGMENTS_MAX)
			return false;
		ret->segments[count++] =
			(struct file_segment){.offset = segment->offset & ~4095ull,
					      .end = segment->offset + segment->filesz,
					      .shift = segment->vaddr - segment->offset - object->run.base};
	}
	return true;
}

/* As watch_describe() does. False when nothing is settled yet. */
static bool describe_file(const struct object *object, struct known_file *ret)
{
	*ret = (struct known_file){.kind = MAPPING_NO_TABLE};
	if (object->unanswered)
		return false;
	if (watch_is_generated(object)) {
		ret->kind = MAPPING_FP_CHAIN;
		return true;
	}
	if (object->table != OBJECT_TABLE_READY)
		return object->table == OBJECT_TABLE_NONE;
	ret->kind = object->learnt && object->learnt->complete ? MAPPING_COMPLETE : MAPPING_TABLE;
	ret->page_first = object->run.page_first;
	ret->page_count = object->run.page_count;
	ret->base = object->run.base;
	/* What a process is to prove is not told of a file. */
	if (object_is_walked(object) && !object->runtime.to_prove)
		runtime_attach(&object->runtime, 0, NULL, &ret->runtime);
	return describe_segments(object, ret);
}

static void forget_key(struct watch *watch, struct object *object, size_t at)
{
	sampler_forget_file(watch->sampler, &object->names.at[at].key);
	sampler_unsend(watch->sampler, object->names.at[at].id);
	object->known -= object->names.at[at].told;
	object->names.at[at] = object->names.at[--object->names.count];
}

void watch_forget_keys(struct watch *watch, struct object *object)
{
	while (object->names.count)
		forget_key(watch, object, 0);
	sampler_void_found(watch->sampler);
}

void watch_tell_file(struct watch *watch, struct object *object)
{
	struct known_file known;
	size_t i;

	if (!object->names.count || !describe_file(object, &known) ||
	    (object->known == object->names.count && object->told_kind == known.kind))
		return;
	for (i = 0; i < object->names.count; i++) {
		struct object_key *key = &object->names.at[i];

		if ((key->told && object->told_kind == known.kind) || !is_same(object, &key->key) ||
		    sampler_know_file(watch->sampler, &key->key, &object->runtime.layout, &known))
			continue;
		object->known += !key->told;
		key->told = true;
	}
	object->told_kind = known.kind;
}

/* 0 or -ENOMEM. */
static int add_key(struct watch *watch, struct object *object, const struct file_event *event)
{
	size_t i;

	for (i = 0; i < object->names.count; i++)
		if (!memcmp(&object->names.at[i].key, &event->key, sizeof(event->key)))
			return 0;
	if (object->names.count == KEYS_MAX)
		forget_key(watch, object, 0);
	return vec_push(&object->names, (struct object_key){.key = event->key, .id = event->id});
}

/* There is no side-band record of the vDSO. */
static int note_vdso(struct watch *watch, struct process *process, const struct file_event *event)
{
	if (processes_find(watch->processes, process->pid, UINT64_MAX) != process || process->ended <= event->time)
		return 0;
	return processes_mmap(watch->processes, process->pid, event->time, event->start, event->end - event->start, 0,
			      0, 0, "[vdso]", &process);
}

int watch_take_file(struct watch *watch, const struct file_event *event)
{
	const struct process_mapping *mapping = NULL;
	struct process *process;
	struct object *object;
	int err = 0;

	if (event->time >= watch->drained_at)
		err = watch_drain_sideband(watch);
	process = err ? NULL : watch_process(watch, (int)event->tgid, event->time);
	if (process && event->key.inode == FILE_KEY_VDSO && !process_find_mapping(process, event->start, event->time))
		err = note_vdso(watch, process, event);
	if (process && !err)
		mapping = process_find_mapping(process, event->start, event->time);
	if (!mapping) {
		sampler_unsend(watch->sampler, event->id); /* another process may tell which file that is */
		return err;
	}
	object = objects_get(watch->objects, mapping->file, process, mapping);
	if (!object)
		return -ENOMEM;
	if (object->file->kind == FILE_ANONYMOUS)
		return 0;
	err = add_key(watch, object, event);
	if (!err)
		watch_tell_file(watch, object);
	return err;
}

bool watch_finds(const struct watch *watch, const struct process *process)
{
	bool any = false;
	size_t i;

	if (!sampler_finds(watch->sampler))
		return false;
	for (i = 0; i < process->mappings.count; i++) {
		const struct process_mapping *mapping = &process->mappings.at[i];
		const struct object *object;

		if (mapping->to != UINT64_MAX || mapping->file->kind == FILE_ANONYMOUS)
			continue;
		object = objects_at(watch->objects, mapping->file->index);
		if (!object || !object->known)
			return false;
		any = true;
	}
	return any;
}

void watch_note_replaced(struct watch *watch, const struct process *process)
{
	struct watched *watched = process->user;

	if (!watched || watched->seen_epoch == process->epoch)
		return;
	watched->seen_epoch = process->epoch;
	sampler_void_process(watch->sampler, process->pid);
}

/* The file whose tables a found mapping uses, and the mapping's offset in it. NULL: not known. */
static const struct mapped_file *file_of(struct watch *watch, const struct mapping_entry *entry, uint64_t *offset)
{
	uint64_t vaddr;
	uint32_t i;
	size_t k;

	for (i = 0; entry->page_count && i < processes_file_count(watch->processes); i++) {
		const struct object *object = objects_at(watch->objects, i);

		if (!object || !object->known || object->run.page_first != entry->page_first ||
		    object->run.page_count != entry->page_count)
			continue;
		vaddr = entry->start - entry->bias + object->run.base;
		for (k = 0; k < object->segment_count; k++) {
			const struct elf_segment *segment = &object->segments[k];

			*offset = vaddr - segment->vaddr + segment->offset;
			/* A mapping begins at the page in which its segment does. */
			if (segment->flags & PF_X && *offset + 4095 >= segment->offset &&
			    *offset < segment->offset + segment->filesz)
				return object->file;
		}
	}
	return NULL;
}

/* Adds the mappings of a process that only the kernel part knows. *process is set when there are some. 0 or -ENOMEM. */
static int take_found(struct watch *watch, const struct stack_event *event, struct process **process)
{
	struct mapping_entry entries[FIND_MAPPINGS_MAX];
	uint64_t since, offset;
	size_t i, count = sampler_found(watch->sampler, (int)event->tgid, event->cookie, entries, &since);

	if (!count || since > event->time)
		return 0;
	for (i = 0; i < count; i++) {
		const struct mapped_file *file = file_of(watch, &entries[i], &offset);

		if (!file || (*process && process_find_mapping(*process, entries[i].start, event->time)))
			continue;
		if (processes_mmap(watch->processes, (int)event->tgid, since, entries[i].start,
				   entries[i].end - entries[i].start, offset, file->device, file->inode, file->path,
				   process) == -ENOMEM)
			return -ENOMEM;
	}
	return 0;
}

/* Is every address of a stack in a mapping that is known? */
static bool all_mapped(const struct process *process, const struct stack_event *event, const uint64_t *frames)
{
	uint32_t i;

	for (i = 0; i < event->count; i++) {
		uint64_t address = frames[i] & ~NATIVE_RETURN_ADDRESS;

		if (!process_find_mapping(process, address - (frames[i] >> 63), event->time))
			return false;
	}
	return true;
}

int watch_meet_stack(struct watch *watch, const struct stack_event *event, const uint64_t *frames, struct process **ret)
{
	struct process *process = watch_process(watch, (int)event->tgid, event->time);
	int err = 0;

	/*
	 * What was mapped after the side-band was read, and before this sample, the kernel part may have found by
	 * itself; in a program, perhaps, that has taken the place of another one.
	 */
	if (event->time >= watch->drained_at && !watch_drain_sideband(watch))
		process = watch_process(watch, (int)event->tgid, event->time);
	if (process && (!process->scanned || !all_mapped(process, event, frames)) &&
	    watch_rescan(watch, process, watch_now()))
		watch_note_replaced(watch, process);
	if (!process || !all_mapped(process, event, frames))
		err = take_found(watch, event, &process);
	*ret = process;
	return err;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/watch_parts.h"

#include <stdlib.h>
#include <sys/uio.h>

#include "abi/loss.h"
#include "bpf/scratch.h"

struct process *watch_process(struct watch *watch, int tgid, uint64_t time)
{
	struct process *process = processes_find(watch->processes, tgid, time);

	if (!process)
		processes_scan(watch->processes, tgid, watch_now(), &process);
	return process;
}

/*
 * The object that is mapped at an address of a process at a time, and the vaddr: of generated code the process's own.
 * *object is NULL, or the result false, when that is not known. -ENOMEM through *err.
 */
static bool find_object(struct watch *watch, struct process *process, uint64_t address, uint64_t time,
			struct object **object, uint64_t *vaddr, int *err)
{
	const struct process_mapping *mapping = process ? process_find_mapping(process, address, time) : NULL;

	*err = 0;
	*object = NULL;
	if (!mapping)
		return false;
	*object = objects_get(watch->objects, mapping->file, process, mapping);
	if (*object && watch_is_generated(*object)) {
		const struct mapped_file *anonymous = processes_anonymous(watch->processes, process);

		*object = anonymous ? objects_get(watch->objects, anonymous, process, NULL) : NULL;
	}
	if (!*object)
		*err = -ENOMEM;
	return *object && object_vaddr(*object, mapping, address, vaddr);
}

/* The location of an address of a process, at a time. `process` may be NULL. */
static int locate(struct watch *watch, struct process *process, uint64_t frame, uint64_t time, uint32_t *ret)
{
	struct location location = {
		.object = LOCATION_UNKNOWN, .is_return = frame >> 63, .address = frame & ~NATIVE_RETURN_ADDRESS};
	struct object *object;
	uint64_t vaddr;
	int err;

	/* The call may be the last instruction of the text. */
	if (find_object(watch, process, location.address - location.is_return, time, &object, &vaddr, &err)) {
		location.object = LOCATION_FILES + object->file->index;
		location.address = vaddr + location.is_return;
	}
	return err ? err : store_location(&watch->store, &location, ret);
}

/* Room for the frames of a stack, in watch->arriving.frames; false when its stack is here already or memory is short
 * (*err). */
static bool begin_stack(struct watch *watch, uint64_t id, uint32_t count, int *err)
{
	*err = 0;
	if (store_has_stack(&watch->store, id))
		return false;
	watch->arriving.frames.count = 0;
	*err = vec_reserve(&watch->arriving.frames, count + 1ull);
	return !*err;
}

int watch_store_native(struct watch *watch, uint64_t id, struct process *process, const uint64_t *frames,
		       uint32_t count, uint64_t time)
{
	uint32_t i;
	int err;

	if (!begin_stack(watch, id, count, &err))
		return err;
	for (i = 0; i < count && !err; i++)
		err = locate(watch, process, frames[i], time, &watch->arriving.frames.at[i]);
	return err ? err : store_stack(&watch->store, id, RUNTIME_NONE, watch->arriving.frames.at, count);
}

static int handle_native_stack(struct watch *watch, const struct stack_event *event, const uint64_t *frames)
{
	struct process *process;
	uint32_t believed;
	bool doubted;

	if (watch_meet_stack(watch, event, frames, &process))
		return -ENOMEM;
	if (watch_check_stack(watch, process, frames, event->count, event->time, &believed, &doubted) ||
	    watch_judge_stack(watch, process, event, frames) ||
	    (doubted && watch_doubt(watch, event->id)))
		return -ENOMEM;
	return watch_store_native(watch, event->id, process, frames, believed, event->time);
}

static int handle_kernel_stack(struct watch *watch, const struct stack_event *event, const uint64_t *frames)
{
	uint32_t i;
	int err;

	if (!begin_stack(watch, event->id, event->count, &err))
		return err;
	for (i = 0; i < event->count && !err; i++) {
		/* The innermost is where the sample was taken; the others are return addresses. */
		struct location location = {.object = LOCATION_KERNEL, .is_return = i > 0, .address = frames[i]};

		err = store_location(&watch->store, &location, &watch->arriving.frames.at[i]);
	}
	return err ? err : store_stack(&watch->store, event->id, RUNTIME_NONE, watch->arriving.frames.at, event->count);
}

static int handle_second_stack(struct watch *watch, const struct stack_event *event, const struct second_frame *frames)
{
	uint32_t i, location;
	int err;

	if (!begin_stack(watch, event->id, event->count, &err))
		return err;
	for (i = 0; i < event->count && !err; i++) {
		location = 0;
		err = store_second_location(&watch->store, frames[i].code, frames[i].position, &location);
		watch->arriving.frames.at[i] = location << SECOND_FLAG_BITS | (frames[i].flags & SECOND_FLAGS);
	}
	return err ? err
		   : store_stack(&watch->store, event->id, (enum runtime_id)event->header.runtime,
				 watch->arriving.frames.at, event->count);
}

/* Line tables that were too long for the kernel's copy are read here, while the code object is there (it is running).
 */
static int handle_code(struct watch *watch, const struct code_event *event, size_t bytes)
{
	const uint8_t *table = event->text + event->text_bytes;
	uint32_t size = event->table_copied;
	uint8_t *longer = NULL;
	int err;

	if (!code_event_fits(event, bytes))
		return 0;
	watch_note_loop(watch, event);
	if (size < event->table_size && event->table_size < (64u << 20)) {
		struct iovec local, remote;

		longer = malloc(event->table_size);
		local = (struct iovec){.iov_base = longer, .iov_len = event->table_size};
		remote = (struct iovec){.iov_base = (void *)(uintptr_t)event->table_address,
					.iov_len = event->table_size};
		if (longer &&
		    process_vm_readv((pid_t)event->tgid, &local, 1, &remote, 1, 0) == (ssize_t)event->table_size) {
			table = longer;
			size = event->table_size;
		}
	}
	err = store_code(&watch->store, event, table, size);
	free(longer);
	return err;
}

static int meet_sources(struct watch *watch, const struct sample_event *sample, enum source_files_kind kind)
{
	return watch->sources ? source_files_meet(watch->sources, kind, (int)sample->tgid, sample->time,
						  watch_process(watch, (int)sample->tgid, sample->time))
			      : 0;
}

int watch_keep_sample(struct watch *watch, const struct sample_event *sample)
{
	if ((sample->second_stack && meet_sources(watch, sample, SOURCE_FILES_RUNTIME)) ||
	    (watch->naming.lines && meet_sources(watch, sample, SOURCE_FILES_NATIVE)))
		return -ENOMEM;
	return store_sample(&watch->store, sample);
}

/* One of the kernel's, whose stack is known. */
static int keep_known(struct watch *watch, const struct sample_event *sample)
{
	if (!watch->keeps || watch->keeps(watch->wants_context, sample))
		return watch_keep_sample(watch, sample);
	watch->counts.refused++;
	return 0;
}

/* All of a sample of which there may be only the first bytes: then it has no waker. */
static struct sample_event whole_sample(const struct event_header *header, size_t size)
{
	struct sample_event sample = {};

	memcpy(&sample, header, size < sizeof(sample) ? SAMPLE_EVENT_BRIEF : sizeof(sample));
	return sample;
}

static int handle_sample(struct watch *watch, const struct sample_event *sample)
{
	struct waiting_sample waiting = {.sample = *sample, .awaits = sample->flags & (SAMPLE_LATE | SAMPLE_RESUMES)};
	uint64_t before;

	if ((sample->waits || watch->store.keeps_locks) && sample->flags & SAMPLE_SECOND)
		watch_note_lock(watch, watch_process(watch, (int)sample->tgid, sample->time), &waiting.sample);
	watch_cut_wait(watch, &waiting.sample);
	if (watch->wants && !watch->wants(watch->wants_context, sample)) {
		watch->counts.refused++;
		watch->counts.refused_waits += !!sample->waits;
		watch->counts.refused_ns += sample->waits ? sample->weight : 0;
		return 0;
	}
	if (watch->owners && owners_meet(watch->owners, sample->cgroup))
		return -ENOMEM;
	/* Now, as the process may end. */
	if (sample->flags & SAMPLE_SECOND && meet_sources(watch, sample, SOURCE_FILES_RUNTIME))
		return -ENOMEM;
	watch->counts.verify.chosen += !!(sample->flags & SAMPLE_VERIFY);
	if (watch->learning.doubted.count && table_get(&watch->learning.doubted, sample->native_stack, &before))
		waiting.sample.native_loss = LOSS_NO_RULE;
	if (watch_judge_sample(watch, sample))
		return -ENOMEM;
	if (!waiting.awaits)
		return keep_known(watch, &waiting.sample);
	if (table_get(&watch->arriving.late, sample->sequence, &before))
		waiting.before = (uint32_t)before;
	if (vec_push(&watch->arriving.waiting, waiting))
		return -ENOMEM;
	return table_set(&watch->arriving.late, sample->sequence, watch->arriving.waiting.count);
}

/* The tables are wanted from now on: the next samples shall be walked in the kernel. */
static int publish_late(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (!watched)
		return -ENOMEM;
	watched->wanted = true;
	watch_find_runtime(watch, process);
	if (process->ended == UINT64_MAX && !watched->is_full && !watch_published_lately(watched, watch_now()) &&
	    (!watched->entry.generation || watched->published_changes != process->changes ||
	     watched->entry.valid_from < watch->drained_at))
		return watch_publish(watch, process);
	return 0;
}

/* A file's are in the file; those that were generated in the process, if that still runs. */
int watch_read_code(void *context, void *dst, size_t size, uint64_t address)
{
	const struct code_then *then = context;
	const struct process_mapping *mapping = process_find_mapping(then->process, address, then->time);
	const struct object *object = mapping ? objects_at(then->watch->objects, mapping->file->index) : NULL;
	const struct memory memory = memory_of_process(then->process->pid);

	if (!object || size > mapping->end - address)
		return -EFAULT;
	if (!watch_is_generated(object) && object->content)
		return foreign_read(object->content, dst, size, address - mapping->start + mapping->offset) ==
				       (ssize_t)size
			       ? 0
			       : -EFAULT;
	return then->process->ended == UINT64_MAX ? memory_read(&memory, dst, size, address) : -EFAULT;
}

/* Walks a copy of a stack by the mappings that watch_describe() has found. */
static struct late_stack walk_copy(struct watch *watch, const struct process *process, uint32_t epoch,
				   const struct snapshot_event *snapshot, const uint8_t *bytes)
{
	struct code_then then = {watch, process, snapshot->time};
	const struct memory code = {watch_read_code, &then};

	return late_walk(watch->walker, watch->publishing.entries.at, (uint32_t)watch->publishing.entries.count, epoch,
			 snapshot, bytes, &code);
}

/* A walk did not reach its end: may it do so by what can be found out now? */
static bool look_again(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack)
{
	bool rescanned = false;

	if (stack->loss == LOSS_NONE)
		return false;
	if (stack->loss == LOSS_NO_MAPPING)
		rescanned = watch_rescan(watch, process, watch_now());
	return watch_judge_late(watch, process, time, stack) || rescanned;
}

/* The same for a copy that was walked: what is left of it has an id of its own. 0 or -ENOMEM. */
static int check_late(struct watch *watch, struct process *process, uint64_t time, struct late_stack *stack)
{
	uint32_t believed;
	bool doubted;

	if (!stack->frames)
		return 0;
	if (watch_check_stack(watch, process, stack->frames, stack->count, time, &believed, &doubted))
		return -ENOMEM;
	if (!doubted)
		return 0;
	stack->count = believed;
	stack->loss = LOSS_NO_RULE;
	stack->id = hash_mix(stack->id, believed);
	return 0;
}

int watch_walk_late(struct watch *watch, const struct snapshot_event *snapshot, const uint8_t *bytes,
		    struct late_stack *ret)
{
	struct process *process = watch_process(watch, (int)snapshot->tgid, snapshot->time);
	bool again = true, learnt;
	int err;

	*ret = (struct late_stack){.loss = LOSS_EXITED};
	while (process) {
		err = publish_late(watch, process);
		if (!err)
			err = watch_describe(watch, process, snapshot->time);
		if (err)
			return err;
		*ret = walk_copy(watch, process, process->epoch, snapshot, bytes);
		learnt = false;
		while (watch_learn(watch, process, snapshot->time, ret)) {
			learnt = true;
			*ret = walk_copy(watch, process, process->epoch, snapshot, bytes);
		}
		/* The kernel's walkers remember what they met by the publication. */
		if (learnt && process->ended == UINT64_MAX && watch_publish(watch, process))
			return -ENOMEM;
		if (!again || !look_again(watch, process, snapshot->time, ret))
			break;
		again = false;
	}
	return process ? check_late(watch, process, snapshot->time, ret) : 0;
}

/* 0, -ENOMEM, or -EINPROGRESS: the snapshot will come again. */
static int finish_late(struct watch *watch, struct sample_event *sample, const struct snapshot_event *snapshot,
		       const uint8_t *bytes)
{
	struct late_stack stack;
	struct process *process;
	int err = watch_walk_late(watch, snapshot, bytes, &stack);

	if (err)
		return err;
	process = watch_process(watch, (int)snapshot->tgid, snapshot->time);
	if (watch_awaits(watch, process, snapshot->time, &stack) && watch_park(watch, snapshot))
		return -EINPROGRESS;
	sample->native_loss = stack.loss;
	if (!stack.frames)
		return 0;
	sample->native_stack = stack.id;
	watch->counts.late++;
	return watch_store_native(watch, stack.id, process, stack.frames, stack.count, snapshot->time);
}

/* One part of a waiting sample has come; when it was the last, the sample is tallied. */
static int release_sample(struct watch *watch, struct waiting_sample *waiting, uint32_t part)
{
	int err;

	waiting->awaits &= ~part;
	if (waiting->awaits)
		return 0;
	err = keep_known(watch, &waiting->sample);
	table_remove(&watch->arriving.late, waiting->sample.sequence);
	waiting->sample.sequence = 0;
	if (!watch->arriving.late.count)
		watch->arriving.waiting.count = 0;
	return err;
}

/*
 * A second opinion on a stack that the kernel part walked: the copy is walked by the kernel's source on the host, which
 * must come to the same stack, and by libdw.
 */
static int verify(struct watch *watch, const struct snapshot_event *snapshot, const uint8_t *bytes)
{
	struct process *process = watch_process(watch, (int)snapshot->tgid, snapshot->time);
	struct verify_sample sample = {.process = process, .snapshot = snapshot, .bytes = bytes};
	int err;

	if (!watch->verifier)
		return 0;
	if (!process) {
		watch->counts.verify.uncompared[LOSS_EXITED]++;
		return 0;
	}
	err = watch_describe(watch, process, snapshot->time);
	if (err)
		return err;
	sample.walked = walk_copy(watch, process, snapshot->epoch, snapshot, bytes);
	verifier_compare(watch->verifier, watch->objects, &sample, &watch->counts.verify);
	return 0;
}

static int handle_snapshot(struct watch *watch, const struct snapshot_event *event, const uint8_t *bytes, size_t room)
{
	struct waiting_sample *waiting;
	uint64_t found;
	int err;

	if (event->stack_size > room)
		return 0;
	if (event->native_stack)
		return verify(watch, event, bytes);
	if (!table_get(&watch->arriving.late, event->sequence, &found))
		return 0;
	/* The sample made the ring wake us: its process's mappings are probably in the side-band by now. */
	if (event->time >= watch->drained_at) {
		err = watch_drain_sideband(watch);
		if (err)
			return err;
	}
	waiting = &watch->arriving.waiting.at[found - 1]; /* no other one has joined it */
	err = finish_late(watch, &waiting->sample, event, bytes);
	waiting->is_parked = err == -EINPROGRESS;
	if (waiting->is_parked)
		return 0;
	return err ? err : release_sample(watch, waiting, SAMPLE_LATE);
}

/*
 * The user part of a sample that was walked again on the thread's way back to user mode, and of those that have joined
 * it; their kernel parts are their own.
 */
static int handle_resumed(struct watch *watch, const struct sample_event *event)
{
	struct waiting_sample *waiting;
	uint64_t next = 0;
	int err = 0;

	table_get(&watch->arriving.late, event->sequence, &next);
	while (next && !err) {
		waiting = &watch->arriving.waiting.at[next - 1];
		next = waiting->before;
		waiting->sample.second_stack = event->second_stack;
		waiting->sample.second_loss = event->second_loss;
		waiting->sample.flags |= event->flags & SAMPLE_CURRENT; /* nor did it let go of it in the kernel */
		if (!(event->flags & SAMPLE_LATE)) {                    /* else the native part is the snapshot's */
			waiting->sample.native_stack = event->native_stack;
			waiting->sample.native_loss = event->native_loss;
			waiting->awaits &= ~(uint32_t)SAMPLE_LATE;
		} else if (event->flags & SAMPLE_RESUMES) {
			waiting->awaits |= SAMPLE_LATE; /* no other one has joined it */
		}
		err = release_sample(watch, waiting, SAMPLE_RESUMES);
	}
	return err;
}

/* When a record was made; 0: it does not say. */
static uint64_t time_of(const struct event_header *header)
{
	switch (header->type) {
	case EVENT_SAMPLE:
	case EVENT_RESUMED: /* the sample's */
		return ((const struct sample_event *)header)->time;
	case EVENT_KERNEL_STACK:
	case EVENT_NATIVE_STACK:
	case EVENT_SECOND_STACK:
		return ((const struct stack_event *)header)->time;
	case EVENT_SNAPSHOT:
		return ((const struct snapshot_event *)header)->time;
	}
	return 0;
}

int watch_take_record(struct watch *watch, const struct event_header *header, size_t size)
{
	const struct stack_event *stack = (const void *)header;
	const struct code_event *code = (const void *)header;
	const struct snapshot_event *snapshot = (const void *)header;
	struct sample_event sample;

	if (time_of(header) > watch->arriving.newest)
		watch->arriving.newest = time_of(header);
	switch (header->type) {
	case EVENT_SAMPLE:
		sample = whole_sample(header, size);
		return handle_sample(watch, &sample);
	case EVENT_KERNEL_STACK:
		return stack->count * 8ull > size - sizeof(*stack)
			       ? 0
			       : handle_kernel_stack(watch, stack, (const void *)(stack + 1));
	case EVENT_NATIVE_STACK:
		return stack->count * 8ull > size - sizeof(*stack)
			       ? 0
			       : handle_native_stack(watch, stack, (const void *)(stack + 1));
	case EVENT_SECOND_STACK:
		return stack->count * sizeof(struct second_frame) > size - sizeof(*stack)
			       ? 0
			       : handle_second_stack(watch, stack, (const void *)(stack + 1));
	case EVENT_CODE:
		return handle_code(watch, code, size);
	case EVENT_SNAPSHOT:
		return handle_snapshot(watch, snapshot, (const void *)(snapshot + 1), size - sizeof(*snapshot));
	case EVENT_RESUMED:
		return handle_resumed(watch, (const void *)header);
	case EVENT_FILE:
		return watch_take_file(watch, (const void *)header);
	}
	return 0;
}

int watch_release_stale(struct watch *watch, uint64_t time, enum loss missing)
{
	size_t i, kept = 0;
	uint64_t before;
	int err = 0;

	for (i = 0; i < watch->arriving.waiting.count && !err; i++) {
		struct waiting_sample waiting = watch->arriving.waiting.at[i];
		uint64_t sequence = waiting.sample.sequence;

		if (!sequence)
			continue;
		if (waiting.sample.time >= time || (waiting.is_parked && time != UINT64_MAX)) {
			/* The one before was kept, and has its new place; or it is gone. */
			if (waiting.before)
				waiting.before =
					table_get(&watch->arriving.late, sequence, &before) ? (uint32_t)before : 0;
			watch->arriving.waiting.at[kept] = waiting;
			err = table_set(&watch->arriving.late, sequence, ++kept);
			continue;
		}
		/* Its snapshot was the ring's next record. */
		if (waiting.awaits & SAMPLE_LATE)
			waiting.sample.native_loss = (__u16)missing;
		table_remove(&watch->arriving.late, sequence);
		err = keep_known(watch, &waiting.sample);
	}
	if (!err)
		watch->arriving.waiting.count = kept;
	return err;
}

bool watch_locate(struct watch *watch, int pid, uint64_t address, uint64_t time, struct object **object,
		  uint64_t *vaddr)
{
	struct process *process = watch_process(watch, pid, time);
	int err;

	if (process && time >= watch->drained_at && !process_find_mapping(process, address, time) &&
	    !watch_drain_sideband(watch))
		process = watch_process(watch, pid, time);
	return find_object(watch, process, address, time, object, vaddr, &err);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/watch_parts.h"

#include <string.h>

#include "bpf/scratch.h"

#define LOCALS_PAGES 64 /* of the process that are kept while variables are read */

static void take_code(void *context, const struct code_event *event, size_t size)
{
	struct watch *watch = context;

	if (watch_take_record(watch, &event->header, size))
		watch->err = -ENOMEM;
}

/* The segment that the runtime's state is in. */
bool watch_runtime_data(const struct watched *watched, uint64_t *start, uint64_t *end)
{
	const struct object *object = watched->runtime ? watched->interpreter : NULL;
	uint64_t state = object ? object->runtime.state : 0;
	size_t i;

	for (i = 0; state && i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];

		if (state < segment->vaddr || state - segment->vaddr >= segment->memsz)
			continue;
		*start = segment->vaddr + watched->bias;
		*end = *start + segment->memsz;
		return true;
	}
	return false;
}

int watch_live_begin(struct watch *watch, int pid, struct watch_live *ret)
{
	struct process *process;
	struct watched *watched;
	int err = watch_drain_sideband(watch);

	if (!watch->live_second)
		watch->live_second = live_second_create(take_code, watch);
	if (err || !watch->live_second)
		return -ENOMEM;
	process = watch_process(watch, pid, watch_now());
	if (!process || process->ended != UINT64_MAX)
		return -ESRCH;
	watched = watched_of(watch, process);
	if (!watched)
		return -ENOMEM;
	watched->wanted = true;
	watch_find_runtime(watch, process);
	err = watch_describe(watch, process, UINT64_MAX - 1);
	*ret = (struct watch_live){.process = process, .memory = memory_of_process(pid)};
	if (watched->runtime) {
		ret->facts = &watched->facts;
		ret->runtime = &watched->interpreter->runtime;
		ret->bias = watched->bias;
		watch_runtime_data(watched, &ret->data_start, &ret->data_end);
	}
	return err;
}

/* One of the ring's records, as the kernel part would have sent it. */
static int give_stack(struct watch *watch, struct event_header type, const struct sample_event *sample, uint64_t id,
		      const void *frames, uint32_t count, size_t frame_size)
{
	const struct stack_event header = {.header = type,
					   .id = id,
					   .time = sample->time,
					   .cookie = sample->cookie,
					   .tgid = sample->tgid,
					   .count = count};
	size_t size = sizeof(header) + count * frame_size;
	struct stack_event *event = malloc(size);
	int err;

	if (!event)
		return -ENOMEM;
	*event = header;
	memcpy(event + 1, frames, count * frame_size);
	err = watch_take_record(watch, &event->header, size);
	free(event);
	return err;
}

static int walk_kernel(struct watch *watch, const struct task_event *task, struct sample_event *sample)
{
	const uint64_t *frames = (const uint64_t *)(task + 1);
	uint64_t hash = 1;
	uint32_t i;

	if (!task->kernel_frames)
		return 0;
	for (i = 0; i < task->kernel_frames; i++)
		hash = hash_mix(hash, frames[i]);
	sample->kernel_stack = hash;
	return give_stack(watch, (struct event_header){EVENT_KERNEL_STACK, 0}, sample, hash, frames,
			  task->kernel_frames, sizeof(*frames));
}

static struct late_stack walk_once(struct watch *watch, struct watch_live *live, const struct task_event *task,
				   const struct snapshot_event *registers)
{
	return live_walk(watch->walker, watch->publishing.entries.at, (uint32_t)watch->publishing.entries.count,
			 live->process->epoch, registers, task->thread_pointer, &live->memory);
}

static int walk_native(struct watch *watch, struct watch_live *live, const struct task_event *task,
		       struct sample_event *sample)
{
	struct snapshot_event registers = {
		.time = sample->time, .cookie = sample->cookie, .tgid = task->tgid, .tid = task->tid, .pc = task->pc};
	struct late_stack stack;
	bool again = true, judged = false;

	memcpy(registers.registers, task->registers, sizeof(registers.registers));
	for (;;) {
		stack = walk_once(watch, live, task, &registers);
		while (watch_learn(watch, live->process, sample->time, &stack))
			stack = walk_once(watch, live, task, &registers);
		if (!judged && watch_judge_live(watch, live->process, sample->time, &stack)) {
			judged = true;
			if (watch_describe(watch, live->process, UINT64_MAX - 1))
				return -ENOMEM;
			continue;
		}
		if (stack.loss != LOSS_NO_MAPPING || !again || !watch_rescan(watch, live->process, watch_now()))
			break;
		again = false;
		sample->time = registers.time = watch_now(); /* what was found is known from now on */
		if (watch_describe(watch, live->process, UINT64_MAX - 1))
			return -ENOMEM;
	}
	sample->native_stack = stack.id;
	sample->native_loss = stack.loss;
	return watch_store_native(watch, stack.id, live->process, stack.frames, stack.count, sample->time);
}

static int walk_second(struct watch *watch, struct watch_live *live, const struct task_event *task,
		       struct sample_event *sample)
{
	struct live_second_stack stack;

	sample->flags |= SAMPLE_SECOND;
	watch->err = 0;
	stack = live_second_walk(watch->live_second, &live->runtime->layout, live->facts, task, sample->cookie,
				 &live->memory);
	if (stack.current)
		sample->flags |= SAMPLE_CURRENT;
	live->second = stack;
	sample->second_stack = stack.id;
	sample->second_loss = stack.loss;
	if (watch->err || !stack.id)
		return watch->err;
	return give_stack(watch, (struct event_header){EVENT_SECOND_STACK, live->facts->runtime}, sample, stack.id,
			  stack.frames, stack.count, sizeof(*stack.frames));
}

int watch_live_walk(struct watch *watch, struct watch_live *live, const struct task_event *task,
		    struct sample_event *ret)
{
	struct sample_event sample = {.header = {.type = EVENT_SAMPLE},
				      .time = watch_now(),
				      .tgid = task->tgid,
				      .tid = task->tid,
				      .flags = SAMPLE_IN_KERNEL};
	int err;

	live->memory = memory_of_process((int)task->tid); /* the main thread may have ended */
	live->second.count = 0;
	memcpy(sample.comm, task->comm, sizeof(sample.comm));
	sample.cookie = hash_mix(hash_mix(hash_mix(task->tgid, task->start_time), task->mm), 0);
	err = walk_kernel(watch, task, &sample);
	if (task->flags & TASK_KERNEL_THREAD) {
		sample.flags |= SAMPLE_KERNEL_THREAD;
	} else if (!task->mm) {
		sample.flags |= SAMPLE_EXITING;
	} else if (task->flags & (TASK_NO_REGISTERS | TASK_32_BIT)) {
		sample.native_loss = task->flags & TASK_32_BIT ? LOSS_COMPAT : LOSS_NO_USER_REGS;
	} else {
		if (task->flags & TASK_VFORK)
			sample.flags |= SAMPLE_VFORK;
		if (!err)
			err = walk_native(watch, live, task, &sample);
		if (!err && live->facts)
			err = walk_second(watch, live, task, &sample);
	}
	*ret = sample;
	return err;
}

int watch_live_keep(struct watch *watch, const struct sample_event *sample)
{
	return watch_keep_sample(watch, sample);
}

int watch_live_locals(struct watch *watch, const struct watch_live *live, struct runtime_effort *effort,
		      struct watch_locals **ret, size_t *count)
{
	const struct live_second_stack *stack = &live->second;
	struct watch_locals *locals = calloc(stack->count + 1ull, sizeof(*locals));
	struct memory_pages *pages =
		memory_pages_create(&live->memory, LOCALS_PAGES); /* frames share names, types and values */
	const struct memory memory = memory_of_pages(pages);
	size_t used = 0;
	uint32_t i;
	int err = locals && pages ? 0 : -ENOMEM;

	for (i = 0; !err && i < stack->count; i++) {
		const struct code *code = store_code_of(&watch->store, stack->frames[i].code);
		struct watch_locals *frame = &locals[used];

		if (stack->frames[i].flags & (SECOND_FRAME_EMPTY | SECOND_FRAME_TASK) || (code && code->hidden))
			continue;
		used++;
		frame->unsure = stack->frames[i].flags & SECOND_FRAME_UNSURE;
		frame->function = code && code->name ? strdup(code->name) : NULL;
		if (code && code->runtime && code->runtime->locals && stack->places[i])
			err = code->runtime->locals(live->runtime, &memory, stack->places[i], effort, &frame->locals);
	}
	memory_pages_destroy(pages);
	if (err) {
		watch_locals_destroy(locals, used);
		return err;
	}
	*ret = locals;
	*count = used;
	return 0;
}

int watch_live_tasks(const struct watch_live *live, struct runtime_effort *effort, struct runtime_tasks *ret)
{
	*ret = (struct runtime_tasks){};
	if (!live->facts || !live->runtime->runtime->tasks)
		return 0;
	return live->runtime->runtime->tasks(live->runtime, &live->memory, live->bias, effort, ret);
}

void watch_locals_destroy(struct watch_locals *locals, size_t count)
{
	size_t i;

	for (i = 0; locals && i < count; i++) {
		free(locals[i].function);
		runtime_locals_deinit(&locals[i].locals);
	}
	free(locals);
}

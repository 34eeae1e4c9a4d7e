// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A stack arrives once, as numbers. The files and offsets of its addresses are found at once, by the mappings of that
 * moment, because the process may be gone when the stack is printed. Names are looked up when it is printed
 * (stacks_print.c); files stay open until then.
 *
 * Functions of runtimes are decoded by engine/store, of which nothing else is used here.
 */
#include "trace/stacks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "abi/config.h"
#include "abi/limits.h"
#include "abi/loss.h"
#include "base/foreign.h"
#include "kernel/programs.h"
#include "lang/core/compiler.h"
#include "trace/stacks_parts.h"

#define PROCESSES  16384
#define THREADS    4096
#define PUBLISH_NS 2000000ull /* tables of one large file, or of some small ones */

int stacks_configure(struct bpf_object *object, uint32_t parts, bool finds, const struct compile_options *compile,
		     struct diag *diag)
{
	const struct programs_options options = {.watch_all = true,
						 .finds = finds,
						 .walks = (uint8_t)(parts & (SAMPLER_NATIVE | SAMPLER_SECOND)),
						 .spares = 2,
						 .sample_ns = compile->sample_ns ? compile->sample_ns : SAMPLE_TIME_NS,
						 .namespace_device = compile->namespace_device,
						 .namespace_inode = compile->namespace_inode};
	/* Smaller than the sampler's, as they are made anew for each script: all processes are watched, and few of
	 * them, and of their threads, meet probes. */
	static const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {{"targets", 1},
		     {"execs", PROCESSES / 4},
		     {"processes", PROCESSES},
		     {"runtime_processes", PROCESSES},
		     {"runtime_threads", THREADS}};
	int err = programs_configure(object, &options);
	size_t i;

	for (i = 0; !err && i < sizeof(sizes) / sizeof(sizes[0]); i++)
		err = bpf_map__set_max_entries(bpf_object__find_map_by_name(object, sizes[i].map), sizes[i].entries);
	return err ? diag_fail(diag, -err, "stacks.configure", "the stack walkers cannot be configured: %s",
			       strerror(-err))
		   : 0;
}

/* A file that cannot be read is none that tables could be made for. */
static int expect_files(struct stacks *stacks, const struct stacks_options *options)
{
	uint32_t i;
	int err = 0;

	for (i = 0; i < options->probed_count && !err; i++) {
		const struct foreign_request request = {.paths = {options->probed[i]},
							.place = foreign_folder(options->probed[i])};
		struct foreign_file *file;
		struct stat stat;

		if ((i && !strcmp(options->probed[i], options->probed[i - 1])) ||
		    foreign_open(options->files, &request, &file))
			continue;
		if (!foreign_stat(file, &stat))
			err = vec_push(&stacks->expected,
				       (struct watch_file){(uint64_t)major(stat.st_dev) << 32 | minor(stat.st_dev),
							   stat.st_ino});
		foreign_close(file);
	}
	return err;
}

static int scan(struct stacks *stacks, const struct stacks_options *options)
{
	uint32_t i;
	int err = !options->pid         ? watch_scan_all_lazily(stacks->watch)
		  : options->is_command ? watch_scan_briefly(stacks->watch, options->pid)
					: watch_scan(stacks->watch, options->pid);

	/* One that has ended meanwhile has no stacks. */
	for (i = 0; !err && i < options->early_count; i++)
		if (watch_prepare(stacks->watch, options->early[i]) == -ENOMEM)
			err = -ENOMEM;
	return err;
}

int stacks_create(struct bpf_object *object, const struct stacks_options *options, struct stacks **ret,
		  struct diag *diag)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	int err;

	if (!stacks)
		return diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	stacks->everything = !options->pid;
	stacks->files = options->files;
	stacks->sources = options->with_sources ? sources_create(options->debug_folders) : NULL;
	err = sampler_adopt(object, &stacks->sampler, diag);
	if (!err)
		err = sideband_open(&stacks->sideband, diag);
	if (!err && stacks->everything && options->parts & (STACK_NATIVE | STACK_SECOND) &&
	    expect_files(stacks, options))
		err = diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	if (!err)
		err = watch_create(&(struct watch_options){.everything = stacks->everything,
							   .files = options->files,
							   .expected = stacks->expected.at,
							   .expected_count = (uint32_t)stacks->expected.count,
							   .publish_ns = options->pid ? 0 : PUBLISH_NS,
							   .waits = true,
							   .whole_tables = true},
				   stacks->sampler, stacks->sideband, &stacks->watch, diag);
	if (!err && options->parts & (STACK_NATIVE | STACK_SECOND)) {
		err = scan(stacks, options);
		if (err)
			diag_fail(diag, -err, "stacks.scan", "the processes cannot be read: %s", strerror(-err));
	}
	if (err)
		stacks_destroy(stacks);
	else
		*ret = stacks;
	return err;
}

/*
 * A process that called exec meanwhile has its old tables until that is taken in. Where all processes are watched there
 * are tables only of those that were expected.
 */
int stacks_begin(struct stacks *stacks, struct diag *diag)
{
	int err = sampler_attach_hooks(stacks->sampler, diag);

	if (!err && (!stacks->everything || stacks->expected.count) && watch_drain(stacks->watch))
		err = diag_fail(diag, ENOMEM, "stacks.memory", "out of memory");
	return err;
}

static void free_values(struct table *table)
{
	struct table_slot *slot;
	size_t at = 0;

	while ((slot = table_next(table, &at)))
		free((void *)(uintptr_t)slot->value);
	table_deinit(table);
}

void stacks_destroy(struct stacks *stacks)
{
	struct table_slot *slot;
	size_t at = 0, i;

	if (!stacks)
		return;
	while ((slot = table_next(&stacks->resolvers, &at))) {
		resolver_close((struct resolver *)(uintptr_t)slot->value);
		free((struct resolver *)(uintptr_t)slot->value);
	}
	table_deinit(&stacks->resolvers);
	sources_destroy(stacks->sources);
	for (i = 0; i < 3; i++)
		free_values(&stacks->sent[i]);
	store_deinit(&stacks->codes);
	watch_destroy(stacks->watch);
	sideband_close(stacks->sideband);
	sampler_destroy(stacks->sampler);
	table_deinit(&stacks->kept);
	vec_free(&stacks->expected);
	free(stacks);
}

unsigned int stacks_fd_count(const struct stacks *stacks)
{
	(void)stacks;
	return 1;
}

int stacks_fd(const struct stacks *stacks, unsigned int index)
{
	(void)index;
	return sideband_fd(stacks->sideband);
}

int stacks_drain(struct stacks *stacks)
{
	return watch_drain(stacks->watch);
}

bool stacks_is_behind(const struct stacks *stacks)
{
	return watch_is_behind(stacks->watch);
}

void stacks_end(struct stacks *stacks)
{
	watch_stop_publishing(stacks->watch);
}

/* --- records --- */

struct table *stacks_of(struct stacks *stacks, enum event_type type)
{
	return &stacks->sent[type - EVENT_KERNEL_STACK];
}

static void place_native(struct stacks *stacks, const struct stack_event *event, uint64_t frame,
			 struct frame_place *ret)
{
	ret->is_return = frame >> 63;
	ret->address = frame & ~NATIVE_RETURN_ADDRESS;
	if (!watch_locate(stacks->watch, (int)event->tgid, ret->address - ret->is_return, event->time, &ret->object,
			  &ret->vaddr))
		ret->object = NULL;
	ret->vaddr += ret->is_return;
	if (ret->object && !table_get(&stacks->kept, (uint64_t)(uintptr_t)ret->object, NULL) &&
	    !table_set(&stacks->kept, (uint64_t)(uintptr_t)ret->object, 1))
		ret->object->pins++;
}

static int place_second(struct stacks *stacks, const struct second_frame *frame, struct frame_place *ret)
{
	uint32_t number = 0;
	int err = frame->code ? store_second_location(&stacks->codes, frame->code, frame->position, &number) : 0;

	*ret = (struct frame_place){.vaddr = number,
				    .position = frame->position,
				    .has_code = frame->code != 0,
				    .is_entry = frame->flags & SECOND_FRAME_ENTRY,
				    .is_unsure = frame->flags & SECOND_FRAME_UNSURE};
	return err;
}

static int take_stack(struct stacks *stacks, const struct stack_event *event, size_t size)
{
	size_t each = event->header.type == EVENT_SECOND_STACK ? sizeof(struct second_frame) : sizeof(uint64_t);
	const struct second_frame *second = (const void *)(event + 1);
	const uint64_t *frames = (const void *)(event + 1);
	struct table *table = stacks_of(stacks, event->header.type);
	struct sent_stack *stack;
	struct process *process;
	uint32_t i;

	if (size < sizeof(*event) || event->count > (size - sizeof(*event)) / each || table_get(table, event->id, NULL))
		return 0;
	if (event->header.type == EVENT_NATIVE_STACK && watch_meet_stack(stacks->watch, event, frames, &process))
		return -ENOMEM;
	stack = calloc(1, sizeof(*stack) + event->count * sizeof(stack->frames[0]));
	if (!stack)
		return -ENOMEM;
	stack->type = event->header.type;
	stack->runtime = event->header.runtime;
	stack->count = event->count;
	for (i = 0; i < event->count; i++) {
		struct frame_place *place = &stack->frames[i];

		if (stack->type == EVENT_NATIVE_STACK)
			place_native(stacks, event, frames[i], place);
		else if (stack->type == EVENT_KERNEL_STACK)
			*place = (struct frame_place){.address = frames[i], .is_return = i > 0};
		else if (place_second(stacks, &second[i], place))
			break;
	}
	if (i == event->count && !table_set(table, event->id, (uint64_t)(uintptr_t)stack))
		return 0;
	free(stack);
	return -ENOMEM;
}

/* A stack that came before its process's tables is walked here; its id is the snapshot's number. */
static int take_snapshot(struct stacks *stacks, const struct snapshot_event *event, size_t size)
{
	struct stack_event header = {.id = event->sequence, .time = event->time, .tgid = event->tgid};
	struct late_stack walked;
	struct sent_stack *stack;
	uint32_t i;
	int err;

	if (event->stack_size > size - sizeof(*event))
		return 0;
	err = watch_drain(stacks->watch);
	if (!err)
		err = watch_walk_late(stacks->watch, event, (const uint8_t *)(event + 1), &walked);
	if (err)
		return err;
	stack = calloc(1, sizeof(*stack) + walked.count * sizeof(stack->frames[0]));
	if (!stack)
		return -ENOMEM;
	stack->type = EVENT_NATIVE_STACK;
	stack->count = walked.count;
	stack->loss = walked.loss;
	for (i = 0; i < walked.count; i++)
		place_native(stacks, &header, walked.frames[i], &stack->frames[i]);
	if (!table_set(stacks_of(stacks, EVENT_NATIVE_STACK), event->sequence, (uint64_t)(uintptr_t)stack))
		return 0;
	free(stack);
	return -ENOMEM;
}

int stacks_record(struct stacks *stacks, const struct event_header *event, size_t size)
{
	const struct code_event *code = (const void *)event;

	switch (event->type) {
	case EVENT_KERNEL_STACK:
	case EVENT_NATIVE_STACK:
	case EVENT_SECOND_STACK:
		return size < sizeof(struct stack_event) ? 0 : take_stack(stacks, (const void *)event, size);
	case EVENT_CODE:
		if (!code_event_fits(code, size))
			return 0;
		return store_code(&stacks->codes, code, code->text + code->text_bytes, code->table_copied);
	case EVENT_FILE:
		return size < sizeof(struct file_event) ? 0 : watch_take_file(stacks->watch, (const void *)event);
	case EVENT_SNAPSHOT:
		return size < sizeof(struct snapshot_event) ? 0 : take_snapshot(stacks, (const void *)event, size);
	default:
		return 0;
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/loss.h"
#include "engine/merge.h"
#include "engine/waiting.h"
#include "engine/waking.h"

#define NO_FRAME  UINT32_MAX
#define NO_SAMPLE UINT32_MAX
#define HIDDEN    (UINT32_MAX - 1)

/* The profile frame of something, in the window in which it was found. */
struct known_frame {
	uint32_t window, frame;
};

struct report {
	struct watch *watch;
	const struct store *store;
	struct report_options options;
	bool met_lock;                         /* some runtime has one for all threads */
	VEC(uint32_t) lock_functions;          /* that take it or give it away, of watch_frames(); options.gil */
	uint32_t window;                       /* number, from 1 */
	VEC(struct known_frame) named_frames;  /* of each of watch_frames() */
	VEC(struct known_frame) second_frames; /* of each second location; HIDDEN: not to be shown */
	/* Of the window at hand: */
	const struct tallies *tallies;
	struct profile *profile;
	struct profile_quality *quality;
	uint32_t *order;   /* of the tallies: the most frequent first */
	uint32_t *samples; /* of the profile, by tally: if moments or slices are kept */
	uint32_t *uses; /* of each stack: tallies that are still to be added, by stack number - 1; NULL: not counted */
	VEC(uint8_t) roles; /* of the stack at hand */
	VEC(bool) entry;
	VEC(uint32_t) numbers; /* 0, 1, ... */
	VEC(uint32_t) second;
	VEC(uint32_t) tasks; /* of each second frame: the location of the task whose outermost it is, + 1; or 0 */
	VEC(struct merge_frame) merged;
	VEC(uint32_t) stack; /* profile frames, outermost first */
};

static int add_frame(struct report *report, enum frame_layer layer, const char *name, const char *file, int line,
		     uint32_t *ret)
{
	const struct frame frame = {.layer = layer, .name = name, .file = file, .line = line};

	return profile_frame(report->profile, &frame, ret);
}

/* What a location was named. */
static uint64_t name_of(const struct report *report, uint32_t number)
{
	return report->store->locations.at[number].named;
}

static const char *kernel_name(const struct report *report, uint32_t number)
{
	return frames_at(watch_frames(report->watch), LOCATION_FRAME(name_of(report, number)))->name;
}

/* Are all locations of a stack named? If not, memory was short. */
static bool all_named(const struct report *report, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; stack && i < stack->count; i++)
		if (!name_of(report, stack->frames[i]))
			return false;
	return true;
}

/* Adds a frame of watch_frames(), by its number. In the profile it does not say what it was inlined into. */
static int push_named(struct report *report, uint32_t name, const struct frame *frame)
{
	struct known_frame *known = &report->named_frames.at[name];
	struct frame alone = *frame;

	alone.inlined_into = 0;
	if (known->window != report->window && profile_frame(report->profile, &alone, &known->frame))
		return -ENOMEM;
	known->window = report->window;
	return vec_push(&report->stack, known->frame);
}

/* Adds the frame of a location, after those that it was inlined into. */
static int push_location(struct report *report, uint32_t number)
{
	uint32_t name = LOCATION_FRAME(name_of(report, number)), at;
	const size_t first = report->stack.count;
	const struct frame *frame;
	size_t i, last;

	/* The innermost is known, and each knows the one around it. */
	do {
		frame = frames_at(watch_frames(report->watch), name);
		if (push_named(report, name, frame))
			return -ENOMEM;
		name = frame->inlined_into - 1;
	} while (frame->inlined_into);
	for (i = first, last = report->stack.count - 1; i < last; i++, last--) {
		at = report->stack.at[i];
		report->stack.at[i] = report->stack.at[last];
		report->stack.at[last] = at;
	}
	return 0;
}

/* The function did not arrive, or nobody knows whose it is. */
static int name_unknown(struct report *report, unsigned int id, uint32_t *frame)
{
	const struct runtime *runtime = runtime_of(id);
	char text[64];

	snprintf(text, sizeof(text), "[unknown %s function]", runtime ? runtime->language : "runtime's");
	return add_frame(report, FRAME_MARK, text, "", 0, frame);
}

static int name_second(struct report *report, unsigned int id, uint32_t number, uint32_t *frame)
{
	const struct second_location *location = &report->store->second_locations.at[number];
	const struct code *code = store_code_at(report->store, location->code);
	struct frame named;

	if (!location->code || (code && code->hidden)) {
		*frame = HIDDEN;
		return 0;
	}
	if (!code || !code->runtime)
		return name_unknown(report, id, frame);
	named = (struct frame){.layer = FRAME_RUNTIME,
			       .name = code->name ? code->name : "?",
			       .file = code->file ? code->file : "?",
			       .line = code->firstlineno,
			       .runtime = code->runtime->name};
	if (!report->options.function)
		named.line = code->runtime->line(code->version, code->table, code->table_size, code->firstlineno,
						 location->position);
	return profile_frame(report->profile, &named, frame);
}

static int push_second(struct report *report, unsigned int id, uint32_t number, unsigned int *shown)
{
	struct known_frame *known = &report->second_frames.at[number];

	if (known->window != report->window && name_second(report, id, number, &known->frame))
		return -ENOMEM;
	known->window = report->window;
	if (known->frame == HIDDEN)
		return 0;
	*shown = id;
	return vec_push(&report->stack, known->frame);
}

/* Were all functions of a second stack read whole? */
static bool code_complete(const struct report *report, const struct stack *stack)
{
	uint32_t i;

	for (i = 0; i < stack->count; i++) {
		uint32_t number = report->store->second_locations.at[stack->frames[i] >> SECOND_FLAG_BITS].code;
		const struct code *code = store_code_at(report->store, number);

		if (number && (!code || !code->complete))
			return false;
	}
	return true;
}

static int push_mark(struct report *report, const char *text)
{
	uint32_t frame;
	int err = add_frame(report, FRAME_MARK, text, "", 0, &frame);

	return err ? err : vec_push(&report->stack, frame);
}

/* The frame in place of what is missing at the outer end. */
static int loss_mark(struct report *report, unsigned int loss, uint32_t *ret)
{
	char text[64] = "[truncated]";

	if (loss_kind(loss) != LOSS_KIND_TRUNCATED)
		snprintf(text, sizeof(text), "[incomplete: %s]", loss_key(loss) ? loss_key(loss) : "?");
	return add_frame(report, FRAME_MARK, text, "", 0, ret);
}

/*
 * Fills in the second frames of a merge, as indices into report->second. Tasks are no frames: they are noted in
 * report->tasks at the frame that follows. 0 or -ENOMEM.
 */
static int take_second(struct report *report, const struct stack *second, struct merge_input *input)
{
	uint32_t count = second ? second->count : 0, kept = 0, task = 0, i;

	if (vec_reserve(&report->entry, count) || vec_reserve(&report->second, count) ||
	    vec_reserve(&report->tasks, count) || vec_reserve(&report->numbers, count))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		uint32_t number = second->frames[i] >> SECOND_FLAG_BITS;

		if (second->frames[i] & SECOND_FRAME_TASK) {
			task = number + 1;
			continue;
		}
		report->entry.at[kept] = second->frames[i] & SECOND_FRAME_ENTRY;
		report->second.at[kept] = number;
		report->tasks.at[kept] = task;
		report->numbers.at[kept] = kept;
		input->second_unsure += !!(second->frames[i] & SECOND_FRAME_UNSURE);
		task = 0;
		kept++;
	}
	input->second = report->numbers.at;
	input->is_entry = report->entry.at;
	input->second_count = kept;
	return 0;
}

/* The frame that stands for a task. */
static int push_task(struct report *report, uint32_t number)
{
	const struct second_location *location = &report->store->second_locations.at[number];
	const struct code *code = store_code_at(report->store, location->code);
	char text[FRAME_STRING_MAX];

	snprintf(text, sizeof(text), "[task %s]", code && code->name ? code->name : "unknown");
	return push_mark(report, text);
}

/*
 * Adds the second frame at an index of report->second. If it is the outermost one of a task, the event loop's frames,
 * which are all that were added from `start` on, give way to the task.
 */
static int push_second_of_task(struct report *report, unsigned int id, uint32_t index, size_t start,
			       unsigned int *shown)
{
	if (report->tasks.at[index]) {
		report->stack.count = start;
		if (push_task(report, report->tasks.at[index] - 1))
			return -ENOMEM;
	}
	return push_second(report, id, report->second.at[index], shown);
}

/* Merges the user part into report->stack. *loss is what the merge found wrong, *shown whose second frames it has. */
static int push_user(struct report *report, const struct tally *tally, const struct stack *native,
		     const struct stack *second, bool is_borrowed, unsigned int *loss, unsigned int *shown)
{
	struct merge_input input = {.native_rooted = tally->native_loss == LOSS_NONE,
				    .second_rooted = tally->second_loss == LOSS_NONE};
	struct merge_result result;
	bool evaluates = false;
	const size_t start = report->stack.count;
	uint32_t i;

	report->roles.count = report->merged.count = 0;
	input.native_count = native ? native->count : 0;
	if (take_second(report, second, &input) || vec_reserve(&report->roles, input.native_count) ||
	    vec_reserve(&report->merged, (size_t)input.native_count + input.second_count))
		return -ENOMEM;
	for (i = 0; i < input.native_count; i++) {
		report->roles.at[i] = LOCATION_ROLE(name_of(report, native->frames[i]));
		evaluates |= report->roles.at[i] == ROLE_LOOP || report->roles.at[i] == ROLE_HANDLER;
	}
	/* posix_spawn()'s child has a stack of its own; vfork()'s goes on on its parent's, loops and all. */
	if (is_borrowed && input.native_rooted && !evaluates)
		input.second_count = input.second_unsure = 0;
	input.native = native ? native->frames : NULL;
	input.role = report->roles.at;
	result = merge_stacks(&input, report->merged.at);
	for (i = 0; i < result.count; i++) {
		const struct merge_frame *frame = &report->merged.at[i];

		if (frame->second ? push_second_of_task(report, second->runtime, frame->frame, start, shown)
				  : push_location(report, frame->frame))
			return -ENOMEM;
	}
	if (result.started && *loss == tally->native_loss)
		*loss = tally->second_loss == LOSS_SECOND_NO_THREAD ? LOSS_NONE : tally->second_loss;
	if (*loss == LOSS_NONE && result.switching)
		*loss = LOSS_SECOND_SWITCH;
	if (*loss != LOSS_NONE || (!input.native_rooted && !result.started))
		return 0;
	if (evaluates && !(tally->flags & SAMPLE_SECOND))
		*loss = tally->flags & SAMPLE_LATE ? LOSS_LATE : LOSS_SECOND_FACTS;
	else if (evaluates && tally->second_loss == LOSS_SECOND_NO_THREAD)
		*loss = LOSS_SECOND_NO_THREAD;
	else if (result.unpaired_groups || (result.unpaired_eval && !result.entering))
		*loss = LOSS_SECOND_MISMATCH;
	else if (second && !code_complete(report, second))
		*loss = LOSS_SECOND_CODE;
	return 0;
}

/* What the walks themselves say about a sample; the native walk's word comes first. */
static unsigned int walk_loss(const struct tally *tally, bool missing)
{
	if (missing)
		return LOSS_STACK_MISSING;
	if (tally->native_loss != LOSS_NONE)
		return tally->native_loss;
	/* A thread without a thread state is no loss unless it is in the interpreter, which the merge sees. */
	return tally->second_loss == LOSS_SECOND_NO_THREAD ? LOSS_NONE : tally->second_loss;
}

static void account(struct report *report, const struct tally *tally, unsigned int loss, unsigned int shown)
{
	struct profile_quality *quality = report->quality;
	size_t i;

	if (loss == LOSS_NONE) {
		quality->complete += tally->count;
	} else {
		quality->lost[loss] += tally->count;
		if (loss_kind(loss) == LOSS_KIND_TRUNCATED)
			quality->truncated += tally->count;
	}
	for (i = 0; i < PROFILE_RUNTIMES_MAX && shown; i++)
		if (quality->runtimes[i].name && runtime_of(shown)->name == quality->runtimes[i].name)
			quality->runtimes[i].samples += tally->count;
}

/* Was the sample taken while exec replaced the program? */
static bool in_exec(const struct report *report, const struct stack *kernel)
{
	uint32_t i;

	for (i = 0; kernel && i < kernel->count; i++)
		if (name_of(report, kernel->frames[i]) & LOCATION_IS_EXEC)
			return true;
	return false;
}

/*
 * The kernel's frames, outermost first. Of a thread off the CPU those of the scheduler are left out, as the kernel
 * itself does for threads that sleep; and what it calls inside of __schedule(), which is strata's own.
 */
static int push_kernel(struct report *report, const struct tally *tally, const struct stack *kernel,
		       struct waiting_kernel *waits)
{
	uint32_t innermost = 0, i;
	int err = 0;

	for (i = 0; kernel && tally->waits && i < kernel->count && !innermost; i++)
		if (!strcmp(kernel_name(report, kernel->frames[i]), "__schedule"))
			innermost = i;
	for (i = kernel ? kernel->count : 0; i-- > innermost && !err;) {
		if (tally->waits)
			waiting_look_kernel(waits, kernel_name(report, kernel->frames[i]));
		if (!tally->waits || !(name_of(report, kernel->frames[i]) & LOCATION_IS_SCHEDULER))
			err = push_location(report, kernel->frames[i]);
	}
	return err;
}

static const struct frame *named_frame(const struct report *report, uint32_t location)
{
	return frames_at(watch_frames(report->watch), LOCATION_FRAME(name_of(report, location)));
}

static bool is_lock_function(const struct report *report, const struct frame *frame)
{
	size_t i;

	for (i = 0; frame->layer == FRAME_NATIVE && i < report->lock_functions.count; i++) {
		const struct frame *one = frames_at(watch_frames(report->watch), report->lock_functions.at[i]);

		if (!strcmp(one->name, frame->name) && !strcmp(one->file, frame->file))
			return true;
	}
	return false;
}

/*
 * A stripped interpreter does not say which functions take its lock and give it away. But they are those that wait for
 * condition variables in its own data: the one for the lock, the other until somebody else has taken it. A thread that
 * is in one of them and does not hold the lock is about to take it, or has just given it away.
 */
static int learn_lock_function(struct report *report, const struct tally *tally)
{
	const struct stack *native = store_stack_at(report->store, tally->native_stack);
	const struct waiter *waiter = NULL;
	const struct frame *frame = NULL;
	uint32_t i;

	if (!(tally->waits & WAIT_RUNTIME_LOCK) || !all_named(report, native))
		return 0;
	for (i = 0; native && i < native->count; i++) {
		frame = named_frame(report, native->frames[i]);
		if (waiter && !waiting_function(frame->name))
			break;
		waiter = waiting_function(frame->name);
	}
	if (!waiter || i == native->count || strcmp(waiter->kind, "condition") || is_lock_function(report, frame))
		return 0;
	return vec_push(&report->lock_functions, LOCATION_FRAME(name_of(report, native->frames[i])));
}

/* The frame that says what the thread waited for; report->stack has the others. */
static int push_reason(struct report *report, const struct tally *tally, const struct waiting_kernel *kernel,
		       bool *for_lock)
{
	struct waiting waiting = {};
	char reason[128], text[160];
	size_t i;

	for (i = report->stack.count; i-- > 0 && !waiting.done;) {
		const struct frame *frame = NULL;

		if (report->stack.at[i] != NO_FRAME)
			frame = profile_frame_at(report->profile, report->stack.at[i]);
		if (frame)
			waiting_look(&waiting, frame);
		waiting.hands_over |= frame && is_lock_function(report, frame);
	}
	waiting_describe(tally->waits, waiting.found, kernel, reason, sizeof(reason));
	if (tally->native_loss == LOSS_COMPAT && !(tally->waits & (WAIT_PREEMPTED | WAIT_NO_CALL | WAIT_STOPPED)))
		snprintf(reason, sizeof(reason), "32-bit system call");
	snprintf(text, sizeof(text), "[waiting: %s]", reason);
	*for_lock = waiting.hands_over || waiting_is_runtime_lock(tally->waits, waiting.found);
	return push_mark(report, text);
}

/* The waker's user part, with the mark of what is missing at its outer end. */
static int push_waker_user(struct report *report, const struct tally_waker *waker, const struct stack *kernel)
{
	const struct tally tally = {
		.native_loss = waker->native_loss, .second_loss = waker->second_loss, .flags = waker->flags};
	const bool missing = waker->native_stack == STACK_MISSING || waker->second_stack == STACK_MISSING;
	unsigned int loss = walk_loss(&tally, missing), shown = RUNTIME_NONE;
	const size_t at = report->stack.count;
	int err;

	if (loss != LOSS_NONE && !missing && in_exec(report, kernel))
		return push_mark(report, "[exec]");
	if (waker->flags & SAMPLE_EXITING)
		return push_mark(report, "[exit]");
	err = vec_push(&report->stack, NO_FRAME);
	if (!err)
		err = push_user(report, &tally, store_stack_at(report->store, waker->native_stack),
				store_stack_at(report->store, waker->second_stack),
				waker->flags & SAMPLE_VFORK || in_exec(report, kernel), &loss, &shown);
	if (err || loss != LOSS_NONE)
		return err ? err : loss_mark(report, loss, &report->stack.at[at]);
	report->stack.count--;
	memmove(report->stack.at + at, report->stack.at + at + 1,
		(report->stack.count - at) * sizeof(*report->stack.at));
	return 0;
}

/*
 * Who has ended the wait, and its frames further in: the outermost first, as elsewhere. An interrupt's are those of the
 * interrupt: what it has interrupted has nothing to do with it.
 */
static int push_waker(struct report *report, const struct tally_waker *waker)
{
	const struct stack *kernel = store_stack_at(report->store, waker->kernel_stack);
	struct waking waking = {.is_interrupt = waker->flags & WAKER_IDLE};
	uint32_t i;
	char text[64];
	int err;

	for (i = 0; kernel && i < kernel->count && !waking.done; i++)
		waking_look(&waking, kernel_name(report, kernel->frames[i]));
	waking_describe(&waking, waker->flags, waker->comm, text, sizeof(text));
	err = push_mark(report, text);
	if (!err && waker->flags & WAKER_THREAD && !(waker->flags & WAKER_UNRECORDED))
		return push_mark(report, "[incomplete: not-taken]");
	if (!err && !waking.is_interrupt &&
	    !(waker->flags & (WAKER_NO_STACK | WAKER_UNRECORDED | SAMPLE_KERNEL_THREAD)))
		err = push_waker_user(report, waker, kernel);
	for (i = waking.end; i-- > waking.first && !err;)
		err = push_location(report, kernel->frames[i]);
	return err;
}

/*
 * Of what concerns a runtime's lock only: is it wanted? What could not be looked at to the end is, where it may be.
 */
static bool concerns_lock(const struct tally *tally, bool waits_for_it, unsigned int loss)
{
	if (waits_for_it || tally->flags & SAMPLE_CURRENT)
		return true;
	if (loss == LOSS_EVICTED || loss == LOSS_SECOND_FACTS)
		return true;
	return loss != LOSS_NONE && tally->flags & SAMPLE_HAS_LOCK && tally->waits;
}

/* 0, or -ENOMEM with nothing added. */
static int add_tally(struct report *report, uint32_t number)
{
	const struct tally *tally = &report->tallies->list.at[number];
	const struct stack *kernel = store_stack_at(report->store, tally->kernel_stack);
	const struct stack *native = store_stack_at(report->store, tally->native_stack);
	const struct stack *second = store_stack_at(report->store, tally->second_stack);
	bool missing = tally->kernel_stack == STACK_MISSING || tally->native_stack == STACK_MISSING ||
		       tally->second_stack == STACK_MISSING;
	/* The kernel gives the memory back a moment before exec has its own. */
	bool is_borrowed = (tally->flags & SAMPLE_VFORK) || in_exec(report, kernel);
	unsigned int loss = walk_loss(tally, missing), merge_loss = loss;
	size_t outer = 0, depth; /* frames at the outer end that are not used */
	struct waiting_kernel waits = {};
	unsigned int shown = RUNTIME_NONE;
	bool for_lock = false;
	int err = 0;

	if (!all_named(report, kernel) || !all_named(report, native) ||
	    !all_named(report, store_stack_at(report->store, tally->waker.kernel_stack)) ||
	    !all_named(report, store_stack_at(report->store, tally->waker.native_stack)))
		return -ENOMEM;
	report->stack.count = 0;
	if (loss != LOSS_NONE && !missing && in_exec(report, kernel)) {
		merge_loss = LOSS_NONE;
		err = push_mark(report, "[exec]");
	} else if (tally->flags & SAMPLE_EXITING) {
		err = push_mark(report, "[exit]");
	} else {
		/* The first place is for the mark; the merge may be what finds a loss. */
		err = vec_push(&report->stack, NO_FRAME);
		if (!err)
			err = push_user(report, tally, native, second, is_borrowed, &merge_loss, &shown);
		outer = merge_loss == LOSS_NONE;
		if (!err && !outer)
			err = loss_mark(report, merge_loss, &report->stack.at[0]);
	}
	if (!err)
		err = push_kernel(report, tally, kernel, &waits);
	if (!err && tally->waits)
		err = push_reason(report, tally, &waits, &for_lock);
	if (!err && tally->waker.flags)
		err = push_waker(report, &tally->waker);
	report->met_lock |= tally->flags & SAMPLE_HAS_LOCK;
	if (!err && report->options.gil && !concerns_lock(tally, for_lock, merge_loss)) {
		report->quality->samples -= tally->count; /* it is none */
		return 0;
	}
	if (!err && report->options.gil && tally->flags & SAMPLE_CURRENT)
		err = push_mark(report, "[holding: GIL]");
	if (err)
		return err;
	depth = report->stack.count - outer;
	err = profile_add_sample(report->profile,
				 &(struct profile_sample){.comm = tally->comm,
							  .pid = (int)tally->tgid,
							  .tid = (int)tally->tid,
							  .cgroup = tally->cgroup,
							  .count = tally->count,
							  .lockable = tally->flags & SAMPLE_HAS_LOCK ? tally->count : 0,
							  .held = tally->flags & SAMPLE_CURRENT ? tally->count : 0,
							  .weight = tally->weight,
							  .depth = (uint32_t)depth,
							  .frames = report->stack.at + outer},
				 report->samples ? &report->samples[number] : NULL);
	if (!err)
		err = watch_tell_owner(report->watch, tally->cgroup, report->profile);
	if (err)
		return err;
	if (depth > report->quality->max_depth)
		report->quality->max_depth = depth;
	account(report, tally, merge_loss, shown);
	return 0;
}

static int by_count(const void *a, const void *b, void *context)
{
	const struct tally *tallies = context, *x = &tallies[*(const uint32_t *)a], *y = &tallies[*(const uint32_t *)b];

	if (tally_worth(x) != tally_worth(y))
		return tally_worth(x) > tally_worth(y) ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

static uint32_t *filled(size_t count, uint32_t value)
{
	uint32_t *array = calloc(count + 1, sizeof(*array));
	size_t i;

	for (i = 0; array && i < count; i++)
		array[i] = value;
	return array;
}

/* Counts a tally's stacks up or down. What nothing uses any more is given back: the profile is as large as the store.
 */
static void use_stacks(struct report *report, const struct tally *tally, int change)
{
	const uint32_t stacks[] = {tally->kernel_stack,       tally->native_stack,       tally->second_stack,
				   tally->waker.kernel_stack, tally->waker.native_stack, tally->waker.second_stack};
	size_t i;

	for (i = 0; report->uses && i < sizeof(stacks) / sizeof(*stacks); i++) {
		if (!store_stack_at(report->store, stacks[i]))
			continue;
		report->uses[stacks[i] - 1] += (uint32_t)change;
		if (!report->uses[stacks[i] - 1])
			watch_drop_stack(report->watch, stacks[i]);
	}
}

/* Room for what was numbered since the last window, in none of which it is known. */
static int know_frames(struct report *report)
{
	const size_t named = frames_count(watch_frames(report->watch)), second = report->store->second_locations.count;

	if (vec_reserve(&report->named_frames, named) || vec_reserve(&report->second_frames, second))
		return -ENOMEM;
	while (report->named_frames.count < named)
		report->named_frames.at[report->named_frames.count++] = (struct known_frame){};
	while (report->second_frames.count < second)
		report->second_frames.at[report->second_frames.count++] = (struct known_frame){};
	return 0;
}

/* Those that have a stack of their own, whether it was met or not. */
static void list_runtimes(struct profile_quality *quality)
{
	size_t count, i, at = 0;
	const struct runtime *const *all = runtimes(&count);

	for (i = 0; i < count && at < PROFILE_RUNTIMES_MAX; i++)
		if (all[i]->recognise)
			quality->runtimes[at++] =
				(struct profile_runtime){.name = all[i]->name, .language = all[i]->language};
}

static bool has_times(const struct tallies *tallies)
{
	return tallies->moments.count || tallies->slices.list.count;
}

/* After all was named. */
static int begin_window(struct report *report, bool last)
{
	size_t count = report->tallies->list.count, i;

	report->window++;
	report->order = filled(count, 0);
	report->samples = has_times(report->tallies) ? filled(count, NO_SAMPLE) : NULL;
	report->uses = last ? filled(report->store->stacks.count, 0) : NULL;
	if (know_frames(report) || !report->order || (last && !report->uses) ||
	    (has_times(report->tallies) && !report->samples))
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		report->order[i] = (uint32_t)i;
		use_stacks(report, &report->tallies->list.at[i], 1);
	}
	if (count)
		qsort_r(report->order, count, sizeof(*report->order), by_count, report->tallies->list.at);
	return 0;
}

static void end_window(struct report *report)
{
	free(report->order);
	free(report->samples);
	free(report->uses);
	report->order = report->samples = report->uses = NULL;
}

/* When and where samples were taken: of those that are in the profile. */
static int add_moments(struct report *report)
{
	const struct tallies *tallies = report->tallies;
	size_t i;
	int err = 0;

	if (tallies->moments_given_up && !tallies->slices.list.count)
		err = profile_add_remark(report->profile, "no time axis: there were too many samples");
	for (i = 0; report->samples && i < tallies->moments.count && !err; i++) {
		const struct moment *moment = &tallies->moments.at[i];
		uint32_t sample = report->samples[moment->tally];

		if (sample != NO_SAMPLE)
			err = profile_add_moment(
				report->profile,
				&(struct profile_moment){moment->time, sample, moment->cpu, moment->weight});
	}
	return err;
}

/* How many samples were when. All of them or none: a part would look like a pause. */
static int add_slices(struct report *report)
{
	const struct slices *slices = &report->tallies->slices;
	struct profile_times *times = &profile_info(report->profile)->times;
	size_t i;
	int err = 0;

	for (i = 0; report->samples && i < slices->list.count && !err; i++) {
		const struct slice_count *one = &slices->list.at[i];

		if (report->samples[one->tally] != NO_SAMPLE)
			err = profile_add_slice(report->profile, &(struct profile_slice){report->samples[one->tally],
											 one->slice, one->count});
	}
	if (!err && slices->given_up)
		err = profile_add_remark(report->profile,
					 "no time axis: there were too many different stacks, or memory was short");
	if (!err && slices->list.count)
		*times = (struct profile_times){.start_s = (double)slices->start / 1e9,
						.width_s = (double)slices->width / 1e9,
						.count = slices->last + 1};
	return err;
}

struct report *report_create(struct watch *watch, const struct report_options *options)
{
	struct report *report = calloc(1, sizeof(*report));

	if (!report)
		return NULL;
	report->watch = watch;
	report->store = watch_store(watch);
	report->options = *options;
	return report;
}

void report_destroy(struct report *report)
{
	if (!report)
		return;
	vec_free(&report->lock_functions);
	vec_free(&report->named_frames);
	vec_free(&report->second_frames);
	vec_free(&report->roles);
	vec_free(&report->entry);
	vec_free(&report->numbers);
	vec_free(&report->second);
	vec_free(&report->tasks);
	vec_free(&report->merged);
	vec_free(&report->stack);
	free(report);
}

int report_window(struct report *report, const struct tallies *tallies, bool last, struct profile *profile)
{
	int err = watch_name_all(report->watch), unprepared;
	size_t i;

	report->tallies = tallies;
	report->profile = profile;
	report->quality = profile_quality(profile);
	list_runtimes(report->quality);
	unprepared = begin_window(report, last);
	for (i = 0; !err && report->options.gil && i < tallies->list.count; i++)
		err = learn_lock_function(report, &tallies->list.at[i]);
	for (i = 0; i < tallies->list.count; i++) {
		uint32_t number = unprepared ? (uint32_t)i : report->order[i];
		const struct tally *tally = &tallies->list.at[number];

		if (unprepared || add_tally(report, number)) {
			report->quality->lost[LOSS_INTERNAL] += tally->count;
			err = -ENOMEM;
		}
		if (!unprepared)
			use_stacks(report, tally, -1);
	}
	if (!unprepared)
		err = add_moments(report) ?: add_slices(report) ?: err;
	if (!err && report->options.gil && !report->met_lock)
		err = profile_add_remark(profile, "no GIL: Python did not run, or only free-threaded builds of it");
	report->quality->unique_stacks = profile_stack_count(profile);
	end_window(report);
	return err;
}

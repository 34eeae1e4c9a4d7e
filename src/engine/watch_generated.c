// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generated code, that is, code in memory that no file backs, whose frame pointers do not lead to the caller.
 *
 *   at first     the walker trusts frame pointers there (UNWIND_FP_CHAIN), because most runtimes keep them. They are
 *                on trial: a walk that ends there makes a late sample, which wakes user space
 *   then         if walks end there too often, no generated code of that process is trusted any more. A walk that
 *                comes there makes a late sample, the code around it becomes a *window*, and watch_learn() finds the
 *                rule. The sample that decides is finished by it
 *   or           TRIED_MAX late samples have not decided: the trial is over (UNWIND_CHAIN_KEPT). Walks that end there
 *                are counted on, as they come
 *
 * Stacks are counted, and samples: a loop of few instructions has few stacks.
 *
 *   process      │ file  │ anonymous ................................ │ file  │
 *   published    │ table │ not learnt │ window: table │ not learnt .. │ table │
 *
 * If the process publishes unwind information, there are windows from the first such sample on.
 *
 * A runtime may generate other code at the same address. So a digest of the bytes from which rules were learnt is kept,
 * and the bytes are read again: when a new stack goes through them, and a few times a second. If they have changed, the
 * window is dropped, with all its rules. Stacks that were walked since they were last read, and until the kernel part
 * knew of it, end in such code, as no-rule: also those whose walk ended there by itself, in what looked like the end of
 * a stack. The number of windows of a process is bounded, and so is what is learnt for one (by watch_learn.c). Shares
 * bound what all windows take of the kernel's tables.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/time.h"
#include "engine/watch_parts.h"

#define WINDOW_BYTES (1ull << 20) /* a larger mapping has several */
#define WINDOWS_MAX  1024         /* of a process */
#define PIECES_MAX   64           /* read at once */
#define PIECE_GAP    32           /* bytes between two that are read as one */
#define PIECE_MAX    (64u << 10)
#define FAILED_LEAST 3            /* stacks or samples that end in generated code, */
#define FAILED_SHARE 16           /* and which part of those through it, before it is not trusted any more */
#define ENDS         2            /* the chain has led out of it by one frame, or by none */
#define TRIED_MAX    64           /* late samples of a process that may come of the trial */
#define DOUBTED_MAX  65536        /* ids that are kept */
#define JUDGED_MAX   65536        /* the same */
#define CHECK_NS     100000000ull /* how often a window is read again while nothing new comes by it */
#define TELL_NS      20000000ull  /* how often a process may be published because of a walk that ended */

/* What a stack says about the frame pointers of generated code. */
#define MET    1u /* it goes through such code, */
#define ENDED  2u /* and ends there, */
#define FAILED 4u /* and this is the code's fault */

static bool is_anonymous(struct watch *watch, const struct process *process, const struct process_mapping *mapping)
{
	const struct object *object = mapping ? objects_get(watch->objects, mapping->file, process, mapping) : NULL;

	return object && watch_is_generated(object);
}

/* How many of the windows begin at an address or below it. */
static size_t windows_up_to(const struct watched *watched, uint64_t address)
{
	size_t low = 0, high = watched->windows.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (watched->windows.at[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct window *watch_window_at(const struct process *process, uint64_t address)
{
	const struct watched *watched = process->user;
	size_t up_to = watched ? windows_up_to(watched, address) : 0;
	struct window *window = up_to ? &watched->windows.at[up_to - 1] : NULL;

	return window && address < window->end ? window : NULL;
}

/* The kernel part may be walking by it: its room is used again after a while. */
static void retire(struct watch *watch, struct window *window)
{
	const struct retired_run retired = {window->run, watch_now()};

	vec_free(&window->learnt.ranges);
	/* Without memory for the note the room stays taken until the end. */
	(void)!vec_push(&watch->learning.retired, retired);
}

void watch_drop_windows(struct watch *watch, struct watched *watched)
{
	while (watched->windows.count)
		retire(watch, &watched->windows.at[--watched->windows.count]);
	vec_free(&watched->windows);
}

void watch_collect_windows(struct watch *watch, uint64_t now)
{
	size_t i, kept = 0;

	for (i = 0; i < watch->learning.retired.count; i++) {
		const struct retired_run *retired = &watch->learning.retired.at[i];

		if (retired->at + 2 * TABLES_GRACE_NS > now)
			watch->learning.retired.at[kept++] = *retired;
		else
			tables_remove(sampler_tables(watch->sampler), &retired->run);
	}
	watch->learning.retired.count = kept;
}

/* No more windows for a process: where it is known to keep no frame pointers, walks end in its generated code. */
static void give_up(struct watch *watch, struct process *process, const char *why)
{
	char text[WATCH_REMARK_BYTES];

	((struct watched *)process->user)->no_windows = true;
	snprintf(text, sizeof(text), "table-full: rules for the generated code of process %d: %s", process->pid, why);
	watch_add_remark(watch, text);
}

/* Makes a new window around an address smaller where wide ones have the rest. */
static void leave_to_wide(const struct watched *watched, uint64_t address, struct window *window)
{
	size_t at = windows_up_to(watched, address);
	const struct window *before = at ? &watched->windows.at[at - 1] : NULL;
	const struct window *behind = at < watched->windows.count ? &watched->windows.at[at] : NULL;

	if (before && before->is_wide && before->end > window->start)
		window->start = before->end;
	if (behind && behind->is_wide && behind->start < window->end)
		window->end = behind->start;
}

/* A window around an address, or the whole mapping if that is small. True when there is a new one. */
static bool open_window(struct watch *watch, struct process *process, const struct process_mapping *mapping,
			uint64_t address)
{
	struct watched *watched = process->user;
	struct window window = {.start = mapping->start, .end = mapping->end};
	size_t at;

	if (mapping->end - mapping->start > WINDOW_BYTES) {
		uint64_t start = address & ~(WINDOW_BYTES - 1);

		window.start = start > mapping->start ? start : mapping->start;
		window.end = mapping->end - start > WINDOW_BYTES ? start + WINDOW_BYTES : mapping->end;
	}
	window.checked = watch_now();
	leave_to_wide(watched, address, &window);
	at = windows_up_to(watched, window.end - 1);
	if (at && watched->windows.at[at - 1].end > window.start)
		return false; /* of a mapping that was there before: it goes when it is read again */
	watch_charge(watch, process);
	if (watched->windows.count >= WINDOWS_MAX || vec_reserve(&watched->windows, 1) ||
	    tables_add_unlearnt(sampler_tables(watch->sampler), window.start, window.end, &window.run)) {
		give_up(watch, process, "there is no room for more of them");
		watch_publish_again(watch, process);
		return false;
	}
	memmove(&watched->windows.at[at + 1], &watched->windows.at[at],
		(watched->windows.count - at) * sizeof(*watched->windows.at));
	watched->windows.at[at] = window;
	watched->windows.count++;
	return true;
}

void watch_widen_window(struct watch *watch, struct process *process, struct window *window, uint64_t address,
			const struct rule_range *range)
{
	const struct process_mapping *mapping = process_find_mapping(process, address, UINT64_MAX - 1);
	struct watched *watched = process->user;
	struct window wide = *window;
	size_t i, kept = 0, at = 0;

	if (!mapping)
		return;
	wide.start = range->start > mapping->start ? range->start : mapping->start;
	wide.end = range->end < mapping->end ? range->end : mapping->end;
	wide.rule = tables_rule_number(sampler_tables(watch->sampler), &wide.run, address);
	wide.is_wide = true;
	for (i = 0; i < watched->windows.count; i++) {
		struct window *other = &watched->windows.at[i];

		if (other != window && other->end > wide.start && other->start < wide.end)
			retire(watch, other);
		else if (other != window)
			watched->windows.at[kept++] = *other;
		else
			at = kept++; /* its place stays free */
	}
	watched->windows.count = kept;
	vec_free(&wide.learnt.ranges);
	watched->windows.at[at] = wide;
	watch_tell_soon(process);
}

bool watch_open_window(struct watch *watch, struct process *process, uint64_t address, uint64_t time)
{
	const struct process_mapping *mapping = process_find_mapping(process, address, time);
	struct watched *watched = watched_of(watch, process);

	if (!watched || watched->no_windows || !mapping || mapping->to != UINT64_MAX || process->ended != UINT64_MAX ||
	    watch_window_at(process, address) || !is_anonymous(watch, process, mapping))
		return false;
	return (watched->distrusts ||
		(watched->published.objects && jit_objects_cover(watched->published.objects, address))) &&
	       open_window(watch, process, mapping, address);
}

static uint64_t address_of(uint64_t frame)
{
	return (frame & ~NATIVE_RETURN_ADDRESS) - (frame >> 63);
}

static bool is_generated_at(struct watch *watch, const struct process *process, uint64_t address, uint64_t time)
{
	return is_anonymous(watch, process, process_find_mapping(process, address, time));
}

/*
 * Did a walk end because of the generated code that is among its last frames? Not if rows or stack were missing there,
 * as at a process's start. Nor if a signal had interrupted that code: no frame may be there yet.
 */
static bool is_its_fault(struct watch *watch, const struct process *process, const uint64_t *frames, uint32_t count,
			 uint32_t loss, uint64_t time)
{
	uint64_t last = address_of(frames[count - 1]);
	uint32_t i;

	if (loss != LOSS_NONE && loss != LOSS_NO_MAPPING && loss != LOSS_ODD_STACK)
		return false;
	if (loss == LOSS_NO_MAPPING && !is_generated_at(watch, process, last, time) &&
	    process_find_mapping(process, last, time))
		return false; /* by now there is one */
	for (i = 1; i < count; i++)
		if (!(frames[i] & NATIVE_RETURN_ADDRESS) && is_generated_at(watch, process, frames[i], time))
			return false;
	return true;
}

static uint32_t judge(struct watch *watch, const struct process *process, const uint64_t *frames, uint32_t count,
		      uint32_t loss, uint64_t time)
{
	uint32_t i, ret = 0;

	for (i = 0; i < count; i++)
		if (is_generated_at(watch, process, address_of(frames[i]), time))
			ret |= MET | (i + ENDS >= count ? ENDED : 0);
	if (ret & ENDED && is_its_fault(watch, process, frames, count, loss, time))
		ret |= FAILED;
	return ret;
}

/* The kernel part is told at once. */
static void tell_soon(struct watched *watched)
{
	watched->untold = true;
	watched->told_windows = 0;
}

void watch_tell_soon(struct process *process)
{
	tell_soon(process->user);
}

/* Counts a stack, or a sample with it. */
static void count_verdict(struct watched *watched, struct trial_counts *counts, uint32_t verdict)
{
	if (watched->distrusts || watched->no_windows)
		return;
	counts->met += !!(verdict & MET);
	counts->failed += !!(verdict & FAILED);
	if (verdict & FAILED && counts->failed >= FAILED_LEAST && counts->failed >= counts->met / FAILED_SHARE) {
		watched->distrusts = true;
		tell_soon(watched);
	}
}

/* Counts a stack the first time that it comes, and keeps what it says for its samples. */
static void count_stack(struct watch *watch, struct watched *watched, uint64_t id, uint32_t verdict)
{
	struct table *judged = &watch->learning.judged;

	if (!verdict || watched->distrusts || watched->no_windows || table_get(judged, id, NULL))
		return;
	count_verdict(watched, &watched->stacks, verdict);
	if (judged->count >= JUDGED_MAX)
		table_deinit(judged);
	/* Without memory for the note its samples are not counted. */
	(void)!table_set(judged, id, verdict);
}

static bool may_distrust(const struct process *process, const struct watched *watched)
{
	return watched && process->ended == UINT64_MAX && !watched->no_windows;
}

/* True if the process must be described again. */
static bool take_verdict(struct watch *watch, struct process *process, const uint64_t *frames, uint32_t count,
			 uint32_t verdict, uint64_t time)
{
	struct watched *watched = process->user;
	bool opened = false;
	uint32_t i;

	for (i = 0; verdict && i < count; i++)
		opened |= watch_open_window(watch, process, address_of(frames[i]), time);
	/* What the kernel part was told before it may have let go by now: then its walks end there again. */
	return opened || (verdict & ENDED && watched->distrusts);
}

/* Generated code was met: what is published of it is read. */
static void note_published(struct watch *watch, struct process *process, const uint64_t *frames, uint32_t count,
			   uint64_t time)
{
	uint32_t i;

	for (i = 0; process && i < count; i++) {
		if (!is_generated_at(watch, process, address_of(frames[i]), time))
			continue;
		watch_read_published(watch, process);
		return;
	}
}

/* Tells the kernel part what is known of the generated code of a process, if it is time. 0 or -ENOMEM. */
static int tell_untold(struct watch *watch, struct process *process)
{
	struct watched *watched = process->user;
	uint64_t now = watch_now();

	if (watch->publishing.unpublished || !watched || !watched->untold || process->ended != UINT64_MAX ||
	    now < watched->told_windows + TELL_NS)
		return 0;
	watched->untold = false;
	watched->told_windows = now;
	watched->wanted = true;
	watch_find_runtime(watch, process);
	return watch_publish(watch, process);
}

int watch_judge_stack(struct watch *watch, struct process *process, const struct stack_event *event,
		      const uint64_t *frames)
{
	struct watched *watched = process ? watched_of(watch, process) : NULL;
	uint32_t verdict;

	note_published(watch, process, frames, event->count, event->time);
	if (!process || watch->publishing.unpublished || !may_distrust(process, watched))
		return 0;
	verdict = judge(watch, process, frames, event->count, event->loss, event->time);
	count_stack(watch, watched, event->id, verdict);
	watched->untold |= take_verdict(watch, process, frames, event->count, verdict, event->time);
	return tell_untold(watch, process);
}

int watch_judge_sample(struct watch *watch, const struct sample_event *sample)
{
	struct process *process;
	struct watched *watched;
	uint64_t verdict;

	if (!watch->learning.judged.count || !table_get(&watch->learning.judged, sample->native_stack, &verdict))
		return 0;
	process = watch_process(watch, (int)sample->tgid, sample->time);
	watched = process ? process->user : NULL;
	if (!may_distrust(process, watched))
		return 0;
	count_verdict(watched, &watched->samples, (uint32_t)verdict);
	return tell_untold(watch, process);
}

bool watch_judge_late(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack)
{
	struct watched *watched = watched_of(watch, process);
	uint32_t verdict;

	if (!stack->frames || !may_distrust(process, watched))
		return false;
	note_published(watch, process, stack->frames, stack->count, time);
	verdict = judge(watch, process, stack->frames, stack->count, stack->loss, time);
	count_stack(watch, watched, stack->id, verdict);
	count_verdict(watched, &watched->samples, verdict);
	if (verdict & ENDED && !watched->distrusts && ++watched->tried == TRIED_MAX)
		tell_soon(watched);
	return take_verdict(watch, process, stack->frames, stack->count, verdict, time);
}

bool watch_judge_live(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack)
{
	struct watched *watched = watched_of(watch, process);
	uint32_t verdict;

	if (stack->loss == LOSS_NONE || !stack->frames || !stack->count || !may_distrust(process, watched))
		return false;
	verdict = judge(watch, process, stack->frames, stack->count, stack->loss, time);
	if (!(verdict & FAILED) || watched->distrusts)
		return false;
	watched->distrusts = true;
	tell_soon(watched);
	return take_verdict(watch, process, stack->frames, stack->count, verdict, time);
}

int watch_describe_generated(struct watch *watch, struct process *process, const struct process_mapping *mapping)
{
	struct watched *watched = process->user;
	struct mapping_entry chain = {.start = mapping->start, .end = mapping->end, .kind = MAPPING_FP_CHAIN}, entry;
	uint64_t end = mapping->end;
	size_t i;
	int err = 0;

	if (watched && watched->distrusts)
		chain.kind = watched->no_windows ? MAPPING_TABLE_FULL : MAPPING_UNLEARNT;
	else if (watched && (watched->no_windows || watched->tried >= TRIED_MAX))
		chain.kind = MAPPING_FP_KEPT;
	for (i = watched && chain.start ? windows_up_to(watched, chain.start - 1) : 0;
	     watched && i < watched->windows.count && !err; i++) {
		const struct window *window = &watched->windows.at[i];

		if (window->end > end)
			break;
		entry = (struct mapping_entry){.start = window->start,
					       .end = window->end,
					       .bias = window->run.base,
					       .page_first = window->run.page_first,
					       .page_count = window->run.page_count,
					       .kind = MAPPING_TABLE};
		if (window->state || window->is_wide) {
			entry.bias = window->state;
			entry.page_first = window->rule;
			entry.page_count = 0;
			entry.kind = MAPPING_RULE;
		}
		chain.end = window->start;
		if (chain.start < chain.end)
			err = vec_push(&watch->publishing.entries, chain);
		if (!err)
			err = vec_push(&watch->publishing.entries, entry);
		chain.start = window->end;
	}
	chain.end = end;
	return err || chain.start >= chain.end ? err : vec_push(&watch->publishing.entries, chain);
}

/* What is read of a window's code to see whether it is still the same: the ranges that were learnt, joined. */
struct piece {
	uint64_t start, end;
};
typedef VEC(struct piece) pieces_t;

static int find_pieces(const struct window *window, pieces_t *ret)
{
	rule_ranges ranges = {};
	size_t i;
	int err = vec_reserve(&ranges, window->learnt.ranges.count + 1);

	for (i = 0; !err && i < window->learnt.ranges.count; i++)
		ranges.at[ranges.count++] = window->learnt.ranges.at[i];
	if (!err)
		rule_ranges_tidy(&ranges);
	for (i = 0; !err && i < ranges.count; i++) {
		struct piece piece = {ranges.at[i].start, ranges.at[i].end}, *last;

		last = ret->count ? &ret->at[ret->count - 1] : NULL;
		if (last && piece.start <= last->end + PIECE_GAP && piece.end - last->start <= PIECE_MAX)
			last->end = piece.end > last->end ? piece.end : last->end;
		else
			err = vec_push(ret, piece);
	}
	vec_free(&ranges);
	return err;
}

/* A digest of the code that the rules of a window were learnt from, as it is now. False when it cannot be read. */
static bool digest_window(int pid, const struct window *window, uint64_t *ret)
{
	const struct memory memory = memory_of_process(pid);
	uint8_t *bytes = malloc(PIECE_MAX + PIECE_GAP);
	pieces_t pieces = {};
	bool ok = bytes && !find_pieces(window, &pieces);
	uint64_t digest = 0;
	size_t i;

	for (i = 0; ok && i < pieces.count; i++) {
		uint64_t at = pieces.at[i].start;

		for (; ok && at < pieces.at[i].end; at += PIECE_MAX) {
			size_t size = pieces.at[i].end - at < PIECE_MAX ? pieces.at[i].end - at : PIECE_MAX;

			ok = !memory_read(&memory, bytes, size, at);
			if (ok)
				digest = XXH3_64bits_withSeed(bytes, size, digest ^ at);
		}
	}
	vec_free(&pieces);
	free(bytes);
	*ret = digest;
	return ok;
}

void watch_window_learnt(const struct process *process, struct window *window)
{
	if (!digest_window(process->pid, window, &window->digest))
		window->digest = 0;
	window->checked = watch_now();
}

/* Is the code that was learnt from still there? */
static bool still_holds(const struct process *process, struct window *window)
{
	const struct process_mapping *mapping = process_find_mapping(process, window->start, UINT64_MAX - 1);
	uint64_t digest;

	if (!mapping || window->end > mapping->end)
		return false;
	window->checked = watch_now();
	return !window->learnt.ranges.count ||
	       (digest_window(process->pid, window, &digest) && digest == window->digest);
}

static uint32_t user_of(struct watch *watch, struct process *process)
{
	struct watched *watched = watched_of(watch, process);

	if (watched && !watched->has_owner)
		watch_charge(watch, process);
	return watched ? watched->owner.user : watch->sharing.charged;
}

bool watch_spend(struct watch *watch, struct process *process, uint64_t begin)
{
	return budget_charge(&watch->sharing.checks, user_of(watch, process), time_ns(CLOCK_THREAD_CPUTIME_ID) - begin,
			     watch_now() / 1000000000);
}

bool watch_may_spend(struct watch *watch, struct process *process)
{
	return budget_take(&watch->sharing.checks, user_of(watch, process), 1, watch_now() / 1000000000);
}

/* A window goes; so does what was walked by it since it was read last, until the process is published without it. */
static void let_go(struct watch *watch, struct watched *watched, struct window *window, uint64_t read)
{
	if (!watched->doubt_from || watched->doubt_to < read || read < watched->doubt_from)
		watched->doubt_from = read;
	watched->doubt_to = UINT64_MAX;
	retire(watch, window);
}

/* Lets those windows of a process go, all or those that a stack was in, that were not read since some time and whose
 * code is another now; all of them where that takes too much time. */
static int check(struct watch *watch, struct process *process, uint64_t since, bool all)
{
	struct watched *watched = process->user;
	size_t i, kept = 0, count = watched->windows.count;
	bool went = watched->published.objects && watch_read_published(watch, process);
	uint64_t begin = time_ns(CLOCK_THREAD_CPUTIME_ID);

	for (i = 0; i < count; i++) {
		struct window *window = &watched->windows.at[i];
		uint64_t before = window->checked;

		if (!(went && window->published) &&
		    (before >= since || !(all || window->met) || still_holds(process, window))) {
			window->met = false;
			watched->windows.at[kept++] = *window;
			continue;
		}
		let_go(watch, watched, window, before);
	}
	if (!watch_spend(watch, process, begin)) {
		while (kept) {
			kept--;
			let_go(watch, watched, &watched->windows.at[kept], watched->windows.at[kept].checked);
		}
		give_up(watch, process, "to read its code again takes too much time");
	}
	watched->windows.count = kept;
	if (kept == count)
		return 0;
	/* Stacks of before are of other code. */
	process->epoch++;
	watch_note_replaced(watch, process);
	return watch->publishing.unpublished ? 0 : watch_publish(watch, process);
}

int watch_check_stack(struct watch *watch, struct process *process, const uint64_t *frames, uint32_t count,
		      uint64_t time, uint32_t *ret, bool *doubted)
{
	struct watched *watched = process ? process->user : NULL;
	uint32_t i, first = count;
	struct window *window;
	int err = 0;

	*ret = count;
	*doubted = false;
	if (!watched || (!watched->windows.count && !watched->doubt_from))
		return 0;
	for (i = 0; i < count; i++) {
		window = watch_window_at(process, address_of(frames[i]));
		if (window)
			window->met = true;
		if (first == count && (window || is_generated_at(watch, process, address_of(frames[i]), time)))
			first = i;
	}
	if (first == count)
		return 0;
	if (watched->windows.count && process->ended == UINT64_MAX)
		err = check(watch, process, time, false);
	if (time > watched->doubt_from && time <= watched->doubt_to) {
		*ret = first + 1;
		*doubted = true;
	}
	return err;
}

void watch_published_anew(struct watched *watched)
{
	watched->untold = false;
	if (watched->doubt_to == UINT64_MAX)
		watched->doubt_to = watch_now();
}

int watch_check_window(struct watch *watch, struct process *process, struct window *window)
{
	window->met = true;
	return check(watch, process, watch_now(), false);
}

int watch_doubt(struct watch *watch, uint64_t stack)
{
	/* The samples that name a stack follow it soon. */
	if (watch->learning.doubted.count >= DOUBTED_MAX)
		table_deinit(&watch->learning.doubted);
	return table_set(&watch->learning.doubted, stack, 1);
}

int watch_check_all_windows(struct watch *watch, uint64_t now)
{
	struct process *process;
	size_t at = 0;
	int err = 0;

	if (now < watch->learning.checked + CHECK_NS)
		return 0;
	watch->learning.checked = now;
	while (!err && (process = processes_next(watch->processes, &at))) {
		if (process->user && ((struct watched *)process->user)->windows.count)
			err = check(watch, process, now - CHECK_NS, true);
		if (!err)
			err = tell_untold(watch, process);
	}
	return err;
}

void watch_forget_trial(struct watched *watched)
{
	watched->distrusts = watched->untold = false;
	watched->stacks = watched->samples = (struct trial_counts){};
	watched->tried = 0;
}

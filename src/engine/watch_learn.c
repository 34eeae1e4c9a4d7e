// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Learns rules for code that has none, when a walk comes to it.
 *
 *   kernel    a walk reaches a program counter without a rule ──► late sample, with registers and a copy of the stack
 *   here      the code from there to the function's return (unwind/way_out.h) says where the return address is. There
 *             the copy must have one: an address after a call, in code that is mapped
 *             ──► rows for the instructions that were followed, for all processes that map the file; the walk goes on
 *
 * So each piece of code costs one late sample, and a file costs what was sampled in it. Code for which nothing can be
 * learnt is marked as asked for (UNWIND_UNLEARNT), and costs no second one. What was learnt for a file is kept in the
 * cache of analyses, by build id, with a digest of the code from which it was learnt.
 *
 * Generated code that is left by jumps only may run in the frame of what has entered it (watch_entry.c).
 *
 * All paths to a return must agree. A piece of code takes 0.1 to 10 ms of CPU time, and all of them together at most an
 * eighth of the time. tests/elf/way_out.t compares what is learnt with .eh_frame; tests/e2e/learn.t samples a program
 * with and without its CFI.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "base/time.h"
#include "bpf/scratch.h"
#include "engine/watch_parts.h"

#define TRIES_MAX  4096         /* in a file */
#define RANGES_MAX (256u << 10) /* the same, that are learnt */
#define CALL_MAX   8            /* bytes of a call, or more */
/* Generated code that keeps frame pointers: bytes around that are looked at, bytes for each begin or end of a function,
 * and frames. */
#define CHAIN_LOOK    8192
#define CHAIN_DENSITY 1024
#define CHAIN_MAX     64
#define SHARE         8 /* of the time at most, once BURST_NS are used up */
#define BURST_NS      500000000ull

/* One look at a place in a process. */
struct look {
	struct code_then then;
	const struct tables_run *run;
	struct learnt *learnt;
	struct window *window; /* NULL: in a file */
	bool whole;            /* what is added holds whatever code is there */
	struct rule_range wide; /* the range of a rule that does, if that is larger than the window; or empty */
	uint64_t bias;         /* address - bias: vaddr; of generated code 0 */
	const struct tables *tables;
};

size_t watch_read_some(struct code_then *then, uint64_t address, uint8_t *ret, size_t size)
{
	const struct process_mapping *mapping = process_find_mapping(then->process, address, then->time);

	if (!mapping)
		return 0;
	if (size > mapping->end - address)
		size = mapping->end - address;
	return watch_read_code(then, ret, size, address) ? 0 : size;
}

static size_t read_some(void *context, uint64_t address, uint8_t *ret, size_t size)
{
	struct look *look = context;

	return watch_read_some(&look->then, address, ret, size);
}

static bool is_known(void *context, uint64_t address, struct unwind_rule *ret)
{
	const struct look *look = context;
	const struct tables_run *run = look->run;
	uint64_t vaddr = address - look->bias;

	*ret = tables_rule(look->tables, run, vaddr);
	if (ret->kind == UNWIND_ABSENT) {
		watch_fill(look->then.watch, run->page_first + (uint32_t)((vaddr - run->base) >> UNWIND_PAGE_SHIFT));
		*ret = tables_rule(look->tables, run, vaddr);
	}
	return ret->kind != UNWIND_NO_RULE && ret->kind != UNWIND_UNLEARNT && ret->kind != UNWIND_ABSENT;
}

/* Does an address lie behind a call, in code that is mapped? */
static bool is_return_address(struct look *look, uint64_t address)
{
	uint8_t before[CALL_MAX];

	return read_some(look, address - CALL_MAX, before, CALL_MAX) == CALL_MAX &&
	       arch_here()->code->ends_in_call(before, CALL_MAX);
}

/* The CFA of the frame at which a walk ended, by a rule. False when the rule cannot be followed. */
static bool find_cfa(struct late_walker *walker, const struct native_walk *at, const struct unwind_rule *rule,
		     uint64_t *ret)
{
	uint32_t number = UNWIND_NUMBER(rule);
	uint64_t word;

	switch (rule->kind) {
	case UNWIND_SP:
		*ret = at->sp + (uint64_t)(int64_t)rule->cfa_offset;
		return true;
	case UNWIND_FP:
		*ret = at->fp + (uint64_t)(int64_t)rule->cfa_offset;
		return true;
	case UNWIND_REGISTER:
		*ret = at->registers[number & (ARCH_REGISTERS - 1)] + (uint64_t)(int64_t)UNWIND_OFFSET(rule);
		return number < ARCH_REGISTERS && at->known >> number & 1;
	case UNWIND_SP_DEREF:
	case UNWIND_FP_DEREF:
		word = (rule->kind == UNWIND_SP_DEREF ? at->sp : at->fp) + (uint64_t)(int64_t)UNWIND_OFFSET(rule);
		if (!late_read(walker, word, &word))
			return false;
		*ret = word + 8 * number;
		return true;
	default:
		return false;
	}
}

/* Does the rule lead to a return address on the stack that was met? */
static bool is_proved(struct watch *watch, struct look *look, const struct native_walk *at,
		      const struct unwind_rule *rule)
{
	uint64_t cfa, word;

	return find_cfa(watch->walker, at, rule, &cfa) && cfa > at->sp && late_read(watch->walker, cfa - 8, &word) &&
	       is_return_address(look, word);
}

static struct learnt *learnt_of(struct object *object)
{
	if (!object->learnt)
		object->learnt = calloc(1, sizeof(*object->learnt));
	return object->learnt;
}

/* Is there time for another look? What is not looked at now is met again. */
static bool has_time(const struct watch *watch)
{
	return watch->learning.learn_ns < BURST_NS ||
	       watch->learning.learn_ns - BURST_NS < (watch_now() - watch->learning.begun) / SHARE;
}

/* Adds to what is known of a file; ranges are of the process's addresses. */
static int add(struct watch *watch, struct look *look, rule_ranges *ranges)
{
	struct tables *tables = sampler_tables(watch->sampler);
	size_t i;
	int err = 0;

	for (i = 0; i < ranges->count && !err; i++) {
		struct rule_range range = ranges->at[i];

		/* Unwind information may reach beyond the window. */
		if (look->window) {
			range.start = range.start > look->window->start ? range.start : look->window->start;
			range.end = range.end < look->window->end ? range.end : look->window->end;
			if (range.start >= range.end)
				continue;
		}
		range.start -= look->bias;
		range.end -= look->bias;
		err = tables_learn(tables, look->run, range.start, range.end, &range.rule);
		if (!err && !look->whole)
			err = vec_push(&look->learnt->ranges, range);
	}
	look->learnt->changed = true;
	return err;
}

/* The range that an address lies in. */
static const struct rule_range *range_at(const rule_ranges *ranges, uint64_t address)
{
	size_t i;

	for (i = 0; i < ranges->count; i++)
		if (address >= ranges->at[i].start && address < ranges->at[i].end)
			return &ranges->at[i];
	return NULL;
}

/*
 * Does generated code keep frame pointers where a walk has ended, though no way out of it was seen? Functions around it
 * set them up, and the chain proves itself: it rises, and each return address lies behind a call, up to code of a file.
 */
static bool keeps_frames(struct watch *watch, struct look *look, const struct native_walk *at)
{
	const struct process *process = look->then.process;
	uint64_t start = at->pc - look->window->start > CHAIN_LOOK / 2 ? at->pc - CHAIN_LOOK / 2 : look->window->start;
	uint64_t fp = at->fp, below = at->sp, to = at->pc;
	uint8_t bytes[CHAIN_LOOK];
	size_t size = look->window->end - start < CHAIN_LOOK ? look->window->end - start : CHAIN_LOOK, i;

	size = read_some(look, start, bytes, size);
	if (arch_here()->unwind->count_frame_edges(bytes, size) < size / CHAIN_DENSITY + 1)
		return false;
	for (i = 0; i < CHAIN_MAX && watch_window_at(process, to - 1); i++) {
		if (fp < below || fp & 7 || !late_read(watch->walker, fp + 8, &to) || !is_return_address(look, to))
			return false;
		below = fp + 16;
		if (!late_read(watch->walker, fp, &fp))
			return false;
	}
	return i && !watch_window_at(process, to - 1);
}

/* Takes the rules that were found if they lead on from where the walk has ended. */
static bool take(struct watch *watch, struct look *look, const struct native_walk *at, rule_ranges *ranges)
{
	const struct rule_range *range = range_at(ranges, at->pc - at->behind);

	return range && is_proved(watch, look, at, &range->rule) && !add(watch, look, ranges);
}

/* Looks for rules there, in all ways. */
static bool look_here(struct watch *watch, struct look *look, const struct native_walk *at)
{
	const struct unwind_rule none = {.kind = UNWIND_UNLEARNT}, chain = {.kind = UNWIND_FP_CHAIN,
								       .param = UNWIND_CHAIN_KEPT};
	const struct way_out_source source = {read_some, is_known, look};
	struct tables *tables = sampler_tables(watch->sampler);
	uint64_t address = at->pc - at->behind;
	struct learnt *learnt = look->learnt;
	rule_ranges ranges = {};
	bool found = false;

	if (look->window && look->window->state) {
		watch_find_entry(&look->then, at, look->window);
		return false;
	}
	if (look->window && !watch_published_rules(look->then.process, address, &ranges, &look->whole)) {
		found = take(watch, look, at, &ranges);
		if (found && look->whole)
			look->wide = *range_at(&ranges, address);
		look->whole = false;
		look->window->published |= found;
	}
	vec_free(&ranges);
	if (!found && !way_out_find(arch_here()->code, &source, at->pc, !at->behind, &ranges))
		found = take(watch, look, at, &ranges);
	vec_free(&ranges);
	/* The copy does not have the state: this sample stays without. */
	if (!found && look->window && watch_find_entry(&look->then, at, look->window))
		return false;
	if (!found && look->window && keeps_frames(watch, look, at))
		found = !tables_learn(tables, look->run, address, address + 1, &chain);
	if (found && look->window)
		watch_window_learnt(look->then.process, look->window);
	if (!found && tables_learn(tables, look->run, address - look->bias, address - look->bias + 1, &none))
		learnt->complete = true;
	if (++learnt->tries >= TRIES_MAX || learnt->ranges.count >= RANGES_MAX)
		learnt->complete = true;
	return found;
}

static bool learn_here(struct watch *watch, struct look *look, const struct native_walk *at)
{
	uint64_t begin = time_ns(CLOCK_THREAD_CPUTIME_ID);
	bool found;

	if (!look->learnt || look->learnt->complete || !has_time(watch))
		return false;
	found = look_here(watch, look, at);
	watch->learning.learn_ns += time_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	return found;
}

/*
 * The same in a window. What nothing is learnt of is marked as in files; the walk is made again then as well, so that
 * it ends for that reason, and is not taken for a late one.
 */
static bool learn_generated(struct watch *watch, struct process *process, struct look *look, struct window *window,
			    const struct native_walk *at)
{
	uint64_t address = at->pc - at->behind;
	bool found;

	if (window->is_wide ||
	    (!window->state && tables_rule(look->tables, &window->run, address).kind != UNWIND_ABSENT) ||
	    watch_check_window(watch, process, window))
		return false;
	window = watch_window_at(process, address);
	if (!window)
		return false; /* it has changed: the next sample begins anew */
	look->run = &window->run;
	look->learnt = &window->learnt;
	look->window = window;
	watch_read_published(watch, process);
	watch_charge(watch, process);
	found = learn_here(watch, look, at);
	if (found && look->wide.end - look->wide.start > window->end - window->start) {
		watch_widen_window(watch, process, window, address, &look->wide);
		return true;
	}
	return found || (!window->state && tables_rule(look->tables, &window->run, address).kind == UNWIND_UNLEARNT);
}

bool watch_learn(struct watch *watch, struct process *process, uint64_t time, const struct late_stack *stack)
{
	const struct process_mapping *mapping;
	struct look look = {.then = {watch, process, time}, .tables = sampler_tables(watch->sampler)};
	struct window *window;
	struct object *object;
	uint64_t address, vaddr;

	if ((stack->loss != LOSS_NO_RULE && stack->loss != LOSS_LATE) || !stack->frames)
		return false;
	address = stack->end->pc - stack->end->behind;
	if (watch_open_window(watch, process, address, time) && watch_describe(watch, process, time))
		return false;
	window = watch_window_at(process, address);
	if (window)
		return learn_generated(watch, process, &look, window, stack->end);
	mapping = process_find_mapping(process, address, time);
	object = mapping ? objects_at(watch->objects, mapping->file->index) : NULL;
	if (!object || object->table != OBJECT_TABLE_READY || !object_vaddr(object, mapping, address, &vaddr) ||
	    tables_rule(look.tables, &object->run, vaddr).kind != UNWIND_NO_RULE)
		return false;
	look.run = &object->run;
	look.learnt = learnt_of(object);
	look.bias = address - vaddr;
	return learn_here(watch, &look, stack->end);
}

/* The name of the entry of a file; false when it has no build id. */
static bool entry_name(struct object *object, char ret[static CACHE_NAME_MAX + 1])
{
	char id[2 * ELF_BUILD_ID_MAX + 1];

	object_build_id(object, id, sizeof(id));
	return *id && snprintf(ret, CACHE_NAME_MAX + 1, "%s.way", id) <= CACHE_NAME_MAX;
}

/* A digest of the code that ranges of a file cover, as it has it now. False when it cannot be read. */
static bool digest_code(const struct object *object, const rule_ranges *ranges, uint64_t *ret)
{
	uint64_t digest = 0, offset;
	uint8_t bytes[256];
	size_t i;

	for (i = 0; i < ranges->count; i++) {
		uint64_t at = ranges->at[i].start, size;

		for (; at < ranges->at[i].end; at += size) {
			size = ranges->at[i].end - at < sizeof(bytes) ? ranges->at[i].end - at : sizeof(bytes);
			if (!object_file_offset(object, at, &offset) ||
			    foreign_read(object->content, bytes, size, offset) != (ssize_t)size)
				return false;
			digest = XXH3_64bits_withSeed(bytes, size, digest ^ at);
		}
	}
	*ret = digest;
	return true;
}

static bool is_learnt_rule(const struct unwind_rule *rule)
{
	return rule->kind == UNWIND_SP || rule->kind == UNWIND_FP || rule->kind == UNWIND_REGISTER ||
	       rule->kind == UNWIND_SP_DEREF || rule->kind == UNWIND_FP_DEREF;
}

bool watch_learnt_decode(const uint8_t *bytes, size_t size, uint64_t *digest, rule_ranges *ret)
{
	struct cursor c = cursor_init(bytes, size);
	bool whole = true;

	*digest = cursor_u64(&c);
	while (whole && cursor_left(&c)) {
		struct rule_range range = {.start = cursor_u64(&c), .end = cursor_u64(&c)};
		uint64_t rule = cursor_u64(&c);

		memcpy(&range.rule, &rule, sizeof(range.rule));
		whole = cursor_ok(&c) && range.start < range.end && range.end - range.start < LEARNT_RANGE_MAX &&
			is_learnt_rule(&range.rule) && !vec_push(ret, range);
	}
	return whole && cursor_ok(&c);
}

void watch_recall(struct watch *watch, struct object *object)
{
	struct cache *cache = object->cache;
	char name[CACHE_NAME_MAX + 1];
	rule_ranges ranges = {};
	uint64_t digest, now;
	const uint8_t *bytes;
	size_t size, i;

	if (!cache || object->file->kind != FILE_REGULAR || !entry_name(object, name) ||
	    !cache_get(cache, name, &bytes, &size))
		return;
	if (watch_learnt_decode(bytes, size, &digest, &ranges) && digest_code(object, &ranges, &now) && now == digest &&
	    learnt_of(object)) {
		for (i = 0; i < ranges.count; i++)
			if (tables_learn(sampler_tables(watch->sampler), &object->run, ranges.at[i].start,
					 ranges.at[i].end, &ranges.at[i].rule))
				break;
		object->learnt->ranges = ranges;
		return;
	}
	vec_free(&ranges);
}

void watch_keep_learnt(struct object *object)
{
	struct cache *cache = object->cache;
	VEC(uint64_t) words = {};
	char name[CACHE_NAME_MAX + 1];
	uint64_t digest, rule;
	size_t i;

	if (!cache || !object->learnt || !object->learnt->changed || object->file->kind != FILE_REGULAR ||
	    object_changed(object) || !entry_name(object, name) ||
	    !digest_code(object, &object->learnt->ranges, &digest) ||
	    vec_reserve(&words, 1 + 3 * object->learnt->ranges.count))
		return;
	words.at[words.count++] = digest;
	for (i = 0; i < object->learnt->ranges.count; i++) {
		const struct rule_range *range = &object->learnt->ranges.at[i];

		memcpy(&rule, &range->rule, sizeof(rule));
		words.at[words.count++] = range->start;
		words.at[words.count++] = range->end;
		words.at[words.count++] = rule;
	}
	/* What cannot be kept is learnt again. */
	cache_put(cache, name, words.at, words.count * sizeof(*words.at));
	vec_free(&words);
	object->learnt->changed = false;
}

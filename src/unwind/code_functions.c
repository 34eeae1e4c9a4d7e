// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which function does an instruction belong to? Its group is not enough to tell: a function that is never called, only
 * jumped to at the end of another one, is in the other one's group, and nothing says that it is a start.
 *
 *   S: ...            S is a known start (called, named, or mentioned)
 *      jz L           code before L runs into L, and nobody jumps into the middle of another function: L is part of S
 *      ...
 *   L: ...
 *      jmp X
 *   X: ...            nothing runs into X, and SP and registers are as at an entry: part of S, or another function?
 *
 * Such a place X is a *seam*. A jump over it, from one side to a place on the other side that is neither a start nor a
 * seam, closes it: both sides are one function. For code after a seam that stays open, up to the next start, the
 * function is unknown. The same holds for code after the start of another group, such as the cold parts of functions. A
 * function that runs into another one is one with it (hand-written code: __memcpy_chk runs into memcpy).
 */
#include <stdlib.h>

#include "unwind/code_flow_parts.h"

struct start {
	uint64_t vaddr;
	uint32_t group;
};

/* A block, by address. */
struct place {
	uint64_t start, end;
	uint32_t block, group;
	uint32_t owner; /* the last start at or before it; FLOW_NONE */
	int32_t over;   /* how many more jumps go over its beginning than over that of the place before */
	bool is_start, is_seam;
};

struct functions {
	const struct code_flow *flow;
	VEC(struct start) starts;
	VEC(struct place) places;
	uint8_t *several; /* by group: it has several starts */
};

static int by_vaddr(const void *a, const void *b)
{
	const struct start *x = a, *y = b;

	return (x->vaddr > y->vaddr) - (x->vaddr < y->vaddr);
}

static int by_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

static uint32_t root(const struct code_flow *flow, uint32_t group)
{
	return (uint32_t)(flow_root_of(flow, group) - flow->groups.at);
}

static const struct insn *last_insn(const struct code_flow *flow, const struct place *place)
{
	const struct block *block = &flow->blocks.at[place->block];

	return &flow->insns.at[block->first + block->count - 1];
}

static int list_starts(struct functions *f)
{
	const struct table_slot *slot;
	uint8_t *found = f->several;
	size_t at = 0;

	while ((slot = table_next(&f->flow->starts, &at))) {
		struct start start = {.vaddr = slot->key - 1, .group = root(f->flow, (uint32_t)slot->value)};

		if (vec_push(&f->starts, start))
			return -ENOMEM;
		found[start.group] += found[start.group] < 2;
	}
	if (f->starts.count)
		qsort(f->starts.at, f->starts.count, sizeof(f->starts.at[0]), by_vaddr);
	return 0;
}

static int list_places(struct functions *f)
{
	const struct code_flow *flow = f->flow;
	size_t i, next = 0;

	for (i = 0; i < flow->blocks.count; i++) {
		const struct block *block = &flow->blocks.at[i];
		struct place place = {.start = block->vaddr, .block = (uint32_t)i, .group = root(flow, block->group)};
		const struct insn *last;

		if (!block->count || flow->groups.at[place.group].refusal)
			continue;
		last = last_insn(flow, &place);
		place.end = last->vaddr + last->code.length;
		if (vec_push(&f->places, place))
			return -ENOMEM;
	}
	if (f->places.count)
		qsort(f->places.at, f->places.count, sizeof(f->places.at[0]), by_place);
	for (i = 0; i < f->places.count; i++) {
		struct place *place = &f->places.at[i];

		while (next < f->starts.count && f->starts.at[next].vaddr <= place->start)
			next++;
		place->owner = next ? (uint32_t)next - 1 : FLOW_NONE;
		place->is_start = next && f->starts.at[next - 1].vaddr == place->start;
	}
	return 0;
}

/* Whether code goes on behind a block whatever happens. A call may not return. */
static bool falls(const struct code_flow *flow, const struct place *place)
{
	uint8_t op = last_insn(flow, place)->code.op;

	return op < CODE_CALL || op == CODE_BRANCH;
}

static void find_seams(struct functions *f)
{
	size_t i;

	for (i = 0; i < f->places.count; i++) {
		struct place *place = &f->places.at[i];
		const struct place *before = i ? place - 1 : NULL;
		const struct block *block = &f->flow->blocks.at[place->block];

		if (place->is_start || (before && before->end == place->start && falls(f->flow, before)))
			continue;
		place->is_seam =
			f->several[place->group] > 1 || code_exit_of(f->flow->arch, &block->in) != CODE_EXIT_UNBALANCED;
	}
}

static size_t place_at(const struct functions *f, uint64_t vaddr)
{
	size_t low = 0, high = f->places.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->places.at[middle].start < vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Jumps over seams close them. */
static void close_seams(struct functions *f)
{
	size_t i, to;

	for (i = 0; i < f->places.count; i++) {
		const struct place *place = &f->places.at[i], *target;
		const struct code_insn *last = &last_insn(f->flow, place)->code;

		if (last->op != CODE_JUMP && last->op != CODE_BRANCH)
			continue;
		to = place_at(f, (uint64_t)last->imm);
		if (to == f->places.count)
			continue;
		target = &f->places.at[to];
		if (target->start != (uint64_t)last->imm || target->group != place->group ||
		    target->owner != place->owner || target->is_start || target->is_seam)
			continue;
		f->places.at[(to < i ? to : i) + 1].over++;
		if ((to > i ? to : i) + 1 < f->places.count)
			f->places.at[(to > i ? to : i) + 1].over--;
	}
}

int code_flow_functions(const struct code_flow *flow,
			int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context)
{
	struct functions f = {.flow = flow, .several = calloc(flow->groups.count + 1, 1)};
	int err = f.several ? list_starts(&f) : -ENOMEM;
	bool known = false; /* that it is the owner's */
	int64_t over = 0;
	size_t i;

	if (!err)
		err = list_places(&f);
	if (!err) {
		find_seams(&f);
		close_seams(&f);
	}
	for (i = 0; i < f.places.count && !err; i++) {
		const struct place *place = &f.places.at[i];
		const struct start *owner = place->owner == FLOW_NONE ? NULL : &f.starts.at[place->owner];

		over += place->over;
		if (!owner || place->is_start)
			known = owner;
		else if (i && place[-1].owner != place->owner)
			known = false; /* the start itself was refused */
		else if (!over && (place->is_seam || place->group != owner->group))
			known = false;
		if (known && place->group == owner->group)
			err = visit(context, place->start, place->end, owner->vaddr);
	}
	vec_free(&f.starts);
	vec_free(&f.places);
	free(f.several);
	return err;
}

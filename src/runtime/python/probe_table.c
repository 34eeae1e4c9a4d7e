// SPDX-License-Identifier: GPL-2.0-or-later
/* 3.11 and later: the table of the instructions' code, and where that code has frame and instruction. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/pointers.h"
#include "runtime/python/probe_parts.h"

#define OPCODES       256
#define LINE_MAX      96 /* instructions of one straight line */
#define AGREE_MIN     24 /* handlers: clang moves most stores elsewhere, and some 30 are left */
#define RECORDING_MAX 64 /* handlers of a table that is for recording: nearly all are the same */

/* --- the table --- */

struct pointer {
	uint64_t place, target;
};

typedef VEC(struct pointer) pointers;

bool python_sites_in_loop(const struct sites_search *search, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < search->range_count; i++)
		if (vaddr >= search->ranges[i].start && vaddr < search->ranges[i].end)
			return true;
	return false;
}

struct pointer_search {
	const struct sites_search *search;
	pointers *ret;
};

/* Pointers into the loop. */
static int add_pointer(void *context, uint64_t place, uint64_t target)
{
	const struct pointer_search *of = context;

	if (!python_sites_in_loop(of->search, target))
		return 0;
	return vec_push(of->ret, (struct pointer){place, target});
}

static int compare_pointers(const void *a, const void *b)
{
	const struct pointer *left = a, *right = b;

	return left->place < right->place ? -1 : left->place > right->place;
}

/*
 * The index of the second of 256 pointers in a row at this place; SIZE_MAX: there are none. The first one is CACHE's,
 * which is never executed: the compiler may have no code for it, and the pointer leads anywhere (Debian's
 * libpython3.11).
 */
static size_t table_at(const pointers *list, uint64_t place)
{
	const struct pointer key = {.place = place + 8};
	const struct pointer *found = bsearch(&key, list->at, list->count, sizeof(*list->at), compare_pointers);
	size_t first, i;

	if (!found)
		return SIZE_MAX;
	first = (size_t)(found - list->at);
	for (i = 1; i < OPCODES - 1; i++)
		if (first + i >= list->count || list->at[first + i].place != key.place + 8 * i)
			return SIZE_MAX;
	return first;
}

/* Most bytecodes are not in use, and have the same handler. A table of another kind has no such entry. */
static bool has_unknown(const pointers *list, size_t first)
{
	size_t i, j, same;

	for (i = first; i < first + OPCODES - 1; i++) {
		for (same = 0, j = first; j < first + OPCODES - 1; j++)
			same += list->at[j].target == list->at[i].target;
		if (same >= 8)
			return true;
	}
	return false;
}

/* How many handlers a table has, without CACHE's. */
static unsigned int distinct(const struct pointer *table)
{
	unsigned int found = 0;
	size_t i, j;

	for (i = 0; i < OPCODES - 1; i++) {
		for (j = 0; j < i && table[j].target != table[i].target; j++)
			;
		found += j == i;
	}
	return found;
}

/*
 * A build with a JIT (3.15) has two tables: by the other one each instruction is executed by the one that records what
 * is to be compiled.
 */
static int take_table(struct sites_search *search, uint64_t place, const struct pointer *table, struct diag *diag)
{
	unsigned int found = distinct(table);
	size_t i;

	search->sites->jit |= found < RECORDING_MAX || search->sites->table;
	if (found < RECORDING_MAX)
		return 0;
	if (search->sites->table)
		return python_sites_refuse(search->elf, diag, "its loop has two tables of 256 instructions' code");
	search->sites->table = place;
	for (i = 1; i < OPCODES; i++)
		search->handlers[i] = table[i - 1].target;
	search->handlers[0] = search->handlers[1];
	return 0;
}

int python_sites_find_opcodes(struct sites_search *search, struct diag *diag)
{
	pointers list = {};
	size_t i, j, first;
	struct pointer_search of = {search, &list};
	int err = elf_pointers_each(search->elf, arch_of(elf_file_machine(search->elf))->relative, add_pointer,
				    &of);

	if (!err && list.count) {
		qsort(list.at, list.count, sizeof(*list.at), compare_pointers);
		for (i = j = 1; i < list.count; i++)
			if (list.at[i].place != list.at[j - 1].place)
				list.at[j++] = list.at[i];
		list.count = j;
		for (i = 0; i < search->code.insns.count && !err; i++) {
			uint64_t place = search->code.insns.at[i].mentioned;

			if (!place || place == search->sites->table)
				continue;
			first = table_at(&list, place);
			if (first == SIZE_MAX || !has_unknown(&list, first))
				continue;
			err = take_table(search, place, &list.at[first], diag);
		}
	}
	vec_free(&list);
	if (err == -ENOMEM)
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	if (!err && !search->sites->table)
		return python_sites_refuse(
			search->elf, diag,
			"the interpreter loop has no table of 256 instructions' code (opcode_targets)");
	return err;
}

/* --- where the frame and the instruction are --- */

/* The first write of a handler to a frame's instruction pointer, by places where the handler begins. */
struct vote {
	struct python_place frame, instruction;
	bool exact; /* it writes what is at `instruction`, and not one that follows */
};

/*
 * What lies on the stack may be something else: 3.12's INTERPRETER_EXIT writes a local variable to tstate->cframe,
 * which is as far from its beginning as prev_instr. So such votes count only where those for registers are too few.
 */
enum shape { SHAPE_REGISTERS, SHAPE_INSTRUCTION_ON_STACK, SHAPE_ON_STACK, SHAPES };

static enum shape shape_of(const struct vote *vote)
{
	return vote->frame.kind == PYTHON_ON_STACK	   ? SHAPE_ON_STACK
	       : vote->instruction.kind == PYTHON_ON_STACK ? SHAPE_INSTRUCTION_ON_STACK
							   : SHAPE_REGISTERS;
}

typedef VEC(struct vote) vote_list;

static int vote(const struct sites_search *search, uint64_t handler, vote_list *ret)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct probe_line line;
	struct vote found;
	unsigned int i;

	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn->op == SPOT_STORE && insn->size == 8) {
			struct probe_value at = probe_line_address(&line, insn);
			struct probe_value value = probe_line_register(&line, insn->a);

			if (at.node != search->code.base && at.add == search->layout->frame_lasti &&
			    value.node != search->code.base && !value.narrow && value.node != at.node &&
			    value.add >= 0 && value.add <= 64 && probe_line_origin(&line, at.node, &found.frame) &&
			    probe_line_origin(&line, value.node, &found.instruction)) {
				found.exact = !value.add;
				return vec_push(ret, found);
			}
		}
		if (insn->op == SPOT_CALL || insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			return 0;
		probe_line_step(&line, insn);
	}
	return 0;
}

bool python_same_place(const struct python_place *a, const struct python_place *b)
{
	return a->kind == b->kind && a->reg == b->reg && a->add == b->add;
}

static const struct python_place *place_of(const struct vote *vote, bool frame)
{
	return frame ? &vote->frame : &vote->instruction;
}

/*
 * The place that the votes of these shapes are for. Another one that has votes has to be a copy of it, made before
 * every jump to a handler. PYTHON_NOWHERE: they differ, or are too few.
 */
static struct python_place elected(const struct sites_search *search, const vote_list *votes, enum shape last,
				   bool frame, uint32_t *count)
{
	struct python_place best = {};
	uint32_t same;
	size_t i, j;

	*count = 0;
	for (i = 0; i < votes->count; i++) {
		for (same = 0, j = 0; j < votes->count; j++)
			same += (frame || votes->at[j].exact) && shape_of(&votes->at[j]) <= last &&
				python_same_place(place_of(&votes->at[i], frame), place_of(&votes->at[j], frame));
		if (same > *count) {
			best = *place_of(&votes->at[i], frame);
			*count = same;
		}
	}
	if (*count < AGREE_MIN)
		return (struct python_place){};
	for (i = 0; i < votes->count; i++) {
		const struct python_place *place = place_of(&votes->at[i], frame);

		if (python_same_place(place, &best) || (!frame && !votes->at[i].exact) ||
		    shape_of(&votes->at[i]) > last)
			continue;
		if (place->kind != PYTHON_IN_REGISTER || best.kind != PYTHON_IN_REGISTER ||
		    !probe_code_same_at_jumps(&search->code, best.reg, place->reg, search->handlers, OPCODES))
			return (struct python_place){};
	}
	return best;
}

static int find_places(struct sites_search *search, struct diag *diag)
{
	struct probe_line line;
	vote_list votes = {};
	enum shape shape;
	uint32_t count;
	size_t i, j;
	int err = 0;

	for (i = 0; i < OPCODES && !err; i++) {
		for (j = 0; j < i && search->handlers[j] != search->handlers[i]; j++)
			;
		if (j == i)
			err = vote(search, search->handlers[i], &votes);
	}
	for (shape = 0; shape < SHAPES && !err && search->instruction_at.kind == PYTHON_NOWHERE; shape++) {
		search->frame_at = elected(search, &votes, shape, true, &search->sites->handlers);
		if (search->frame_at.kind != PYTHON_NOWHERE)
			search->instruction_at = elected(search, &votes, shape, false, &count);
	}
	vec_free(&votes);
	if (err)
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	if (search->frame_at.kind == PYTHON_NOWHERE)
		return python_sites_refuse(search->elf, diag,
					   "the code of its instructions does not agree on a place for the frame");
	if (search->instruction_at.kind == PYTHON_NOWHERE)
		return python_sites_refuse(
			search->elf, diag,
			"the code of its instructions does not agree on a place for the instruction");
	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	search->frame = probe_line_known(&line, &search->frame_at).node;
	search->instruction = probe_line_known(&line, &search->instruction_at).node;
	return 0;
}

void python_sites_begin(const struct sites_search *search, struct probe_line *ret)
{
	probe_line_begin(search->code.arch, ret);
	ret->base = search->code.base;
	probe_line_known(ret, &search->frame_at);
	probe_line_known(ret, &search->instruction_at);
}

int python_sites_find_table(struct sites_search *search, struct diag *diag)
{
	int err = python_sites_find_opcodes(search, diag);

	return err ? err : find_places(search, diag);
}

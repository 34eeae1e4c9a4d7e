// SPDX-License-Identifier: GPL-2.0-or-later
/* 3.11 and later: the table of the instructions' code, and the registers in which that code has frame and instruction.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cursor.h"
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

static int add_pointer(const struct sites_search *search, uint64_t place, uint64_t target, pointers *ret)
{
	return python_sites_in_loop(search, target) ? vec_push(ret, (struct pointer){place, target}) : 0;
}

/* Pointers into the loop, as the dynamic linker writes them, and as they stand in the file. */
static int find_pointers(const struct sites_search *search, pointers *ret)
{
	uint32_t relative = arch_of(elf_file_machine(search->elf))->relative;
	const struct elf_segment *segments;
	struct elf_section section;
	size_t count, i, at;
	const uint8_t *bytes;
	Elf64_Rela rela;
	uint64_t value;
	struct cursor c;
	int err = 0;

	if (elf_file_section(search->elf, ".rela.dyn", &section) && section.bytes) {
		c = cursor_init(section.bytes, section.size);
		while (!err && (bytes = cursor_take(&c, sizeof(rela)))) {
			memcpy(&rela, bytes, sizeof(rela));
			if (ELF64_R_TYPE(rela.r_info) == relative)
				err = add_pointer(search, rela.r_offset, (uint64_t)rela.r_addend, ret);
		}
	}
	segments = elf_file_segments(search->elf, &count);
	for (i = 0; i < count && !err; i++) {
		if (segments[i].flags & PF_X)
			continue;
		bytes = elf_file_bytes_at(search->elf, segments[i].vaddr, segments[i].filesz);
		for (at = -segments[i].vaddr & 7; bytes && !err && at + 8 <= segments[i].filesz; at += 8) {
			memcpy(&value, bytes + at, sizeof(value));
			if (value)
				err = add_pointer(search, segments[i].vaddr + at, value, ret);
		}
	}
	return err;
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

static int find_table(struct sites_search *search, struct diag *diag)
{
	pointers list = {};
	size_t i, j, first;
	int err = find_pointers(search, &list);

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

/* --- the registers of the frame and of the instruction --- */

struct votes {
	uint32_t frame[SPOT_REGISTERS], instruction[SPOT_REGISTERS];
};

/* The first write of a handler to a frame's instruction pointer. */
static void vote(const struct sites_search *search, uint64_t handler, struct votes *votes)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct probe_line line;
	unsigned int i;

	probe_line_begin(search->code.arch, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn->op == SPOT_STORE && insn->size == 8) {
			struct probe_value at = probe_line_address(&line, insn);
			struct probe_value value = probe_line_register(&line, insn->a);

			if (at.node < SPOT_REGISTERS && at.node != search->code.arch->sp &&
			    at.add == search->layout->frame_lasti && value.node < SPOT_REGISTERS && !value.narrow &&
			    value.node != at.node && value.add >= 0 && value.add <= 64) {
				votes->frame[at.node]++;
				if (!value.add)
					votes->instruction[value.node]++;
				return;
			}
		}
		if (insn->op == SPOT_CALL || insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			return;
		probe_line_step(&line, insn);
	}
}

/* The register that all votes are for. SPOT_NONE: they differ. */
static uint8_t elected(const uint32_t votes[SPOT_REGISTERS], uint32_t *count)
{
	uint8_t found = SPOT_NONE, i;

	*count = 0;
	for (i = 0; i < SPOT_REGISTERS; i++) {
		if (!votes[i])
			continue;
		if (found != SPOT_NONE)
			return SPOT_NONE;
		found = i;
		*count = votes[i];
	}
	return found;
}

static int find_registers(struct sites_search *search, struct diag *diag)
{
	struct votes votes = {};
	uint32_t count;
	size_t i, j;

	for (i = 0; i < OPCODES; i++) {
		for (j = 0; j < i && search->handlers[j] != search->handlers[i]; j++)
			;
		if (j == i)
			vote(search, search->handlers[i], &votes);
	}
	search->frame = elected(votes.frame, &search->sites->handlers);
	search->instruction = elected(votes.instruction, &count);
	if (search->frame == SPOT_NONE || search->sites->handlers < AGREE_MIN)
		return python_sites_refuse(search->elf, diag,
					   "the code of its instructions does not agree on a register for the frame");
	if (search->instruction == SPOT_NONE || count < AGREE_MIN)
		return python_sites_refuse(
			search->elf, diag,
			"the code of its instructions does not agree on a register for the instruction");
	return 0;
}

int python_sites_find_table(struct sites_search *search, struct diag *diag)
{
	int err = find_table(search, diag);

	return err ? err : find_registers(search, diag);
}

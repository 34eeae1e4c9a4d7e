// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines without a marker, of 3.11 and later: a breakpoint in the code of each instruction of Python's. Which of them
 * begin a line, the program finds out at each hit (lang/rt/lines_step.h).
 *
 * Where it is put: on an instruction of the straight line that the kernel emulates, best of all one that no other code
 * leads to. What other code leads to is only used with the opcode checked. Without any it is the first of the line,
 * which is single-stepped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/python/probe_parts.h"

#define OPCODES  256
#define LINE_MAX 96 /* instructions of one straight line */
#define UNUSED   6  /* opcodes that have one handler: it is that of those that are not in use */
#define NOT_ONE  255 /* kinds of opcodes: probe_line_opcodes.def */
#define ANY      254

/* Instructions that are not as all others, of one minor version. */
static const struct {
	uint8_t minor, opcode, kind;
} special[] = {
#define LINE(minor, name, opcode, kind) {minor, opcode, kind},
#include "runtime/python/probe_line_opcodes.def"
#undef LINE
};

#define SPECIAL (sizeof(special) / sizeof(special[0]))

static bool is_known(uint8_t minor)
{
	size_t i;

	for (i = 0; i < SPECIAL; i++)
		if (special[i].minor == minor)
			return true;
	return false;
}

uint32_t python_line_begins(uint8_t minor)
{
	unsigned int count = 0;
	uint32_t ret = 0;
	size_t i;

	for (i = 0; i < SPECIAL; i++)
		if (special[i].minor == minor && special[i].kind == PYTHON_SITE_LINE_BEGIN && count < 4)
			ret |= (uint32_t)special[i].opcode << 8 * count++;
	for (; count && count < 4; count++)
		ret |= (ret & 0xff) << 8 * count;
	return ret;
}

static uint8_t kind_of(uint8_t minor, uint8_t opcode)
{
	size_t i;

	for (i = 0; i < SPECIAL; i++)
		if (special[i].minor == minor && special[i].opcode == opcode)
			return special[i].kind;
	return PYTHON_SITE_LINE;
}

/*
 * Takes the opcodes of a handler, and those that may stand in memory in their place. -EEXIST: they are of different
 * kinds, or too many; -ENOENT: it has none that counts.
 */
static int take_opcodes(const struct sites_search *search, uint64_t handler, struct python_site *ret)
{
	uint8_t kind = NOT_ONE;
	unsigned int i, count = 0;

	for (i = 1; i < OPCODES; i++)
		count += search->handlers[i] == handler;
	if (count >= UNUSED)
		return -ENOENT;
	for (i = 1; i < OPCODES; i++) {
		if (search->handlers[i] != handler)
			continue;
		if (ret->opcode_count && kind != kind_of(search->minor, (uint8_t)i))
			return -EEXIST;
		kind = kind_of(search->minor, (uint8_t)i);
		ret->opcodes[ret->opcode_count++] = (uint8_t)i;
	}
	for (i = 0; i < SPECIAL; i++) {
		if (special[i].minor != search->minor || special[i].kind != ANY || kind == ANY)
			continue;
		if (ret->opcode_count == PYTHON_SITE_OPCODES)
			return -EEXIST;
		ret->opcodes[ret->opcode_count++] = special[i].opcode;
	}
	ret->kind = kind == ANY ? PYTHON_SITE_LINE : kind;
	return kind == NOT_ONE ? -ENOENT : 0;
}

/* Where the breakpoint is put. `only`: of those that other code leads to, none. */
static bool place(const struct sites_search *search, uint64_t handler, bool only, struct python_site *ret)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	bool stored = false, shared = false;
	int64_t behind = 0;
	struct probe_line line;
	unsigned int i;

	python_sites_begin(search, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		struct probe_value at, value;

		shared |= probe_code_is_target(&search->code, insn->vaddr);
		if (only && shared)
			return false;
		if (insn->emulated && python_sites_describe(search, &line, stored, behind, ret)) {
			ret->vaddr = insn->vaddr;
			ret->emulated = true;
			ret->again = shared;
			return true;
		}
		if (insn->op == SPOT_CALL || insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH ||
		    insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			return false;
		at = probe_line_address(&line, insn);
		value = probe_line_register(&line, insn->a);
		if (insn->op == SPOT_STORE && at.node == search->frame && at.add == search->layout->frame_lasti) {
			stored = insn->size == 8 && value.node == search->instruction && !value.narrow;
			behind = value.add;
		}
		probe_line_step(&line, insn);
	}
	return false;
}

static int compare_lines(const void *a, const void *b)
{
	const struct python_site *left = a, *right = b;

	if (left->vaddr != right->vaddr)
		return left->vaddr < right->vaddr ? -1 : 1;
	return (left->kind > right->kind) - (left->kind < right->kind);
}

/* Two handlers that go on in the same code, where both have the same: either's opcodes are right. */
static bool unite(struct python_site *site, const struct python_site *other)
{
	unsigned int i, j;

	if (site->kind != other->kind || !python_same_place(&site->frame, &other->frame) ||
	    !python_same_place(&site->instruction, &other->instruction))
		return false;
	for (i = 0; i < other->opcode_count; i++) {
		for (j = 0; j < site->opcode_count && site->opcodes[j] != other->opcodes[i];)
			j++;
		if (j == PYTHON_SITE_OPCODES)
			return false;
		site->opcodes[j] = other->opcodes[i];
		site->opcode_count += j == site->opcode_count;
	}
	site->again = true;
	return true;
}

/* On the first instruction. False: not all is known there. */
static bool place_first(const struct sites_search *search, uint64_t handler, struct python_site *ret)
{
	struct probe_line line;

	python_sites_begin(search, &line);
	ret->vaddr = handler;
	ret->emulated = false;
	ret->again = probe_code_is_target(&search->code, handler);
	return python_sites_describe(search, &line, false, 0, ret);
}

struct python_site *python_sites_line_at(const struct sites_search *search, uint64_t vaddr)
{
	struct python_sites *sites = search->sites;
	size_t i;

	for (i = 0; i < sites->lines.count; i++)
		if (sites->lines.at[i].vaddr == vaddr)
			return &sites->lines.at[i];
	return NULL;
}

int python_sites_end_lines(struct python_sites *sites, int err)
{
	if (err) {
		vec_free(&sites->lines);
		sites->lines = (python_site_list){};
		sites->no_lines = PYTHON_LINES_OF_BUILD;
		return err == -ENOMEM ? err : 0;
	}
	qsort(sites->lines.at, sites->lines.count, sizeof(*sites->lines.at), compare_lines);
	return 0;
}

/* Two instructions as one: two sites at one place, which other code must not share. */
static int add_joined(struct sites_search *search, struct python_site *site)
{
	struct python_site second = *site;
	int err;

	if (python_sites_line_at(search, site->vaddr) || (site->again && site->vaddr != site->handler))
		return -EEXIST;
	site->kind = PYTHON_SITE_LINE;
	second.again = true;
	err = vec_push(&search->sites->lines, *site);
	return err ? err : vec_push(&search->sites->lines, second);
}

static int add(struct sites_search *search, uint64_t handler)
{
	struct python_site site = {.handler = handler, .recursion_offset = PY_NO_OFFSET}, *there, united;
	int err = take_opcodes(search, handler, &site);

	if (err == -ENOENT)
		return 0;
	if (err || !probe_code_at(&search->code, handler))
		return -EEXIST;
	if (!place(search, handler, true, &site) && !place(search, handler, false, &site) &&
	    !place_first(search, handler, &site))
		return -EEXIST;
	if (site.kind == PYTHON_SITE_LINE_JOINED)
		return add_joined(search, &site);
	there = python_sites_line_at(search, site.vaddr);
	if (there) {
		united = *there;
		if (unite(&united, &site)) {
			*there = united;
			return 0;
		}
		/* The one could not be told from the other. */
		if (!place_first(search, handler, &site) || python_sites_line_at(search, handler))
			return -EEXIST;
	}
	return vec_push(&search->sites->lines, site);
}

int python_sites_find_lines(struct sites_search *search)
{
	struct python_sites *sites = search->sites;
	size_t i, j;
	int err = 0;

	if (!is_known(search->minor)) {
		sites->no_lines = PYTHON_LINES_OF_VERSION;
		return 0;
	}
	for (i = 1; i < OPCODES && !err; i++) {
		for (j = 1; j < i && search->handlers[j] != search->handlers[i];)
			j++;
		if (i == j)
			err = add(search, search->handlers[i]);
	}
	return python_sites_end_lines(sites, err);
}

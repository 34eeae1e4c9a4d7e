// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * probe_lines.c of 3.6 to 3.10. The loop's C function runs one frame, which is at the same place in the code of all
 * instructions; and what is executed is in frame->f_lasti. So it does not matter if a place is hit twice for an
 * instruction (lang/rt/rt_lines_old.bpf.c).
 *
 * The loop goes to the code of an instruction by two tables: the 256 addresses of opcode_targets, and, when something
 * else has to be looked at (another thread wants the GIL, lines are traced), by a `switch`. For that the compiler may
 * have other copies of the first part of an instruction's code, so both tables are needed.
 */
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/python/probe_parts.h"

#define OPCODES    256
#define LINE_MAX   96 /* instructions of one straight line */
#define UNUSED     6  /* opcodes that have one handler: it is that of those that are not in use */
#define SAME_MIN   48 /* of the handlers of a switch, those that are also in opcode_targets */
#define AGREE_MIN  24 /* handlers that say where the frame is */
#define AGREE_RATE 8  /* times as many as say something else */

/* Instructions that are not as all others, of one minor version. */
static const struct {
	uint8_t minor, opcode, kind;
} special[] = {
#define LINE(minor, name, opcode, kind) {minor, opcode, kind},
#include "runtime/python/probe_line_opcodes_old.def"
#undef LINE
};

static uint8_t kind_of(uint8_t minor, unsigned int opcode)
{
	size_t i;

	for (i = 0; i < sizeof(special) / sizeof(special[0]); i++)
		if (special[i].minor == minor && special[i].opcode == opcode)
			return special[i].kind;
	return PYTHON_SITE_LINE;
}

/* Not the code of opcodes that are not in use. */
static bool is_used(const struct sites_search *search, unsigned int opcode)
{
	unsigned int i, count = 0;

	for (i = 1; i < OPCODES; i++)
		count += search->handlers[i] == search->handlers[opcode];
	return count < UNUSED;
}

/* Is it the write of f_lasti that every instruction's code ends with? Then *frame is where the line had the frame. */
static bool writes_lasti(const struct sites_search *search, const struct probe_line *line,
			 const struct spot_insn *insn, struct python_place *frame)
{
	struct probe_value at;

	if (insn->op != SPOT_STORE || insn->size != 4)
		return false;
	at = probe_line_address(line, insn);
	return at.node != search->code.base && at.node != search->code.arch->sp &&
	       at.add == search->layout->frame_lasti && probe_line_origin(line, at.node, frame);
}

static bool find_vote(const struct sites_search *search, uint64_t handler, struct python_place *ret)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct probe_line line;
	unsigned int i;

	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (writes_lasti(search, &line, insn, ret))
			return true;
		if (insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			return false;
		probe_line_step(&line, insn);
	}
	return false;
}

/* Where all instructions' code has the frame. */
static bool find_frame(struct sites_search *search)
{
	struct python_place places[OPCODES];
	unsigned int count = 0, best = 0, same, i, j;
	struct probe_line line;

	for (i = 1; i < OPCODES; i++) {
		for (j = 1; j < i && search->handlers[j] != search->handlers[i];)
			j++;
		count += i == j && find_vote(search, search->handlers[i], &places[count]);
	}
	for (i = 0; i < count; i++) {
		for (same = 0, j = 0; j < count; j++)
			same += python_same_place(&places[i], &places[j]);
		if (same > best)
			search->frame_at = places[i];
		best = same > best ? same : best;
	}
	if (best < AGREE_MIN || (count - best) * AGREE_RATE > best)
		return false;
	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	search->frame = probe_line_known(&line, &search->frame_at).node;
	search->sites->handlers = best;
	return true;
}

/* The handlers by the table of the switch at this place, which has 32-bit distances from itself. False: it is none. */
static bool read_switch(const struct sites_search *search, uint64_t place, uint64_t *ret)
{
	unsigned int i, same = 0;

	for (i = 0; i < OPCODES; i++) {
		const uint8_t *bytes = elf_file_bytes_at(search->elf, place + 4 * i, 4);
		int32_t distance;

		if (!bytes)
			break;
		memcpy(&distance, bytes, sizeof(distance));
		ret[i] = place + (uint64_t)(int64_t)distance;
		if (!probe_code_at(&search->code, ret[i]))
			break;
		same += ret[i] == search->handlers[i];
		/* Behind its end there may be another table. */
		if (!is_used(search, i))
			ret[i] = 0;
	}
	memset(ret + i, 0, (OPCODES - i) * sizeof(*ret));
	return same >= SAME_MIN;
}

static bool find_switch(const struct sites_search *search, uint64_t *ret)
{
	size_t i;

	for (i = 0; i < search->code.insns.count; i++) {
		uint64_t place = search->code.insns.at[i].mentioned;

		if (place && !python_sites_in_loop(search, place) && read_switch(search, place, ret))
			return true;
	}
	return false;
}

/* Where the kernel emulates, before the next instruction of Python's; else where the handler begins. */
static bool place(const struct sites_search *search, uint64_t handler, struct python_site *ret)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct python_place frame;
	struct probe_line line;
	unsigned int i;

	if (!insn)
		return false;
	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	probe_line_known(&line, &search->frame_at);
	ret->frame = search->frame_at;
	ret->handler = ret->vaddr = handler;
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn->emulated) {
			struct python_place here = probe_line_place(&line, search->frame, false);

			if (here.kind == PYTHON_NOWHERE)
				return true;
			ret->frame = here;
			ret->vaddr = insn->vaddr;
			ret->emulated = true;
			return true;
		}
		if (insn->op >= SPOT_CALL || writes_lasti(search, &line, insn, &frame))
			return true;
		probe_line_step(&line, insn);
	}
	return true;
}

static int add(struct sites_search *search, uint64_t handler, uint8_t kind)
{
	struct python_site site = {.kind = kind, .recursion_offset = PY_NO_OFFSET}, *there;

	if (!place(search, handler, &site))
		return -EEXIST;
	there = python_sites_line_at(search, site.vaddr);
	if (there)
		return there->kind == site.kind && python_same_place(&there->frame, &site.frame) ? 0 : -EEXIST;
	return vec_push(&search->sites->lines, site);
}

static int add_all(struct sites_search *search, const uint64_t *handlers)
{
	unsigned int i;
	int err = 0;

	for (i = 1; i < OPCODES && !err; i++)
		if (handlers[i] && is_used(search, i))
			err = add(search, handlers[i], kind_of(search->minor, i));
	return err;
}

int python_sites_find_lines_old(struct sites_search *search)
{
	struct python_sites *sites = search->sites;
	uint64_t others[OPCODES];
	int err = python_sites_find_opcodes(search, NULL);

	sites->table = 0;
	sites->jit = false;
	if (!err && (!find_frame(search) || !find_switch(search, others)))
		err = -ENOTSUP;
	if (!err)
		err = add_all(search, search->handlers);
	if (!err)
		err = add_all(search, others);
	return python_sites_end_lines(sites, err);
}

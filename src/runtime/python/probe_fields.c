// SPDX-License-Identifier: GPL-2.0-or-later
/* 3.11 and later: which fields of the thread state and of the code object RESUME and RETURN_VALUE use. */
#include "runtime/python/probe_parts.h"

#define LINE_MAX    96  /* instructions of one straight line */
#define TSTATE_NEAR 256 /* fields of a thread state that the loop itself uses */

static bool is_code_of_frame(const struct sites_search *search, const struct probe_line *line, struct probe_value at)
{
	uint8_t base;

	return at.node != PROBE_NOTHING && at.add >= 0 && at.add < search->layout->code_bytecode &&
	       probe_line_is_load(line, (struct probe_value){.node = at.node}, search->layout->frame_code, &base) &&
	       base == search->frame;
}

/* A word of `size` bytes of memory that a register holds: where that is. */
static bool held_from(const struct probe_line *line, uint8_t reg, uint8_t size, struct probe_value *ret)
{
	struct probe_value value = probe_line_register(line, reg);

	if (value.node < PROBE_NODE || value.node == PROBE_NOTHING || value.add ||
	    line->loads[value.node - PROBE_NODE].size != size)
		return false;
	*ret = line->loads[value.node - PROBE_NODE].at;
	return true;
}

/* Does this instruction compare two words of memory? *a, *b: where they are. */
static bool compared(const struct probe_line *line, const struct spot_insn *insn, uint8_t size, struct probe_value *a,
		     struct probe_value *b)
{
	if (insn->size != size || (insn->op != SPOT_COMPARE && insn->op != SPOT_DIFFER) ||
	    !held_from(line, insn->a, size, a))
		return false;
	*b = probe_line_address(line, insn);
	return insn->op == SPOT_COMPARE || held_from(line, insn->b, size, b);
}

/*
 * Two words that are compared: one of the code object's, and one of the thread state's or its interpreter's? *tstate:
 * where the thread state is when the line begins.
 */
static bool are_versions(const struct sites_search *search, const struct probe_line *line, struct probe_value code,
			 struct probe_value other, struct python_site *ret, struct python_place *tstate)
{
	uint8_t owner = other.node, thread;

	if (!is_code_of_frame(search, line, code) || other.node == PROBE_NOTHING || other.add < 0 ||
	    other.add >= TSTATE_NEAR)
		return false;
	*ret = (struct python_site){.again = true,
				    .code_offset = (uint16_t)code.add,
				    .interp_offset = PY_NO_OFFSET,
				    .version_offset = (uint16_t)other.add};
	if (probe_line_is_load(line, (struct probe_value){.node = owner}, search->layout->tstate_interp, &thread) &&
	    thread != line->base) {
		ret->interp_offset = search->layout->tstate_interp;
		owner = thread;
	}
	return probe_line_origin(line, owner, tstate);
}

bool python_sites_find_versions(struct sites_search *search, uint64_t handler)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct probe_line line;
	struct probe_value a, b;
	unsigned int i;

	python_sites_begin(search, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (compared(&line, insn, 8, &a, &b))
			return are_versions(search, &line, a, b, &search->versions, &search->tstate) ||
			       are_versions(search, &line, b, a, &search->versions, &search->tstate);
		if (probe_line_step_reader(&line, search->elf, insn))
			continue;
		if (insn->op == SPOT_CALL || insn->op == SPOT_BRANCH || insn->op == SPOT_INDIRECT ||
		    insn->op == SPOT_END)
			return false;
		probe_line_step(&line, insn);
	}
	return false;
}

bool python_sites_compares_versions(const struct sites_search *search, const struct probe_line *line,
				    const struct spot_insn *insn)
{
	const struct python_site *versions = &search->versions;
	struct python_place tstate = {};
	struct python_site site = {};
	struct probe_value a, b;

	return compared(line, insn, 8, &a, &b) &&
	       (are_versions(search, line, a, b, &site, &tstate) || are_versions(search, line, b, a, &site, &tstate)) &&
	       site.code_offset == versions->code_offset && site.interp_offset == versions->interp_offset &&
	       site.version_offset == versions->version_offset && python_same_place(&tstate, &search->tstate);
}

bool python_sites_find_copy(struct sites_search *search, uint64_t handler)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct python_place place;
	struct probe_line line;
	struct probe_value frame, thread;
	unsigned int i;

	python_sites_begin(search, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (compared(&line, insn, 4, &thread, &frame)) {
			if (thread.node == search->frame) {
				struct probe_value other = frame;

				frame = thread;
				thread = other;
			}
			search->versions.copy_offset = (uint16_t)thread.add;
			return frame.node == search->frame && frame.add == search->layout->frame_tlbc_index &&
			       thread.add > 0 && thread.add < PY_NO_OFFSET &&
			       probe_line_origin(&line, thread.node, &place) &&
			       python_same_place(&place, &search->tstate);
		}
		if (insn->op >= SPOT_CALL)
			return false;
		probe_line_step(&line, insn);
	}
	return false;
}

enum probe_writes python_sites_counts(const struct probe_line *line, const struct spot_insn *insn,
				      struct probe_value *at)
{
	struct probe_value value;
	int64_t add = insn->addend;

	if (insn->size != 4 || (insn->op != SPOT_ADD && insn->op != SPOT_STORE))
		return WRITES_NOT;
	*at = probe_line_address(line, insn);
	if (at->node == PROBE_NOTHING || at->node == line->base)
		return WRITES_NOT;
	if (insn->op == SPOT_STORE) {
		value = probe_line_register(line, insn->a);
		if (insn->a == SPOT_NONE)
			return WRITES_NOT;
		if (value.node < PROBE_NODE || value.node == PROBE_NOTHING ||
		    line->loads[value.node - PROBE_NODE].at.add != at->add)
			return WRITES_UNKNOWN;
		add = value.add;
	}
	return add == 1 ? WRITES_MORE : add < 0 ? WRITES_LESS : WRITES_UNKNOWN;
}

bool python_sites_find_recursion(struct sites_search *search, uint64_t handler)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler);
	struct probe_line line;
	struct probe_value at;
	struct python_place place;
	unsigned int i;

	python_sites_begin(search, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (python_sites_counts(&line, insn, &at) == WRITES_MORE && at.node != search->frame && at.add > 0 &&
		    at.add < TSTATE_NEAR && probe_line_origin(&line, at.node, &place) &&
		    (search->tstate.kind == PYTHON_NOWHERE || python_same_place(&place, &search->tstate))) {
			search->recursion = (uint16_t)at.add;
			search->tstate = place;
			return true;
		}
		if (insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			return false;
		probe_line_step(&line, insn);
	}
	return false;
}

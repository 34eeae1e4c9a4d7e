// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * 3.6 to 3.10: the loop's C function runs one frame. Behind the check of the recursion limit it writes tstate->frame =
 * f; at its end tstate->frame = f->f_back, whichever way it comes there. Sources: Python/ceval.c of v3.6.15 to
 * v3.10.13.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/python/probe_parts.h"

#define PATHS_MAX 64 /* branches between the function's beginning and its write of tstate->frame */
#define LINE_MAX  96

struct path {
	const struct spot_insn *insn;
	struct probe_line line;
};

typedef VEC(struct path) paths;

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
}

static bool known(const struct probe_line *line, uint8_t frame, uint8_t tstate, uint8_t flag, struct python_site *ret)
{
	ret->frame = probe_line_place(line, frame, false);
	ret->tstate = probe_line_place(line, tstate, false);
	ret->flag = flag == PROBE_NOTHING ? (struct python_place){} : probe_line_place(line, flag, true);
	return ret->frame.kind != PYTHON_NOWHERE && ret->tstate.kind != PYTHON_NOWHERE &&
	       (flag == PROBE_NOTHING || ret->flag.kind != PYTHON_NOWHERE);
}

/* The place of the breakpoint: at the write of tstate->frame, or behind it. False: what it needs is not known there. */
static bool place(const struct probe_code *code, const struct spot_insn *written, const struct probe_line *at,
		  uint8_t frame, uint8_t tstate, uint8_t flag, struct python_site *ret)
{
	const struct spot_insn *insn = written;
	struct probe_line line = *at;
	struct python_site here;
	unsigned int i;

	ret->handler = ret->vaddr = written->vaddr;
	ret->emulated = false;
	ret->recursion_offset = PY_NO_OFFSET;
	if (!known(&line, frame, tstate, flag, ret))
		return false;
	for (i = 0; insn && i < LINE_MAX && insn->op < SPOT_CALL && !insn->emulated; i++) {
		probe_line_step(&line, insn);
		insn = probe_code_next(code, insn);
		/* Others come here. */
		if (insn && probe_code_is_target(code, insn->vaddr))
			return true;
	}
	here = *ret;
	if (insn && insn->emulated && known(&line, frame, tstate, flag, &here)) {
		here.vaddr = insn->vaddr;
		here.emulated = true;
		*ret = here;
	}
	return true;
}

static int add(struct sites_search *search, const struct python_site *site)
{
	size_t i;

	for (i = 0; i < search->sites->at.count; i++)
		if (search->sites->at.at[i].vaddr == site->vaddr)
			return 0;
	return vec_push(&search->sites->at, *site);
}

/* One way from the function's beginning, as far as its write of tstate->frame; the branches it passes are other ways.
 */
static int follow(struct sites_search *search, struct path *path, paths *open, uint8_t *seen, size_t *taken)
{
	uint8_t frame = search->code.arch->arguments[search->minor >= 9];
	uint8_t flag = search->code.arch->arguments[search->minor >= 9 ? 2 : 1];
	const struct spot_insn *insn;

	for (insn = path->insn; insn && !seen[insn - search->code.insns.at];
	     insn = probe_code_next(&search->code, insn)) {
		seen[insn - search->code.insns.at] = 1;
		if (insn->op == SPOT_STORE && insn->size == 8) {
			struct probe_value at = probe_line_address(&path->line, insn);
			struct probe_value value = probe_line_register(&path->line, insn->a);
			struct python_site site = {.kind = PYTHON_SITE_CALL};

			if (value.node == frame && !value.add && !value.narrow && at.node != PROBE_NOTHING &&
			    at.node != search->code.arch->sp && at.node != frame &&
			    at.add == search->layout->tstate_frame) {
				if (!place(&search->code, insn, &path->line, frame, at.node, flag, &site))
					return -ENOENT;
				return add(search, &site);
			}
		}
		if (insn->op == SPOT_BRANCH && probe_code_at(&search->code, insn->target) && (*taken)++ < PATHS_MAX &&
		    vec_push(open, (struct path){probe_code_at(&search->code, insn->target), path->line}))
			return -ENOMEM;
		probe_line_step(&path->line, insn);
	}
	return 0;
}

static int find_calls(struct sites_search *search, struct diag *diag)
{
	uint8_t *seen = calloc(search->code.insns.count + 1, 1);
	size_t taken = 0;
	paths open = {};
	struct path path = {.insn = probe_code_at(&search->code, search->sites->entry)};
	int err = 0;

	probe_line_begin(search->code.arch, &path.line);
	if (!seen)
		return no_memory(diag);
	if (path.insn)
		err = vec_push(&open, path);
	while (!err && open.count) {
		path = open.at[--open.count];
		err = follow(search, &path, &open, seen, &taken);
	}
	vec_free(&open);
	free(seen);
	if (err == -ENOMEM)
		return no_memory(diag);
	return search->sites->at.count && !err
		       ? 0
		       : python_sites_refuse(search->elf, diag,
					     "where it writes tstate->frame at its beginning was "
					     "not found");
}

/*
 * Is this write tstate->frame = f->f_back? Where the frame's register is f_back's by then, the breakpoint is where the
 * block begins.
 */
static bool is_leave(const struct sites_search *search, const struct spot_insn *written, struct python_site *ret)
{
	const struct spot_insn *first = probe_code_block(&search->code, written), *insn;
	struct probe_line line;
	struct probe_value at;
	uint8_t frame;

	probe_line_begin(search->code.arch, &line);
	for (insn = first; insn && insn != written; insn = probe_code_next(&search->code, insn))
		probe_line_step(&line, insn);
	if (!insn)
		return false;
	at = probe_line_address(&line, insn);
	*ret = (struct python_site){.kind = PYTHON_SITE_LEAVE};
	if (at.node == PROBE_NOTHING || at.node == search->code.arch->sp ||
	    !probe_line_is_load(&line, probe_line_register(&line, insn->a), search->layout->frame_back, &frame) ||
	    frame == PROBE_NOTHING || frame == at.node || frame == search->code.arch->sp)
		return false;
	if (place(&search->code, insn, &line, frame, at.node, PROBE_NOTHING, ret))
		return true;
	if (frame >= SPOT_REGISTERS || at.node >= SPOT_REGISTERS)
		return false;
	ret->frame = (struct python_place){.kind = PYTHON_IN_REGISTER, .reg = frame};
	ret->tstate = (struct python_place){.kind = PYTHON_IN_REGISTER, .reg = at.node};
	ret->handler = ret->vaddr = first->vaddr;
	return true;
}

int python_sites_find_old(struct sites_search *search, struct diag *diag)
{
	struct python_site site;
	size_t before, i;
	int err = find_calls(search, diag);

	before = search->sites->at.count;
	for (i = 0; i < search->code.insns.count && !err; i++) {
		const struct spot_insn *insn = &search->code.insns.at[i];

		if (insn->op == SPOT_STORE && insn->size == 8 && insn->imm == search->layout->tstate_frame &&
		    insn->a != SPOT_NONE && is_leave(search, insn, &site))
			err = add(search, &site);
	}
	if (err)
		return err == -ENOMEM ? no_memory(diag) : err;
	if (search->sites->at.count == before)
		return python_sites_refuse(search->elf, diag, "where it writes tstate->frame at its end was not found");
	return python_sites_find_lines_old(search) ? no_memory(diag) : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* 3.11 and later; what is common to all. */
#include "runtime/python/probe_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/plt.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/probe_parts.h"

#define LOOP_NAME   "_PyEval_EvalFrameDefault"
#define LINE_MAX    96  /* instructions of one straight line */

/* Opcodes of one minor version. */
struct opcode {
	uint8_t minor, opcode, kind;
	const char *name;
};

static const struct opcode opcodes[] = {
#define OPCODE(minor, name, opcode, kind) {minor, opcode, kind, #name},
#include "runtime/python/probe_opcodes.def"
#undef OPCODE
};

#define OPCODE_COUNT (sizeof(opcodes) / sizeof(opcodes[0]))

int python_sites_refuse(const struct elf_file *elf, struct diag *diag, const char *why)
{
	return diag_fail(diag, ENOTSUP, "python.probes", "%s: %s", elf_file_path(elf), why);
}

/* --- handlers --- */

bool python_sites_describe(const struct sites_search *search, const struct probe_line *line, bool stored,
			   int64_t behind, struct python_site *ret)
{
	ret->frame = probe_line_place(line, search->frame, false);
	ret->instruction = probe_line_place(line, search->instruction, false);
	if (ret->instruction.kind == PYTHON_NOWHERE)
		ret->instruction.add = (int32_t)-behind;
	return ret->frame.kind != PYTHON_NOWHERE && (ret->instruction.kind != PYTHON_NOWHERE || stored);
}

/* The node of the thread state, where the line has it. */
static struct python_place tstate_place(const struct sites_search *search, struct probe_line *line)
{
	uint8_t i;

	if (search->tstate.kind == PYTHON_IN_REGISTER)
		return probe_line_place(line, search->tstate.reg, false);
	if (search->tstate.kind != PYTHON_ON_STACK || line->registers[line->base].node != line->base)
		return (struct python_place){};
	/* A local variable of the loop, which does not move. */
	for (i = 0; i < line->slot_count; i++)
		if (line->slots[i].at == search->tstate.add)
			return (struct python_place){};
	return (struct python_place){.kind = PYTHON_ON_STACK,
				     .reg = line->base,
				     .add = (int32_t)(search->tstate.add - line->registers[line->base].add)};
}

/* The place of the breakpoint of a handler's line. */
static int place_handler(const struct sites_search *search, uint64_t handler, struct python_site *ret)
{
	const struct spot_insn *insn = probe_code_at(&search->code, handler), *first = insn;
	bool stored = false, compared = false;
	int64_t behind = 0;
	struct probe_line line;
	unsigned int i;

	if (!insn)
		return -ENOENT;
	ret->handler = handler;
	python_sites_begin(search, &line);
	for (i = 0; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		struct probe_value at, value;

		ret->tstate = tstate_place(search, &line);
		if (insn->emulated && python_sites_describe(search, &line, stored, behind, ret) &&
		    (!ret->again || ret->tstate.kind != PYTHON_NOWHERE)) {
			ret->vaddr = insn->vaddr;
			ret->emulated = true;
			ret->is_compared = compared && insn->op == SPOT_BRANCH &&
					   !probe_code_is_target(&search->code, insn->vaddr);
			return 0;
		}
		if (insn->op == SPOT_CALL || insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH ||
		    insn->op == SPOT_INDIRECT || insn->op == SPOT_END)
			break;
		/* Another thread's copy of the bytecode is told by the flags of another comparison. */
		compared = ret->again && ret->copy_offset == PY_NO_OFFSET &&
			   python_sites_compares_versions(search, &line, insn);
		at = probe_line_address(&line, insn);
		value = probe_line_register(&line, insn->a);
		if (insn->op == SPOT_STORE && at.node == search->frame && at.add == search->layout->frame_lasti) {
			stored = insn->size == 8 && value.node == search->instruction && !value.narrow;
			behind = value.add;
		}
		probe_line_step(&line, insn);
	}
	python_sites_begin(search, &line);
	python_sites_describe(search, &line, false, 0, ret);
	ret->vaddr = first->vaddr;
	ret->emulated = false;
	ret->tstate = tstate_place(search, &line);
	return 0;
}

static bool accept(struct python_site *site, uint8_t opcode)
{
	size_t i;

	for (i = 0; i < site->opcode_count && site->opcodes[i] != opcode; i++)
		;
	if (i == PYTHON_SITE_OPCODES)
		return false;
	site->opcodes[i] = opcode;
	site->opcode_count += i == site->opcode_count;
	return true;
}

/* Do other ways than the handler's own lead to the breakpoint? */
static bool is_shared(const struct sites_search *search, const struct python_site *site)
{
	const struct spot_insn *insn = probe_code_at(&search->code, site->handler);

	while (insn && insn->vaddr != site->vaddr) {
		insn++;
		if (probe_code_is_target(&search->code, insn->vaddr))
			return true;
	}
	return false;
}

/* The opcodes in memory with which a handler is executed. */
static bool accept_all(const struct sites_search *search, const struct opcode *opcode, struct python_site *site)
{
	bool any = opcode->kind == PYTHON_SITE_RESUME ? strncmp(opcode->name, "RESUME_", 7) != 0
						      : !is_shared(search, site);
	size_t i;

	if (!accept(site, opcode->opcode))
		return false;
	for (i = 0; i < OPCODE_COUNT; i++)
		if (opcodes[i].minor == search->minor &&
		    ((any && opcodes[i].kind == PYTHON_SITE_ANY) ||
		     (search->minor == 11 && opcode->kind == PYTHON_SITE_RESUME &&
		      opcodes[i].kind == PYTHON_SITE_RESUME)) &&
		    !accept(site, opcodes[i].opcode))
			return false;
	return true;
}

static int add_opcode(struct sites_search *search, const struct python_site *site, const struct opcode *opcode)
{
	struct python_sites *sites = search->sites;
	size_t i;

	for (i = 0; i < sites->at.count && sites->at.at[i].vaddr != site->vaddr; i++)
		;
	if (i == sites->at.count && vec_push(&sites->at, *site))
		return -ENOMEM;
	return sites->at.at[i].kind == site->kind && accept_all(search, opcode, &sites->at.at[i]) ? 0 : -EEXIST;
}

static const struct opcode *find_opcode(uint8_t minor, const char *name)
{
	size_t i;

	for (i = 0; i < OPCODE_COUNT; i++)
		if (opcodes[i].minor == minor && !strcmp(opcodes[i].name, name))
			return &opcodes[i];
	return NULL;
}

static int add_handlers(struct sites_search *search, struct diag *diag)
{
	size_t i;
	int err;

	for (i = 0; i < OPCODE_COUNT; i++) {
		struct python_site site = search->versions;

		if (opcodes[i].minor != search->minor || opcodes[i].kind == PYTHON_SITE_ANY ||
		    opcodes[i].kind == PYTHON_SITE_JIT || opcodes[i].kind == PYTHON_SITE_NONE || i == search->left_out)
			continue;
		/* RESUME_CHECK goes on in RESUME's code then. */
		site.again = search->versions.again && opcodes[i].kind == PYTHON_SITE_RESUME;
		site.kind = opcodes[i].kind;
		site.recursion_offset = PY_NO_OFFSET;
		err = place_handler(search, search->handlers[opcodes[i].opcode], &site);
		if (!err && site.again && site.tstate.kind == PYTHON_NOWHERE)
			return python_sites_refuse(search->elf, diag,
						   "where RESUME has the thread state was not found");
		if (!err)
			err = add_opcode(search, &site, &opcodes[i]);
		if (err == -ENOMEM)
			return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
		if (err)
			return python_sites_refuse(
				search->elf, diag,
				"other instructions run into the code of those by which functions end");
	}
	return 0;
}

/*
 * 3.11: RESUME goes on in RESUME_QUICK's handler, and may have made itself one meanwhile. If it always does, it needs
 * no place of its own.
 */
static int join_resume(struct sites_search *search, struct diag *diag)
{
	const struct opcode *resume = find_opcode(search->minor, "RESUME");
	const struct opcode *quick = find_opcode(search->minor, "RESUME_QUICK");
	const struct spot_insn *insn;
	struct python_site site = {};
	uint8_t *reached;
	bool leaves, meets;
	size_t at;

	search->left_out = SIZE_MAX;
	if (!quick)
		return 0;
	insn = probe_code_at(&search->code, search->handlers[resume->opcode]);
	if (!insn || place_handler(search, search->handlers[quick->opcode], &site))
		return python_sites_refuse(search->elf, diag, "RESUME has no code in the loop");
	reached = probe_code_reach(&search->code, insn, &site.vaddr, 1, false, &leaves);
	if (!reached)
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	for (at = 0; at < search->code.insns.count && search->code.insns.at[at].vaddr != site.vaddr; at++)
		;
	/* It comes there by the instruction before, or by a jump. */
	meets = at && reached[at - 1];
	for (at = 0; at < search->code.insns.count && !meets; at++)
		meets = reached[at] && search->code.insns.at[at].target == site.vaddr;
	free(reached);
	if (meets && leaves)
		return python_sites_refuse(search->elf, diag, "RESUME goes on in RESUME_QUICK's code only sometimes");
	if (meets)
		search->left_out = (size_t)(resume - opcodes);
	return 0;
}

/* --- the loop's C function --- */

static int find_entry(struct sites_search *search, struct diag *diag)
{
	uint64_t vaddr, size;
	size_t i;

	if (python_find_exported(search->elf, LOOP_NAME, &vaddr, &size) && python_sites_in_loop(search, vaddr)) {
		search->sites->entry = vaddr;
		return 0;
	}
	for (i = 0; i < search->range_count; i++) {
		if (search->ranges[i].cold || search->ranges[i].handler)
			continue;
		if (search->sites->entry)
			return python_sites_refuse(search->elf, diag, "where its loop begins is not known");
		search->sites->entry = search->ranges[i].start;
	}
	return search->sites->entry ? 0 : python_sites_refuse(search->elf, diag, "where its loop begins is not known");
}

/* The frame and `throwflag` come as arguments. */
static int add_throw(struct sites_search *search, struct diag *diag)
{
	const struct spot_insn *insn = probe_code_at(&search->code, search->sites->entry), *first = insn;
	struct python_site site = {.kind = PYTHON_SITE_THROW, .handler = search->sites->entry};
	struct probe_line line;
	unsigned int i;

	probe_line_begin(search->code.arch, &line);
	for (i = 0; insn && i < LINE_MAX && !insn->emulated; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn->op >= SPOT_CALL)
			break;
		probe_line_step(&line, insn);
	}
	if (!insn || !insn->emulated) {
		insn = first;
		probe_line_begin(search->code.arch, &line);
	}
	if (!insn)
		return python_sites_refuse(search->elf, diag, "where its loop begins is not known");
	site.vaddr = insn->vaddr;
	site.emulated = insn->emulated;
	site.recursion_offset = PY_NO_OFFSET;
	site.frame = probe_line_place(&line, search->code.arch->arguments[1], false);
	site.flag = probe_line_place(&line, search->code.arch->arguments[2], true);
	if (site.frame.kind == PYTHON_NOWHERE || site.flag.kind == PYTHON_NOWHERE)
		return python_sites_refuse(search->elf, diag, "its loop does not begin as one does");
	if (vec_push(&search->sites->at, site))
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	return 0;
}

/* May this instruction do so? place_unwind() says it. */
static bool gives_back(const struct sites_search *search, const struct spot_insn *insn)
{
	return insn->size == 4 && (insn->op == SPOT_ADD || insn->op == SPOT_STORE) && insn->imm == search->recursion;
}

/* A block that gives a level of recursion back at `given`. -ENOENT: it is another one. */
static int place_unwind(const struct sites_search *search, const struct spot_insn *given, struct python_site *ret)
{
	const struct spot_insn *first = probe_code_block(&search->code, given), *insn;
	const int64_t offset = search->minor == 11 ? search->layout->frame_entry : search->layout->frame_back;
	const uint8_t size = search->minor == 11 ? 1 : 8;
	uint8_t frame = PROBE_NOTHING, tstate = PROBE_NOTHING;
	struct python_place place, frame_at = {};
	struct probe_line line;
	struct probe_value at;
	enum probe_writes writes;
	unsigned int i;

	/* Which frame it leaves: the one whose f->previous it takes; 3.11 asks for is_entry first. */
	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	for (i = 0, insn = first; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn == given) {
			/* Its new value may come from the blocks before, as one of several. */
			writes = python_sites_counts(&line, insn, &at);
			if (writes != WRITES_MORE && writes != WRITES_UNKNOWN)
				return -ENOENT;
			tstate = at.node;
		}
		if ((insn->op == SPOT_LOAD || insn->op == SPOT_COMPARE) && insn->size == size &&
		    frame == PROBE_NOTHING) {
			at = probe_line_address(&line, insn);
			if (at.node != line.base && at.add == offset && probe_line_origin(&line, at.node, &place) &&
			    (place.kind == PYTHON_IN_REGISTER || python_same_place(&place, &search->frame_at))) {
				frame = at.node;
				frame_at = place;
			}
		}
		if (insn->op >= SPOT_CALL)
			break;
		probe_line_step(&line, insn);
	}
	if (tstate == PROBE_NOTHING || frame == PROBE_NOTHING || frame == tstate)
		return -ENOENT;
	*ret = (struct python_site){.kind = PYTHON_SITE_UNWIND,
				    .handler = first->vaddr,
				    .recursion_offset = search->recursion,
				    .vaddr = first->vaddr};
	probe_line_begin(search->code.arch, &line);
	line.base = search->code.base;
	frame = probe_line_known(&line, &frame_at).node;
	ret->frame = probe_line_place(&line, frame, false);
	ret->tstate = tstate_place(search, &line);
	for (i = 0, insn = first; insn && i < LINE_MAX; i++, insn = probe_code_next(&search->code, insn)) {
		if (insn->emulated && probe_line_place(&line, frame, false).kind != PYTHON_NOWHERE) {
			ret->frame = probe_line_place(&line, frame, false);
			ret->tstate = tstate_place(search, &line);
			ret->vaddr = insn->vaddr;
			ret->emulated = true;
			ret->after = insn > given;
			break;
		}
		if (insn->op >= SPOT_CALL)
			break;
		probe_line_step(&line, insn);
	}
	return 0;
}

/* Marks what can be reached from the code of the instructions that give a level of recursion back. */
static int mark_ends(const struct sites_search *search, uint8_t *ret)
{
	const struct spot_insn *insn;
	uint8_t *reached;
	size_t i, j;
	bool leaves;

	for (i = 0; i < OPCODE_COUNT; i++) {
		if (opcodes[i].minor != search->minor ||
		    (opcodes[i].kind != PYTHON_SITE_RETURN && opcodes[i].kind != PYTHON_SITE_YIELD &&
		     opcodes[i].kind != PYTHON_SITE_NONE))
			continue;
		insn = probe_code_at(&search->code, search->handlers[opcodes[i].opcode]);
		reached = probe_code_reach(&search->code, insn, NULL, 0, false, &leaves);
		if (!reached)
			return -ENOMEM;
		for (j = 0; j < search->code.insns.count; j++)
			ret[j] |= reached[j];
		free(reached);
	}
	return 0;
}

static bool is_jump(const struct spot_insn *insn)
{
	return insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH;
}

/*
 * A loop of functions that call each other last. Are all of its functions known, and is it known what each place does
 * that gives a level of recursion back? NULL, or why not.
 */
static const char *check_functions(const struct sites_search *search, const uint8_t *reached, const uint8_t *ends)
{
	struct python_site site;
	size_t i;

	for (i = 0; i < search->code.insns.count; i++) {
		const struct spot_insn *insn = &search->code.insns.at[i];

		if (is_jump(insn) && !python_sites_in_loop(search, insn->target))
			return "its functions go on in one that is not known (tail calls)";
		if (!reached[i] && !ends[i] && gives_back(search, insn) && !place_unwind(search, insn, &site))
			return "other instructions end functions than those that should (tail calls)";
	}
	return NULL;
}

/* From 3.14 on the loop may be functions, one for each instruction, which call each other last (clang). */
static bool is_of_functions(const struct sites_search *search)
{
	size_t i;

	for (i = 0; i < search->range_count && !search->ranges[i].handler;)
		i++;
	return i < search->range_count;
}

static int add_unwinds(struct sites_search *search, struct diag *diag)
{
	const struct spot_insn *entry = probe_code_at(&search->code, search->sites->entry);
	const bool of_functions = is_of_functions(search);
	uint8_t *ends = calloc(search->code.insns.count + 1, 1), *reached = NULL;
	const char *why = NULL;
	struct python_site site;
	size_t found = 0, i, j;
	bool leaves;
	int err = ends ? 0 : -ENOMEM;

	if (!entry) {
		free(ends);
		return python_sites_refuse(search->elf, diag, "where its loop begins is not known");
	}
	/* Its beginning calls the first of the functions. */
	reached = probe_code_reach(&search->code, entry, NULL, 0, of_functions, &leaves);
	if (!reached)
		err = -ENOMEM;
	if (!err && of_functions) {
		err = mark_ends(search, ends);
		if (!err)
			why = check_functions(search, reached, ends);
	}
	for (i = 0; i < search->code.insns.count && !err && !why; i++) {
		const struct spot_insn *insn = &search->code.insns.at[i];

		if (!reached[i] || !gives_back(search, insn) || place_unwind(search, insn, &site))
			continue;
		for (j = 0; j < search->sites->at.count && search->sites->at.at[j].vaddr != site.vaddr; j++)
			;
		if (j < search->sites->at.count)
			continue;
		err = vec_push(&search->sites->at, site);
		found++;
	}
	free(reached);
	free(ends);
	if (err)
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	if (why)
		return python_sites_refuse(search->elf, diag, why);
	return found ? 0 : python_sites_refuse(search->elf, diag, "where exceptions leave a function was not found");
}

static int add_jits(struct sites_search *search, struct diag *diag)
{
	size_t i;

	for (i = 0; i < OPCODE_COUNT; i++) {
		struct python_site site = {.kind = PYTHON_SITE_JIT, .recursion_offset = PY_NO_OFFSET};

		if (opcodes[i].minor != search->minor || opcodes[i].kind != PYTHON_SITE_JIT ||
		    place_handler(search, search->handlers[opcodes[i].opcode], &site) ||
		    site.frame.kind == PYTHON_NOWHERE)
			continue;
		accept(&site, opcodes[i].opcode);
		if (vec_push(&search->sites->jits, site))
			return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	}
	return 0;
}

static int find_new(struct sites_search *search, struct diag *diag)
{
	static const char *const returns[] = {"RETURN_VALUE", "RETURN_CONST", "YIELD_VALUE"};
	const struct opcode *check, *opcode;
	bool found = false;
	size_t i;
	int err = python_sites_find_table(search, diag);

	if (err)
		return err;
	if (search->minor >= 12) {
		check = find_opcode(search->minor, "RESUME_CHECK");
		if (!check)
			check = find_opcode(search->minor, "RESUME");
		if (!check || !python_sites_find_versions(search, search->handlers[check->opcode]))
			return python_sites_refuse(search->elf, diag,
						   "where RESUME compares what is instrumented was not found");
		search->versions.version_low = search->minor >= 13 ? 0xff : 0;
	}
	for (i = 0; i < sizeof(returns) / sizeof(returns[0]) && !found; i++) {
		opcode = find_opcode(search->minor, returns[i]);
		found = opcode && python_sites_find_recursion(search, search->handlers[opcode->opcode]);
	}
	if (!found)
		return python_sites_refuse(search->elf, diag,
					   "where RETURN_VALUE gives its level of recursion back was not found");
	/* PyThreadState: .., py_recursion_remaining, py_recursion_limit, [c_recursion_remaining,] recursion_headroom,
	 * tracing */
	search->versions.tracing_offset = (uint16_t)(search->recursion + (search->minor >= 14 ? 12 : 16));
	search->versions.copy_offset = PY_NO_OFFSET;
	if (search->layout->code_tlbc != PY_NO_OFFSET) {
		/* There other threads may instrument meanwhile, so it always asks. */
		search->versions.tracing_offset = PY_NO_OFFSET;
		opcode = find_opcode(search->minor, "RESUME");
		if (!opcode || !python_sites_find_copy(search, search->handlers[opcode->opcode]))
			return python_sites_refuse(
				search->elf, diag, "where RESUME asks for the thread's copy of the code was not found");
	}
	err = join_resume(search, diag);
	if (!err)
		err = add_handlers(search, diag);
	if (!err)
		err = add_jits(search, diag);
	if (!err)
		err = add_throw(search, diag);
	if (!err)
		err = add_unwinds(search, diag);
	if (!err && python_sites_find_lines(search))
		err = diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	return err;
}

/* --- exceptions --- */

struct stub_search {
	const char *name;
	uint64_t vaddr;
};

static int visit_stub(void *context, uint64_t vaddr, uint64_t size, const char *name)
{
	struct stub_search *stub = context;

	(void)size;
	if (strcmp(name, stub->name) != 0)
		return 0;
	stub->vaddr = vaddr;
	return 1;
}

static int add_raises(struct sites_search *search, struct diag *diag)
{
	struct stub_search stub = {.name = "PyTraceBack_Here"};
	struct python_site site = {.kind = PYTHON_SITE_RAISE, .recursion_offset = PY_NO_OFFSET};
	uint64_t vaddr = 0, size;
	size_t i;

	python_find_exported(search->elf, stub.name, &vaddr, &size);
	if (elf_plt_each(search->elf, visit_stub, &stub) == -ENOMEM)
		return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	/* From 3.11 on its argument, a frame object, has the frame at f_frame, behind f_back and ob_type. */
	site.frame = (struct python_place){.kind = search->minor >= 11 ? PYTHON_ON_STACK : PYTHON_IN_REGISTER,
					   .reg = search->code.arch->arguments[0],
					   .add = search->minor >= 11 ? search->layout->ob_type + 16 : 0};
	for (i = 0; i < search->code.insns.count; i++) {
		const struct spot_insn *insn = &search->code.insns.at[i];

		if (insn->op != SPOT_CALL || !insn->target || (insn->target != vaddr && insn->target != stub.vaddr))
			continue;
		site.vaddr = site.handler = insn->vaddr;
		site.emulated = insn->emulated;
		if (vec_push(&search->sites->raises, site))
			return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
	}
	return 0;
}

static int compare_sites(const void *a, const void *b)
{
	const struct python_site *left = a, *right = b;

	return left->vaddr < right->vaddr ? -1 : left->vaddr > right->vaddr;
}

int python_sites_find(const struct elf_file *elf, const struct python_interpreter *interpreter,
		      const struct python_range *ranges, size_t range_count, struct python_sites *ret,
		      struct diag *diag)
{
	struct python_sites sites = {};
	struct sites_search search = {.elf = elf,
				      .ranges = ranges,
				      .range_count = range_count,
				      .layout = &interpreter->layout,
				      .minor = interpreter->version & 0xff,
				      .sites = &sites};
	int err;

	if (interpreter->to_prove)
		return python_sites_refuse(elf, diag, "a version that is not known");
	if (interpreter->debug_build)
		return python_sites_refuse(elf, diag, "a debug build");
	err = probe_code_init(&search.code, elf, ranges, range_count, diag);
	if (err)
		return err;
	err = find_entry(&search, diag);
	if (!err)
		err = search.minor >= 11 ? find_new(&search, diag) : python_sites_find_old(&search, diag);
	if (!err)
		err = add_raises(&search, diag);
	if (!err)
		python_sites_find_frees(&search);
	probe_code_deinit(&search.code);
	if (err) {
		python_sites_deinit(&sites);
		return err;
	}
	qsort(sites.at.at, sites.at.count, sizeof(*sites.at.at), compare_sites);
	*ret = sites;
	return 0;
}

void python_sites_deinit(struct python_sites *sites)
{
	vec_free(&sites->at);
	vec_free(&sites->raises);
	vec_free(&sites->jits);
	vec_free(&sites->lines);
}

bool python_site_is_entry(const struct python_site *site)
{
	return site->kind == PYTHON_SITE_RESUME || site->kind == PYTHON_SITE_THROW || site->kind == PYTHON_SITE_CALL;
}

const char *python_site_name(const struct python_site *site)
{
	static const char *const names[] = {"resume", "throw", "return", "yield", "unwind",
					    "call",   "leave", "raise",  "jit",
					    "line",   "begin", "end",    "part",  "head",
					    "made",   "pop",    "jump",   "more",
					    "raises", "async", "joined", "traced", "yields", "frees"};

	return names[site->kind];
}

void python_place_describe(uint16_t machine, const struct python_place *place, char *ret, size_t size)
{
	const struct arch_register *reg = arch_register_numbered(arch_of(machine), place->reg);
	char add[16] = "";

	if (place->add)
		snprintf(add, sizeof(add), "%+d", place->add);
	if (place->kind == PYTHON_NOWHERE)
		snprintf(ret, size, "%s%s", *add ? "frame" : "", add);
	else
		snprintf(ret, size, place->kind == PYTHON_ON_STACK ? "[%s%s]" : "%s%s",
			 reg && reg->alias ? reg->alias
			 : reg             ? reg->name
					   : "?",
			 add);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/event_sites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "elf/notes.h"
#include "runtime/python/audit_sites.h"
#include "runtime/python/eval_search.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/probe_parts.h"
#include "unwind/unwind_table.h"

#define COLLECTING   "gc: collecting generation %d"
#define STRINGS_MAX  4
#define FUNCTION_MAX 0x10000 /* bytes */
#define LINE_MAX     96      /* instructions of one straight line */
#define QUESTIONS_MAX 4      /* branches that ask the same */
#define PARTS_MAX    4       /* of a function, besides its beginning */

static const struct {
	const char *name, *marker;
	uint8_t first, last; /* minor versions of 3 whose marker is right */
} events[PYTHON_EVENTS] = {
	[PYTHON_FUNCTION_ENTRY] = {"function-entry", "function__entry", 6, 10},
	[PYTHON_FUNCTION_RETURN] = {"function-return", "function__return", 6, 10},
	[PYTHON_LINE] = {"line", "line", 6, 11},
	[PYTHON_GC_START] = {"gc-start", "gc__start", 6, 255},
	[PYTHON_GC_DONE] = {"gc-done", "gc__done", 6, 255},
	[PYTHON_IMPORT_START] = {"import-start", "import__find__load__start", 7, 255},
	[PYTHON_IMPORT_DONE] = {"import-done", "import__find__load__done", 7, 255},
	[PYTHON_EXCEPTION] = {"exception", "", 255, 255},
	[PYTHON_AUDIT] = {"audit", "audit", 8, 255},
};

const char *python_event_name(enum python_event event)
{
	return events[event].name;
}

const char *python_event_marker(enum python_event event)
{
	return events[event].marker;
}

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
}

int python_event_markers(const struct elf_file *elf, const struct python_interpreter *interpreter,
			 enum python_event event, python_event_sites *ret, struct diag *diag)
{
	const uint8_t minor = interpreter->version & 0xff;
	bool back = minor >= 15 && event <= PYTHON_FUNCTION_RETURN; /* 3.15 has them again */
	struct elf_marker *markers;
	size_t count, i;
	int err = 0;

	if ((minor < events[event].first || minor > events[event].last) && !back)
		return 0;
	if (elf_file_markers(elf, &markers, &count))
		return no_memory(diag);
	for (i = 0; i < count && !err; i++)
		if (!strcmp(markers[i].provider, "python") && !strcmp(markers[i].name, events[event].marker))
			err = vec_push(ret, (struct python_event_site){.vaddr = markers[i].site,
								       .semaphore = markers[i].semaphore,
								       .arguments = markers[i].arguments});
	free(markers);
	return err ? no_memory(diag) : 0;
}

/* --- garbage collections --- */

/*
 * The branches that ask whether to print, of which a call comes by one at most, and where the number is that would be
 * printed. The compiler may have made several of one.
 */
struct question {
	uint64_t branches[QUESTIONS_MAX];
	size_t count;
	struct python_place generation;
};

/* The second argument of the call in this block, by what holds where it begins. */
static bool read_generation(const struct probe_code *code, const struct spot_insn *block, struct python_place *ret)
{
	const uint8_t reg = code->arch->arguments[1];
	const struct spot_insn *insn, *number = NULL;
	struct probe_value printed, *from;
	struct probe_line line;
	unsigned int i;

	probe_line_begin(code->arch, &line);
	for (i = 0, insn = block; insn && i < LINE_MAX && insn->op < SPOT_CALL;
	     i++, insn = probe_code_next(code, insn)) {
		if (insn->op == SPOT_NUMBER && insn->a == reg)
			number = insn;
		else if (insn->clobbers & 1u << reg || insn->a == reg)
			number = NULL;
		probe_line_step(&line, insn);
	}
	if (!insn || insn->op != SPOT_CALL)
		return false;
	printed = probe_line_register(&line, reg);
	if (number) {
		*ret = (struct python_place){.add = (int32_t)number->imm};
		return true;
	}
	if (printed.node == PROBE_NOTHING || printed.add)
		return false;
	*ret = (struct python_place){.kind = PYTHON_IN_REGISTER, .reg = printed.node};
	if (printed.node < SPOT_REGISTERS)
		return true;
	from = &line.loads[printed.node - PROBE_NODE].at;
	*ret = (struct python_place){.kind = PYTHON_ON_STACK, .reg = from->node, .add = (int32_t)from->add};
	return from->node < SPOT_REGISTERS;
}

/* Is another branch of the question reached behind one of it? 0: no; -ENOENT: yes. */
static int check_once(const struct probe_code *code, const struct question *question)
{
	size_t i, j;
	int err = 0;

	for (i = 0; i < question->count && !err; i++) {
		const struct spot_insn *branch = probe_code_at(code, question->branches[i]);
		bool leaves;
		uint8_t *reached = probe_code_reach(code, branch, NULL, 0, false, &leaves);

		for (j = 0; reached && j < question->count; j++)
			if (j != i && reached[probe_code_at(code, question->branches[j]) - code->insns.at])
				err = -ENOENT;
		err = reached ? err : -ENOMEM;
		free(reached);
	}
	return err;
}

/* The only ways into the block that mentions the string are branches. -ENOENT: they are not. */
static int find_question(const struct probe_code *code, const struct spot_insn *entry, const struct spot_insn *block,
			 struct question *ret)
{
	bool leaves;
	uint8_t *reached = probe_code_reach(code, entry, NULL, 0, false, &leaves);
	bool others = false;
	size_t i;

	if (!reached)
		return -ENOMEM;
	ret->count = 0;
	for (i = 0; i < code->insns.count; i++) {
		const struct spot_insn *insn = &code->insns.at[i];

		if (!reached[i] ||
		    ((insn->op != SPOT_BRANCH || insn->target != block->vaddr) && probe_code_next(code, insn) != block))
			continue;
		/* A branch that jumps over a jump. */
		if (i && insn->op == SPOT_JUMP && !probe_code_is_target(code, insn->vaddr) &&
		    probe_code_next(code, insn - 1) == insn)
			insn--;
		others |= insn->op != SPOT_BRANCH || ret->count == QUESTIONS_MAX;
		if (!others)
			ret->branches[ret->count++] = insn->vaddr;
	}
	free(reached);
	if (others || !ret->count || !read_generation(code, block, &ret->generation))
		return -ENOENT;
	return check_once(code, ret);
}

struct gc_search {
	const struct elf_file *elf;
	enum python_event event;
	uint64_t strings[STRINGS_MAX];
	size_t string_count;
	python_event_sites *ret;
	struct diag *diag;
};

static int refuse(const struct gc_search *search, const char *why)
{
	return python_sites_refuse(search->elf, search->diag, why);
}

/* Where a value is at the beginning of the line: in a register, or at one plus a number. */
static bool place_at_beginning(const struct probe_line *line, struct probe_value value, struct python_place *ret)
{
	const struct probe_value *at;

	if (value.node == PROBE_NOTHING || value.add || value.narrow)
		return false;
	*ret = (struct python_place){.kind = PYTHON_IN_REGISTER, .reg = value.node};
	if (value.node < SPOT_REGISTERS)
		return true;
	if (line->loads[value.node - PROBE_NODE].size != 8)
		return false;
	at = &line->loads[value.node - PROBE_NODE].at;
	*ret = (struct python_place){.kind = PYTHON_ON_STACK, .reg = at->node, .add = (int32_t)at->add};
	return at->node < SPOT_REGISTERS;
}

/* A sum along a line: the node that stands for it, and its parts. */
struct total {
	uint8_t node;
	struct probe_value parts[2];
};

/* The instruction is a sum: a node that nothing else has is put into its register. */
static void step_total(struct probe_line *line, const struct spot_insn *insn, struct total *total)
{
	struct probe_value parts[2] = {probe_line_register(line, insn->c == SPOT_NONE ? insn->a : insn->b),
				       probe_line_register(line, insn->c)};
	struct spot_insn load = {
		.op = SPOT_LOAD, .a = insn->a, .b = insn->b, .imm = insn->imm, .size = 8, .vaddr = insn->vaddr};

	if (insn->c == SPOT_NONE) {
		probe_line_step(line, &load);
		parts[1] = probe_line_register(line, insn->a);
	}
	probe_line_step(line, insn);
	if (total->node || line->load_count == PROBE_LOADS)
		return;
	*total = (struct total){.node = PROBE_NODE + line->load_count, .parts = {parts[0], parts[1]}};
	line->loads[line->load_count++] = (struct probe_load){.at = {.node = PROBE_NOTHING}};
	line->registers[insn->a] = (struct probe_value){.node = total->node};
}

/* What the function will return, as it is at an instruction from which a straight line leads to a return. */
static bool read_result(const struct probe_code *code, const struct spot_insn *from, struct python_event_site *ret)
{
	const struct spot_insn *insn;
	struct total total = {};
	struct probe_value result;
	struct probe_line line;
	unsigned int i;

	probe_line_begin(code->arch, &line);
	for (i = 0, insn = from; insn && i < LINE_MAX && insn->op != SPOT_END && insn->op != SPOT_BRANCH;
	     i++, insn = probe_code_next(code, insn)) {
		if (insn->op == SPOT_SUM)
			step_total(&line, insn, &total);
		else
			probe_line_step(&line, insn);
	}
	result = probe_line_register(&line, code->arch->result);
	if (!insn || !insn->returns)
		return false;
	ret->more = (struct python_place){};
	if (!total.node || result.node != total.node)
		return place_at_beginning(&line, result, &ret->value);
	return !result.add && !result.narrow && place_at_beginning(&line, total.parts[0], &ret->value) &&
	       place_at_beginning(&line, total.parts[1], &ret->more);
}

/* Which instructions are reached by way of the question, and which by another way. */
struct reached {
	uint8_t *behind, *before;
};

/*
 * The end of a collection: a return that is only reached by way of the question, or the last instruction before what
 * other calls reach, too. -ENOENT: it is neither.
 */
static int read_end(const struct probe_code *code, const struct reached *reached, size_t i,
		    struct python_event_site *ret)
{
	const struct spot_insn *insn = &code->insns.at[i], *first = code->insns.at;
	const struct spot_insn *next = probe_code_next(code, insn), *other;
	bool joins, leaves;

	if (!reached->behind[i] || reached->before[i])
		return -ENOENT;
	*ret = (struct python_event_site){.vaddr = insn->vaddr,
					  .value = {.kind = PYTHON_IN_REGISTER, .reg = code->arch->result}};
	if (insn->op == SPOT_END)
		return insn->returns ? 0 : -ENOENT;
	if (insn->op == SPOT_JUMP && !next)
		return -ENOTSUP;
	joins = next && reached->before[next - first];
	leaves = next && !joins;
	if (insn->op == SPOT_BRANCH) {
		other = probe_code_at(code, insn->target);
		leaves |= !other || !reached->before[other - first];
		joins |= other && reached->before[other - first];
	}
	if (!joins)
		return -ENOENT;
	return !leaves && insn->op != SPOT_BRANCH && read_result(code, insn, ret) ? 0 : -ENOTSUP;
}

/* Adds what is reached from an instruction to what is reached already. */
static int reach_more(const struct probe_code *code, const struct spot_insn *from, uint8_t *reached)
{
	bool leaves;
	uint8_t *more = probe_code_reach(code, from, NULL, 0, false, &leaves);
	size_t i;

	for (i = 0; more && i < code->insns.count; i++)
		reached[i] |= more[i];
	free(more);
	return more ? 0 : -ENOMEM;
}

static int add_ends(const struct gc_search *search, const struct probe_code *code, uint64_t entry,
		    const struct question *question)
{
	bool leaves;
	struct reached reached = {.behind = calloc(code->insns.count + 1, 1),
				  .before = probe_code_reach(code, probe_code_at(code, entry), question->branches,
							     question->count, false, &leaves)};
	int err = reached.behind && reached.before ? 0 : -ENOMEM;
	struct python_event_site site;
	size_t i, found = 0;

	for (i = 0; i < question->count && !err; i++)
		err = reach_more(code, probe_code_at(code, question->branches[i]), reached.behind);
	for (i = 0; i < code->insns.count && !err; i++) {
		err = read_end(code, &reached, i, &site);
		if (!err) {
			found++;
			err = vec_push(search->ret, site);
		} else if (err == -ENOENT) {
			err = 0;
		}
	}
	free(reached.behind);
	free(reached.before);
	if (err == -ENOTSUP)
		return refuse(search, "calls that find a collection under way return where others do");
	if (err)
		return no_memory(search->diag);
	return found ? 0 : refuse(search, "where a garbage collection ends was not found");
}

static bool leads_into(const struct spot_insn *insn, const struct python_range *range)
{
	return (insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH) && insn->target >= range->start &&
	       insn->target < range->end;
}

/* Is this a part of the function `of`: does it jump back, and not to its beginning? Negative: an error. */
static int is_part(const struct gc_search *search, const struct python_range *range, const struct python_range *of)
{
	struct probe_code code;
	int err = probe_code_init(&code, search->elf, range, 1, search->diag);
	size_t i;
	int ret = 0;

	if (err)
		return err;
	for (i = 0; i < code.insns.count; i++)
		ret |= leads_into(&code.insns.at[i], of) && code.insns.at[i].target != of->start;
	probe_code_deinit(&code);
	return ret;
}

/* The function that begins there, with all its parts. */
static int read_whole(const struct gc_search *search, const struct probe_code *known, uint64_t entry,
		      struct probe_code *ret)
{
	struct python_range ranges[PARTS_MAX + 1] = {}, part;
	size_t count = 1, i, j;
	int is;

	if (!unwind_find_fde(search->elf, entry, &ranges[0].start, &ranges[0].end))
		return refuse(search, "the function that collects garbage was not found");
	for (i = 0; i < known->insns.count; i++) {
		const struct spot_insn *insn = &known->insns.at[i];

		if ((insn->op != SPOT_JUMP && insn->op != SPOT_BRANCH) ||
		    !unwind_find_fde(search->elf, insn->target, &part.start, &part.end) ||
		    part.end - part.start > FUNCTION_MAX)
			continue;
		for (j = 0; j < count && !leads_into(insn, &ranges[j]); j++)
			;
		is = j < count ? 0 : is_part(search, &part, &ranges[0]);
		if (is < 0)
			return is;
		if (is && count > PARTS_MAX)
			return refuse(search, "the function that collects garbage is in too many parts");
		if (is)
			ranges[count++] = (struct python_range){.start = part.start, .end = part.end};
	}
	return probe_code_init(ret, search->elf, ranges, count, search->diag);
}

static int add_done(const struct gc_search *search, const struct probe_code *known, uint64_t entry,
		    const struct question *question)
{
	struct probe_code code;
	int err = read_whole(search, known, entry, &code);

	if (err)
		return err;
	err = add_ends(search, &code, entry, question);
	probe_code_deinit(&code);
	return err;
}

/* One place that mentions the string, in a function or in its cold part. */
static int add_collector(const struct gc_search *search, uint64_t place)
{
	struct python_range ranges[2] = {};
	const struct spot_insn *entry, *block = NULL;
	struct probe_code code = {};
	struct question question;
	size_t count = 1, i;
	int err;

	if (!unwind_find_fde(search->elf, place, &ranges[0].start, &ranges[0].end) ||
	    ranges[0].end - ranges[0].start > FUNCTION_MAX)
		return refuse(search, "the function that collects garbage was not found");
	for (;; count++) {
		err = probe_code_init(&code, search->elf, ranges, count, search->diag);
		if (err)
			return err;
		for (i = 0; i < code.insns.count; i++)
			if (place >= code.insns.at[i].vaddr && place < code.insns.at[i].vaddr + code.insns.at[i].length)
				block = probe_code_block(&code, &code.insns.at[i]);
		entry = probe_code_at(&code, ranges[count - 1].start);
		err = entry && block ? find_question(&code, entry, block, &question) : -ENOENT;
		if (err != -ENOENT || count == 2)
			break;
		/* A cold part jumps back. */
		for (i = 0; i < code.insns.count && !ranges[1].end; i++)
			if (code.insns.at[i].target &&
			    (code.insns.at[i].op == SPOT_JUMP || code.insns.at[i].op == SPOT_BRANCH) &&
			    (code.insns.at[i].target < ranges[0].start || code.insns.at[i].target >= ranges[0].end))
				unwind_find_fde(search->elf, code.insns.at[i].target, &ranges[1].start, &ranges[1].end);
		if (!ranges[1].end || ranges[1].end - ranges[1].start > FUNCTION_MAX)
			break;
		probe_code_deinit(&code);
		block = NULL;
	}
	if (err == -ENOMEM)
		err = no_memory(search->diag);
	else if (err)
		err = refuse(search, "where it asks whether to print that it collects garbage was not found");
	else if (search->event == PYTHON_GC_DONE)
		err = add_done(search, &code, entry->vaddr, &question);
	for (i = 0; search->event == PYTHON_GC_START && i < question.count && !err; i++)
		if (vec_push(search->ret, (struct python_event_site){.vaddr = question.branches[i],
								     .value = question.generation}))
			err = no_memory(search->diag);
	probe_code_deinit(&code);
	return err;
}

static bool is_string(void *context, uint64_t target)
{
	const struct gc_search *search = context;
	size_t i;

	for (i = 0; i < search->string_count; i++)
		if (search->strings[i] == target)
			return true;
	return false;
}

static void find_strings(struct gc_search *search)
{
	const struct elf_segment *segments;
	const uint8_t *bytes, *at;
	size_t count, i;

	segments = elf_file_segments(search->elf, &count);
	for (i = 0; i < count; i++) {
		bytes = elf_file_bytes_at(search->elf, segments[i].vaddr, segments[i].filesz);
		for (at = bytes; at && search->string_count < STRINGS_MAX; at += strlen(COLLECTING)) {
			at = memmem(at, segments[i].filesz - (size_t)(at - bytes), COLLECTING, strlen(COLLECTING));
			if (!at)
				break;
			search->strings[search->string_count++] = segments[i].vaddr + (uint64_t)(at - bytes);
		}
	}
}

static int find_collectors(struct gc_search *search)
{
	eval_addresses places = {};
	size_t i;
	int err;

	find_strings(search);
	err = eval_find_references(search->elf, is_string, search, &places);
	if (err)
		err = no_memory(search->diag);
	else if (!places.count)
		err = refuse(search, "no code prints \"" COLLECTING "\"");
	for (i = 0; i < places.count && !err; i++)
		err = add_collector(search, places.at[i]);
	vec_free(&places);
	return err;
}

int python_event_code(const struct elf_file *elf, const struct python_interpreter *interpreter, enum python_event event,
		      python_event_sites *ret, struct diag *diag)
{
	struct gc_search search = {.elf = elf, .event = event, .ret = ret, .diag = diag};
	size_t before = ret->count;
	int err;

	switch (event) {
	case PYTHON_GC_START:
	case PYTHON_GC_DONE:
		err = find_collectors(&search);
		if (err)
			ret->count = before;
		return err;
	case PYTHON_AUDIT:
		return python_audit_find(elf, interpreter, ret, diag);
	case PYTHON_LINE:
		return python_sites_refuse(
			elf, diag,
			"without a marker for lines (up to 3.11, if built --with-dtrace) they are told of 3.6 to 3.15 "
			"only; args.line of the other probes has them, and samples have");
	default:
		return python_sites_refuse(elf, diag, "it has no such marker");
	}
}

void python_event_describe(uint16_t machine, const struct python_event_site *site, char *ret, size_t size)
{
	char more[64];
	size_t used;

	if (site->value.kind == PYTHON_NOWHERE)
		snprintf(ret, size, "%d", site->value.add);
	else
		python_place_describe(machine, &site->value, ret, size);
	if (site->more.kind == PYTHON_NOWHERE)
		return;
	python_place_describe(machine, &site->more, more, sizeof(more));
	used = strlen(ret);
	snprintf(ret + used, size - used, " + %s", more);
}

int python_event_find(const struct elf_file *elf, const struct python_interpreter *interpreter,
		      const struct python_sites *loop, bool markers, enum python_event event, python_event_sites *ret,
		      enum python_source *source, struct diag *diag)
{
	bool of_functions = event == PYTHON_FUNCTION_ENTRY || event == PYTHON_FUNCTION_RETURN;
	bool of_imports = event == PYTHON_IMPORT_START || event == PYTHON_IMPORT_DONE;
	size_t before = ret->count;
	int err = 0;

	*source = PYTHON_SOURCE_NONE;
	if (of_functions && loop) {
		*source = PYTHON_SOURCE_LOOP;
		return 0;
	}
	if (markers)
		err = python_event_markers(elf, interpreter, event, ret, diag);
	if (!err && ret->count > before) {
		*source = PYTHON_SOURCE_MARKER;
	} else if (!err && event == PYTHON_LINE && loop && loop->lines.count) {
		*source = PYTHON_SOURCE_LOOP;
	} else if (!err && event == PYTHON_LINE && loop && loop->no_lines == PYTHON_LINES_OF_BUILD) {
		python_sites_refuse(elf, diag, "the code of its instructions is not as lines need it");
	} else if (!err && (of_functions || of_imports || event == PYTHON_EXCEPTION)) {
		if (loop && (of_imports || loop->raises.count))
			*source = PYTHON_SOURCE_LOOP;
		else if (loop)
			python_sites_refuse(elf, diag, "its loop has no call of PyTraceBack_Here()");
	} else if (!err) {
		err = python_event_code(elf, interpreter, event, ret, diag);
		*source = err ? PYTHON_SOURCE_NONE : PYTHON_SOURCE_CODE;
		if (err != -ENOMEM)
			err = 0;
	}
	return err;
}

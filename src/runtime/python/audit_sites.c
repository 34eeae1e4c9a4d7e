// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/audit_sites.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elf/elf_file.h"
#include "elf/plt.h"
#include "runtime/python/eval_search.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/probe_parts.h"
#include "unwind/unwind_table.h"

#define FUNCTION_MAX 0x10000 /* bytes */
#define BRANCHES_MAX 40      /* of one way */
#define NEAR         0x80    /* fields behind this offset have it in four bytes of an instruction */
#define OFFSET_BYTES 4
#define NAME_MAKERS  3 /* PyUnicode_FromString(), and stubs of it and of strlen() */

/* Where hooks are asked for. */
struct hooks {
	int64_t runtime; /* 3.9+: interp->runtime */
	int64_t head;    /* in _PyRuntime */
	int64_t interp;  /* audit_hooks, in the interpreter's state; 0: not known */
};

struct audit_search {
	const struct elf_file *elf;
	const struct py_layout *layout;
	struct diag *diag;
	struct hooks hooks;
	uint64_t makers[NAME_MAKERS]; /* what makes a string of a name, or begins with that; 0: not there */
	python_event_sites *ret;
	eval_addresses seen; /* beginnings of functions that were looked at */
	eval_addresses ways; /* where the copies jump to, outside of themselves */
	eval_addresses odd;  /* functions that walk through the hooks, and are not understood */
};

static int no_memory(struct diag *diag)
{
	return diag_fail(diag, ENOMEM, "python.memory", "%s", strerror(ENOMEM));
}

static bool is_in(const eval_addresses *list, uint64_t first, uint64_t end)
{
	size_t i;

	for (i = 0; i < list->count; i++)
		if (list->at[i] >= first && list->at[i] < end)
			return true;
	return false;
}

/* --- the beginning of a function --- */

/* One way through it. */
struct way {
	struct probe_line line;
	bool has_thread; /* the first argument is the thread state */
	bool has_head;   /* the head of the list was read */
	bool has_asked;  /* and the interpreter's hooks */
	unsigned int branches;
};

struct beginning {
	const struct probe_code *code;
	const struct audit_search *search;
	struct hooks hooks; /* found here */
	uint8_t *seen;      /* by instruction: a bit for each state of a way that came there */
	int64_t of_runtime; /* 3.8: the first of its fields that was read */
	bool asks;          /* a way comes by the whole question, with these offsets */
	bool is_copy, failed;
	uint8_t argument; /* of a copy: which argument is the event's name */
};

/* The load that a value is; NULL: it is none. */
static const struct probe_load *load_of(const struct way *way, struct probe_value value)
{
	return value.node >= PROBE_NODE && value.node - PROBE_NODE < way->line.load_count && !value.narrow
		       ? &way->line.loads[value.node - PROBE_NODE]
		       : NULL;
}

/* The interpreter's state: the word at (a thread state + tstate_interp). */
static bool is_interpreter(const struct beginning *of, const struct way *way, struct probe_value value)
{
	const struct probe_load *from = load_of(way, value);

	return from && from->size == 8 && from->at.add == of->search->layout->tstate_interp;
}

static bool is_old(const struct beginning *of)
{
	return of->search->layout->version < 0x309;
}

/*
 * Is this the head of the list? 3.8 has _PyRuntime's address from a table of addresses. The thread state is in it as
 * well as the head, and is read first.
 */
static bool is_head(struct beginning *of, const struct way *way, struct probe_value at)
{
	const struct probe_load *from = load_of(way, at);

	if (at.narrow || at.add < NEAR || (of->search->hooks.interp && at.add != of->search->hooks.head))
		return false;
	if (!is_old(of))
		return from && is_interpreter(of, way, (struct probe_value){.node = from->at.node});
	if (at.node != PROBE_NOTHING || of->search->hooks.interp)
		return at.node == PROBE_NOTHING;
	if (!of->of_runtime)
		of->of_runtime = at.add;
	return at.add != of->of_runtime;
}

/* What an instruction that reads eight bytes says about hooks. */
static void ask(struct beginning *of, struct way *way, const struct spot_insn *insn)
{
	struct probe_value at = probe_line_address(&way->line, insn);

	if (at.node == way->line.arch->arguments[0] && at.add == of->search->layout->tstate_interp)
		way->has_thread = true;
	if (!way->has_head && is_head(of, way, at)) {
		of->hooks.runtime = is_old(of) ? 0 : load_of(way, at)->at.add;
		of->hooks.head = at.add;
		way->has_head = true;
	} else if (way->has_head && at.add >= NEAR && at.add != of->hooks.runtime &&
		   is_interpreter(of, way, (struct probe_value){.node = at.node})) {
		if (!of->hooks.interp)
			of->hooks.interp = at.add;
		way->has_asked = true;
		of->asks |= at.add == of->hooks.interp;
	}
}

static bool is_new(struct beginning *of, const struct way *way, const struct spot_insn *insn)
{
	uint8_t *seen = &of->seen[insn - of->code->insns.at], bit = (uint8_t)(1 << (way->has_head + way->has_asked));
	bool ret = !(*seen & bit);

	*seen |= bit;
	return ret;
}

/* Is the function's own argument given on by this call, as the name: to make a string of it, or to a hook? */
static bool gives_name(const struct beginning *of, const struct way *way, const struct spot_insn *call)
{
	struct probe_value given = probe_line_register(&way->line, way->line.arch->arguments[0]);
	bool makes = !call->target;
	size_t i;

	for (i = 0; i < NAME_MAKERS; i++)
		makes |= call->target == of->search->makers[i];
	return makes && given.node == way->line.arch->arguments[of->argument] && !given.add;
}

/* Follows one way until the copy is recognised, or it ends. */
static void follow(struct beginning *of, struct way *way, const struct spot_insn *insn)
{
	while (insn && !of->is_copy && is_new(of, way, insn)) {
		if ((insn->op == SPOT_LOAD || insn->op == SPOT_COMPARE) && insn->size == 8)
			ask(of, way, insn);
		if (insn->op == SPOT_CALL && way->has_head && of->hooks.interp) {
			of->argument = way->has_thread ? 1 : 0;
			of->is_copy = gives_name(of, way, insn);
		}
		if (insn->op == SPOT_BRANCH && way->branches < BRANCHES_MAX) {
			struct way *other = malloc(sizeof(*other));

			of->failed |= !other;
			if (!other)
				return;
			*other = *way;
			other->branches = ++way->branches;
			follow(of, other, probe_code_next(of->code, insn));
			free(other);
		}
		probe_line_step(&way->line, insn);
		insn = insn->op == SPOT_JUMP || insn->op == SPOT_BRANCH ? probe_code_at(of->code, insn->target)
									: probe_code_next(of->code, insn);
	}
}

/* The function at the beginning of the code. */
static int read_beginning(const struct audit_search *search, const struct probe_code *code, struct beginning *ret)
{
	struct way *way = calloc(1, sizeof(*way));

	*ret = (struct beginning){
		.code = code, .search = search, .hooks = search->hooks, .seen = calloc(code->insns.count + 1, 1)};
	if (way && ret->seen) {
		probe_line_begin(code->arch, &way->line);
		follow(ret, way, code->insns.count ? &code->insns.at[0] : NULL);
	}
	ret->failed |= !way || !ret->seen;
	free(way);
	free(ret->seen);
	return ret->failed ? no_memory(search->diag) : 0;
}

/* --- all functions that ask --- */

/* Where the event's name is at the first instruction that the kernel emulates; or where the function begins. */
static int add_site(struct audit_search *search, const struct probe_code *code, uint8_t argument)
{
	const struct spot_insn *insn = &code->insns.at[0];
	const uint8_t reg = code->arch->arguments[argument];
	struct python_event_site site = {.vaddr = insn->vaddr};
	struct probe_line line;

	probe_line_begin(code->arch, &line);
	site.value = probe_line_place(&line, reg, false);
	for (; insn && insn->op < SPOT_CALL; insn = probe_code_next(code, insn)) {
		if (insn->emulated) {
			site.value = probe_line_place(&line, reg, false);
			site.vaddr = insn->vaddr;
			break;
		}
		probe_line_step(&line, insn);
	}
	if (insn && insn->op == SPOT_BRANCH && insn->emulated && site.vaddr != insn->vaddr) {
		site.value = probe_line_place(&line, reg, false);
		site.vaddr = insn->vaddr;
	}
	if (site.value.kind == PYTHON_NOWHERE)
		return python_sites_refuse(search->elf, search->diag,
					   "where the name of an audited event is was not found");
	return vec_push(search->ret, site) ? no_memory(search->diag) : 0;
}

/* What the code of a function says about the hooks. */
struct uses {
	bool interp; /* interp->audit_hooks is read */
	bool head;   /* the head of the list is, by way of interp->runtime */
	bool walks;  /* and put into a register */
};

static struct uses read_uses(const struct audit_search *search, const struct probe_code *code)
{
	const struct hooks *hooks = &search->hooks;
	struct uses ret = {};
	struct probe_line line;
	size_t i;

	for (i = 0; i < code->insns.count; i++) {
		const struct spot_insn *insn = &code->insns.at[i];
		struct probe_value at;
		uint8_t base;

		if (!i || probe_code_is_target(code, insn->vaddr))
			probe_line_begin(code->arch, &line);
		if ((insn->op == SPOT_LOAD || insn->op == SPOT_COMPARE) && insn->size == 8) {
			at = probe_line_address(&line, insn);
			ret.interp |= insn->imm == hooks->interp;
			if (at.add == hooks->head &&
			    (hooks->runtime ? probe_line_is_load(&line, (struct probe_value){.node = at.node},
								 hooks->runtime, &base)
					    : at.node == PROBE_NOTHING)) {
				ret.head = true;
				ret.walks |= insn->op == SPOT_LOAD;
			}
		}
		probe_line_step(&line, insn);
	}
	return ret;
}

static int add_function(struct audit_search *search, const struct python_range *range)
{
	struct beginning beginning;
	struct probe_code code;
	struct uses uses;
	size_t i;
	int err;

	if (is_in(&search->seen, range->start, range->start + 1))
		return 0;
	if (vec_push(&search->seen, range->start))
		return no_memory(search->diag);
	/* The interpreter loop audits nothing. */
	if (range->end - range->start > FUNCTION_MAX)
		return 0;
	err = probe_code_init(&code, search->elf, range, 1, search->diag);
	if (err)
		return err;
	uses = read_uses(search, &code);
	err = uses.interp && uses.head ? read_beginning(search, &code, &beginning) : -ENOENT;
	if (!err && beginning.is_copy) {
		err = add_site(search, &code, beginning.argument);
		for (i = 0; i < code.insns.count && !err; i++)
			if (code.insns.at[i].target && code.insns.at[i].op != SPOT_CALL &&
			    vec_push(&search->ways, code.insns.at[i].target))
				err = no_memory(search->diag);
	} else if (!err && uses.walks && beginning.asks &&
		   (vec_push(&search->odd, range->start) || vec_push(&search->odd, range->end))) {
		err = no_memory(search->diag);
	}
	probe_code_deinit(&code);
	return err == -ENOENT ? 0 : err;
}

/* Every function with the interpreter's offset in its bytes. */
static int add_functions(struct audit_search *search)
{
	const uint32_t offset = (uint32_t)search->hooks.interp;
	const struct elf_segment *segments;
	const uint8_t *bytes, *at;
	struct python_range range;
	size_t count, i, left;
	int err = 0;

	segments = elf_file_segments(search->elf, &count);
	for (i = 0; i < count && !err; i++) {
		bytes = (segments[i].flags & PF_X)
				? elf_file_bytes_at(search->elf, segments[i].vaddr, segments[i].filesz)
				: NULL;
		for (at = bytes; at && !err; at++) {
			left = segments[i].filesz - (size_t)(at - bytes);
			at = memmem(at, left, &offset, OFFSET_BYTES);
			if (!at)
				break;
			if (unwind_find_fde(search->elf, segments[i].vaddr + (uint64_t)(at - bytes), &range.start,
					    &range.end))
				err = add_function(search, &range);
		}
	}
	return err;
}

/* --- the first one --- */

/* What PySys_Audit() calls with its own arguments behind another one. 0: nothing. */
static uint64_t find_inner(const struct probe_code *code, const struct spot_insn *insn)
{
	struct probe_line line;

	probe_line_begin(code->arch, &line);
	for (; insn && insn->op != SPOT_INDIRECT && insn->op != SPOT_END; insn = probe_code_next(code, insn)) {
		if (insn->op == SPOT_CALL && insn->target &&
		    probe_line_register(&line, code->arch->arguments[1]).node == code->arch->arguments[0] &&
		    probe_line_register(&line, code->arch->arguments[2]).node == code->arch->arguments[1])
			return insn->target;
		if (insn->op == SPOT_JUMP)
			return 0;
		probe_line_step(&line, insn);
	}
	return 0;
}

/* Learns the offsets from this function, if it is a copy; *inner: what it calls instead. */
static int learn(struct audit_search *search, uint64_t vaddr, uint64_t *inner)
{
	struct python_range range = {};
	struct beginning beginning;
	struct probe_code code;
	int err;

	*inner = 0;
	if (!unwind_find_fde(search->elf, vaddr, &range.start, &range.end) || range.start != vaddr ||
	    range.end - range.start > FUNCTION_MAX)
		return 0;
	err = probe_code_init(&code, search->elf, &range, 1, search->diag);
	if (err)
		return err;
	err = read_beginning(search, &code, &beginning);
	if (!err && beginning.is_copy)
		search->hooks = beginning.hooks;
	else if (!err)
		*inner = find_inner(&code, probe_code_at(&code, vaddr));
	probe_code_deinit(&code);
	return err;
}

static int visit_stub(void *context, uint64_t vaddr, uint64_t size, const char *name)
{
	struct audit_search *search = context;

	(void)size;
	if (!strcmp(name, "PyUnicode_FromString"))
		search->makers[1] = vaddr;
	else if (!strcmp(name, "strlen"))
		search->makers[2] = vaddr;
	return 0;
}

static int find_copies(struct audit_search *search, uint64_t vaddr)
{
	uint64_t inner, size;
	size_t i;
	int err;

	python_find_exported(search->elf, "PyUnicode_FromString", &search->makers[0], &size);
	if (elf_plt_each(search->elf, visit_stub, search) == -ENOMEM)
		return no_memory(search->diag);
	err = learn(search, vaddr, &inner);
	if (!err && inner)
		err = learn(search, inner, &vaddr);
	if (err)
		return err;
	if (!search->hooks.interp)
		return python_sites_refuse(search->elf, search->diag,
					   "how its code for audits asks whether there are hooks was not found");
	err = add_functions(search);
	for (i = 0; i + 1 < search->odd.count && !err; i += 2)
		if (!is_in(&search->ways, search->odd.at[i], search->odd.at[i + 1]))
			err = python_sites_refuse(search->elf, search->diag,
						  "its code for audits has copies that are not understood");
	if (!err && !search->ret->count)
		err = python_sites_refuse(search->elf, search->diag, "the function that audits was not found");
	return err;
}

int python_audit_find(const struct elf_file *elf, const struct python_interpreter *interpreter, python_event_sites *ret,
		      struct diag *diag)
{
	struct audit_search search = {.elf = elf, .layout = &interpreter->layout, .diag = diag, .ret = ret};
	size_t before = ret->count;
	uint64_t vaddr, size;
	int err;

	if ((interpreter->version & 0xff) < 8)
		return python_sites_refuse(elf, diag, "it has no audits, which came with 3.8");
	if (!python_find_exported(elf, "PySys_Audit", &vaddr, &size))
		return python_sites_refuse(elf, diag, "PySys_Audit() was not found");
	err = find_copies(&search, vaddr);
	if (err)
		ret->count = before;
	vec_free(&search.seen);
	vec_free(&search.ways);
	vec_free(&search.odd);
	return err;
}

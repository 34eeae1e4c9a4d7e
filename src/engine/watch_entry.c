// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Generated code that is entered and left by jumps, and so has no frame of its own.
 *
 * LuaJIT's traces are such code. They run in the frame of the function in assembly by which C called the interpreter
 * (lj_vm_call() and its like), with SP moved down by what the trace spills. How far, the code of a trace does not tell:
 * what leaves it takes SP from the Lua state.
 *
 *      SP ──▶ │ spilled values   │
 *   frame ──▶ │ the entry frame  │ ◀── the state ◀── a word, found by a register
 *             │ return address   │                   that traces do not change
 *     CFA ──▶ │ lua_pcall() ...  │
 *
 * All of it is read from the code that a walk has met. Its exits (way_out_exits()) lead to code of a file that loads SP
 * (state_frame_find()), and behind that .eh_frame has the frame's rule. Then the whole window has one rule,
 * UNWIND_ENTERED, which the kernel part follows at the moment of the sample. A walk of a copy cannot follow it: by then
 * the state may name another frame. Where the kernel part cannot follow it, the word is looked for again: code of one
 * state may be replaced by that of another.
 */
#include "arch/arch.h"
#include "bpf/scratch.h"
#include "engine/watch_parts.h"
#include "unwind/state_frame.h"

#define WORD      8
#define EXITS_MAX 16
#define FRAME_MAX 4096 /* bytes of an entry frame; LuaJIT's has 80 */

/* The object of a file, and an address as its vaddr. NULL when it is no file's, or there are no rows. */
static struct object *object_of(struct code_then *then, uint64_t address, uint64_t *vaddr)
{
	const struct process_mapping *mapping = process_find_mapping(then->process, address, then->time);
	struct object *object = mapping ? objects_at(then->watch->objects, mapping->file->index) : NULL;

	return object && object->table == OBJECT_TABLE_READY && object_vaddr(object, mapping, address, vaddr) ? object
													     : NULL;
}

/* The rule of an address in a file. */
static struct unwind_rule rule_of(struct code_then *then, uint64_t address)
{
	const struct tables *tables = sampler_tables(then->watch->sampler);
	struct unwind_rule rule = {.kind = UNWIND_NO_RULE};
	uint64_t vaddr;
	struct object *object = object_of(then, address, &vaddr);

	if (!object)
		return rule;
	rule = tables_rule(tables, &object->run, vaddr);
	if (rule.kind != UNWIND_ABSENT)
		return rule;
	watch_fill(then->watch, object->run.page_first + (uint32_t)((vaddr - object->run.base) >> UNWIND_PAGE_SHIFT));
	return tables_rule(tables, &object->run, vaddr);
}

static size_t read_code(void *context, uint64_t address, uint8_t *ret, size_t size)
{
	return watch_read_some(context, address, ret, size);
}

static bool is_known(void *context, uint64_t address, struct unwind_rule *ret)
{
	(void)context, (void)address, (void)ret;
	return false;
}

/* The rule for code that is left for an address in a file; true, and the word's address, if there is one. */
static bool take_exit(struct code_then *then, const struct way_out_source *source, const struct native_walk *at,
		      const struct way_out_exit *exit, struct unwind_rule *rule, uint64_t *word)
{
	struct state_frame frame;
	uint64_t vaddr;

	if (!object_of(then, exit->to, &vaddr) || state_frame_find(arch_here()->code, source, exit->to, &frame) ||
	    frame.reg >= ARCH_REGISTERS || !(exit->kept >> frame.reg & 1) || !(at->known >> frame.reg & 1) ||
	    frame.within % WORD || frame.within / WORD > UNWIND_NUMBER_MAX)
		return false;
	*rule = rule_of(then, frame.behind);
	if (rule->kind != UNWIND_SP || rule->cfa_offset <= 0 || rule->cfa_offset > FRAME_MAX)
		return false;
	rule->kind = UNWIND_ENTERED;
	rule->cfa_offset = UNWIND_NUMBERED(rule->cfa_offset, (uint32_t)frame.within / WORD);
	*word = at->registers[frame.reg] + (uint64_t)(int64_t)frame.word;
	return true;
}

bool watch_find_entry(struct code_then *then, const struct native_walk *at, struct window *window)
{
	const struct way_out_source source = {read_code, is_known, then};
	const struct way_out_bounds bounds = {window->start, window->end};
	struct tables *tables = sampler_tables(then->watch->sampler);
	struct way_out_exit exits[EXITS_MAX];
	struct unwind_rule rule;
	uint64_t word;
	int i, count = at->behind ? 0 : way_out_exits(arch_here()->code, &source, at->pc, &bounds, exits, EXITS_MAX);

	for (i = 0; i < count; i++) {
		if (!take_exit(then, &source, at, &exits[i], &rule, &word))
			continue;
		if (!window->state) {
			if (tables_learn(tables, &window->run, at->pc, at->pc + 1, &rule) ||
			    tables_rule(tables, &window->run, at->pc).kind != UNWIND_ENTERED)
				return false;
			window->rule = tables_rule_number(tables, &window->run, at->pc);
		}
		if (window->state != word)
			watch_tell_soon((struct process *)then->process);
		window->state = word;
		return true;
	}
	return false;
}

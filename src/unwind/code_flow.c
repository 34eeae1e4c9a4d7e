// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/code_flow.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/code_flow_parts.h"

/* Steps for each byte of code: functions are walked again while their joins lose knowledge, three times at most in
 * real code. */
#define STEPS_FACTOR       16
#define BLOCKS_MAX         (1u << 19) /* 150 MB, while it lasts; 4 MiB of compiled code have a third of that */
#define INSN_MAX           15         /* bytes */
#define FUNCTION_ALIGNMENT 16

const struct code_span *flow_span_of(struct code_flow *flow, uint64_t vaddr)
{
	size_t low = 0, high = flow->image.span_count;
	const struct code_span *last = &flow->spans[flow->last_span];

	if (!high || (vaddr >= last->start && vaddr < last->end))
		return high ? last : NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (flow->spans[middle].end <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == flow->image.span_count || flow->spans[low].start > vaddr)
		return NULL;
	flow->last_span = low;
	return &flow->spans[low];
}

static void queue(struct code_flow *flow, uint32_t block)
{
	if (flow->blocks.at[block].queued)
		return;
	flow->blocks.at[block].queued = true;
	if (vec_push(&flow->work, block))
		flow->err = -ENOMEM;
}

static uint32_t add_block(struct code_flow *flow, uint64_t vaddr, uint32_t group, const struct code_state *state)
{
	uint32_t index = (uint32_t)flow->blocks.count;
	struct block block = {.vaddr = vaddr, .group = group, .in = *state};

	if (index >= BLOCKS_MAX || vec_push(&flow->blocks, block)) {
		flow->err = index >= BLOCKS_MAX ? -E2BIG : -ENOMEM;
		return FLOW_NONE;
	}
	return index;
}

/* Divides a block before one of its instructions; the index of the second part. */
static uint32_t split(struct code_flow *flow, uint32_t block, uint32_t insn)
{
	struct block *first = &flow->blocks.at[block];
	struct code_state state = first->in;
	uint32_t second, i;

	for (i = first->first; i < insn; i++)
		code_step(flow->arch, &flow->insns.at[i].code, &state);
	second = add_block(flow, flow->insns.at[insn].vaddr, first->group, &state);
	if (second == FLOW_NONE)
		return FLOW_NONE;
	first = &flow->blocks.at[block];
	flow->blocks.at[second].first = insn;
	flow->blocks.at[second].count = first->first + first->count - insn;
	flow->blocks.at[second].bad = first->bad;
	flow->blocks.at[second].waiting = first->waiting;
	first->count = insn - first->first;
	first->bad = first->waiting = false;
	for (i = insn; i < insn + flow->blocks.at[second].count; i++)
		flow->insns.at[i].block = second;
	/* A waiter knows the block that had the call; its rest has it now. */
	if (flow->blocks.at[second].waiting) {
		flow->steps += flow->waiters.count;
		for (i = 0; i < flow->waiters.count; i++)
			if (flow->waiters.at[i].block == block)
				flow->waiters.at[i].block = second;
	}
	return second;
}

/* A trial comes upon code that is known: it must be as that says. */
static void meet_known(struct code_flow *flow, const struct block *block, const struct code_state *state,
		       uint32_t group)
{
	struct code_state met = block->in;
	bool changed = false;

	/* Where SP is not known any state agrees, which proves nothing. */
	if (met.registers[flow->arch->sp].kind != CODE_CFA || !code_meet(flow->arch, &met, state, &changed) ||
	    changed) {
		flow_refuse(flow, group, CODE_REFUSED_TRIAL);
		return;
	}
	flow_group_of(flow, group)->proven = true;
	flow_link_returns(flow, group, block->group);
}

static void meet(struct code_flow *flow, uint32_t index, const struct code_state *state, uint32_t group)
{
	struct block *block = &flow->blocks.at[index];
	struct group *owner = flow_group_of(flow, block->group), *g = flow_group_of(flow, group);
	bool changed = false;

	if (owner != g && g->refusal)
		return;
	if (owner != g && owner->refusal) {
		/* Found by mistake before. */
		block->group = group;
		block->in = *state;
		queue(flow, index);
		return;
	}
	if (g->trial && !owner->trial) {
		meet_known(flow, block, state, group);
		return;
	}
	if (!code_meet(flow->arch, &block->in, state, &changed)) {
		flow_refuse(flow, group, CODE_REFUSED_JOIN);
		flow_refuse(flow, block->group, CODE_REFUSED_JOIN);
	}
	flow_unite(flow, block->group, group);
	if (changed)
		queue(flow, index);
}

/* Control comes to an address that is not a function's start. */
static void enter(struct code_flow *flow, uint64_t vaddr, const struct code_state *state, uint32_t group)
{
	uint64_t insn;
	uint32_t block;

	if (!table_get(&flow->insn_at, vaddr + 1, &insn)) {
		block = add_block(flow, vaddr, group, state);
		if (block != FLOW_NONE)
			queue(flow, block);
		return;
	}
	block = flow->insns.at[insn].block;
	if (flow->blocks.at[block].first != insn)
		block = split(flow, block, (uint32_t)insn);
	if (block != FLOW_NONE)
		meet(flow, block, state, group);
}

/* Control goes from a function to an address, by a jump or because the code goes on there. */
static void follow(struct code_flow *flow, uint64_t vaddr, const struct code_state *state, uint32_t group, bool jump)
{
	enum code_exit left = code_exit_of(flow->arch, state);
	uint64_t start;

	if (!flow_span_of(flow, vaddr)) {
		if (jump)
			flow_mark_returns(flow, group);
		return;
	}
	if (!table_get(&flow->starts, vaddr + 1, &start)) {
		enter(flow, vaddr, state, group);
		return;
	}
	if (left == CODE_EXIT_UNBALANCED) {
		/* Code that seems to run into the next function does not: what it called last does not return. */
		if (jump)
			flow_refuse(flow, group, CODE_REFUSED_EXIT);
		return;
	}
	if (left == CODE_EXIT_CLEAN && flow_group(flow, (uint32_t)start) != flow_group(flow, group))
		flow_group_of(flow, group)->proven = true;
	flow_link_returns(flow, group, (uint32_t)start);
}

static uint32_t start(struct code_flow *flow, uint64_t vaddr)
{
	struct code_state state;
	uint64_t found;
	uint32_t group;

	if (table_get(&flow->starts, vaddr + 1, &found))
		return (uint32_t)found;
	group = flow_add_group(flow);
	if (group == FLOW_NONE)
		return FLOW_NONE;
	flow->groups.at[group].start = true;
	if (table_set(&flow->starts, vaddr + 1, group) || (flow->trial && vec_push(&flow->tried, vaddr))) {
		flow->err = -ENOMEM;
		return FLOW_NONE;
	}
	code_state_entry(flow->arch, &state);
	enter(flow, vaddr, &state, group);
	return group;
}

/* An indirect jump to where is not known: another function, or a place in this one. */
static void leave_indirect(struct code_flow *flow, const struct code_state *state, uint32_t group)
{
	enum code_exit left = code_exit_of(flow->arch, state);

	if (left == CODE_EXIT_UNBALANCED)
		flow_set_dispatch(flow, group);
	else if (left == CODE_EXIT_CLEAN && !code_flow_has_dispatch(flow))
		flow_group_of(flow, group)->proven = true;
	flow_mark_returns(flow, group);
}

/* The entry of a jump table, 4 bytes relative to it or 8 bytes absolute. False when it leads out of the code. */
static bool follow_table(struct code_flow *flow, uint64_t table, uint64_t last, bool relative,
			 const struct code_state *state, uint32_t group)
{
	size_t width = relative ? 4 : 8;
	const uint8_t *bytes = flow->image.data(flow->image.context, table, (last + 1) * width);
	uint64_t i, target;
	int32_t offset;

	if (!bytes)
		return false;
	for (i = 0; i <= last && !flow->err; i++) {
		if (relative) {
			memcpy(&offset, bytes + i * width, sizeof(offset));
			target = table + (uint64_t)(int64_t)offset;
		} else {
			memcpy(&target, bytes + i * width, sizeof(target));
		}
		if (!flow_span_of(flow, target))
			return false;
		follow(flow, target, state, group, true);
	}
	return true;
}

static void leave_by_register(struct code_flow *flow, const struct code_insn *insn, const struct code_state *state,
			      uint32_t group)
{
	struct code_value value = {};
	bool found = false, relative = insn->op == CODE_JUMP_REGISTER;

	if (relative && insn->a < CODE_REGISTERS)
		value = state->registers[insn->a];
	else if (insn->index < CODE_REGISTERS)
		value = state->registers[insn->index];
	if (value.kind == (relative ? CODE_TARGET : CODE_BOUND)) {
		found = follow_table(flow, relative ? (uint64_t)value.n : (uint64_t)insn->imm, value.count, relative,
				     state, group);
		if (!found)
			flow_refuse(flow, group, CODE_REFUSED_TABLE);
	}
	if (!found)
		leave_indirect(flow, state, group);
}

static void leave_by_return(struct code_flow *flow, const struct code_state *state, uint32_t group)
{
	enum code_exit left = code_exit_of(flow->arch, state);

	if (left == CODE_EXIT_UNBALANCED)
		flow_refuse(flow, group, CODE_REFUSED_EXIT);
	else if (left == CODE_EXIT_CLEAN)
		flow_group_of(flow, group)->proven = true;
	flow_mark_returns(flow, group);
}

/* A call, with the state behind it. */
static void leave_by_call(struct code_flow *flow, uint32_t index, const struct code_insn *insn, uint64_t next,
			  const struct code_state *state)
{
	uint32_t group = flow->blocks.at[index].group, callee;

	if (insn->op == CODE_CALL && flow_span_of(flow, (uint64_t)insn->imm)) {
		callee = start(flow, (uint64_t)insn->imm);
		if (callee == FLOW_NONE)
			return;
		if (!flow_group_of(flow, callee)->returns) {
			if (!flow->blocks.at[index].waiting)
				flow_add_waiter(flow, callee, index, group);
			flow->blocks.at[index].waiting = true;
			return;
		}
	} else if (insn->op == CODE_CALL && !flow->image.returns(flow->image.context, (uint64_t)insn->imm)) {
		return;
	}
	follow(flow, next, state, group, false);
}

/* Whether code goes on behind a system call. */
static bool survives_syscall(struct code_flow *flow, const struct code_state *state, uint32_t group)
{
	struct code_value number = state->registers[flow->arch->syscall_number];

	if (number.kind != CODE_CONSTANT)
		return true;
	/* A signal trampoline: not a function, and what lies on its stack is a signal's frame. */
	if (number.n == flow->arch->sigreturn)
		flow_refuse(flow, group, CODE_REFUSED_EXIT);
	return number.n != flow->arch->sigreturn && !flow->arch->is_last_syscall(number.n);
}

static bool ends_block(const struct code_insn *insn)
{
	return insn->op >= CODE_SYSCALL;
}

/* Reads the instructions of a block that was just found. */
static void decode_block(struct code_flow *flow, uint32_t index)
{
	uint64_t vaddr = flow->blocks.at[index].vaddr;
	const struct code_span *span = flow_span_of(flow, vaddr);
	struct insn insn = {.block = index};

	flow->blocks.at[index].first = (uint32_t)flow->insns.count;
	for (; span && vaddr < span->end; vaddr += insn.code.length) {
		bool first = vaddr == flow->blocks.at[index].vaddr;

		if (table_get(&flow->insn_at, vaddr + 1, NULL) || (!first && table_get(&flow->starts, vaddr + 1, NULL)))
			return;
		if (!flow->arch->decode(flow->decoder, span->bytes + (vaddr - span->start), span->end - vaddr, vaddr,
					&insn.code)) {
			flow->blocks.at[index].bad = true;
			return;
		}
		insn.vaddr = vaddr;
		if (table_set(&flow->insn_at, vaddr + 1, flow->insns.count) || vec_push(&flow->insns, insn)) {
			flow->err = -ENOMEM;
			return;
		}
		flow->blocks.at[index].count++;
		if (insn.code.op == CODE_SET && (insn.code.address || flow->image.fixed) &&
		    flow_span_of(flow, (uint64_t)insn.code.imm) &&
		    vec_push(&flow->mentions, (struct mention){.vaddr = (uint64_t)insn.code.imm,
							       .insn = (uint32_t)flow->insns.count - 1}))
			flow->err = -ENOMEM;
		if (ends_block(&insn.code))
			return;
	}
}

/* From the state before a block's last instruction to all that follows it. */
static void leave_block(struct code_flow *flow, uint32_t index, const struct insn *last, struct code_state *state)
{
	uint32_t group = flow->blocks.at[index].group;
	uint64_t next = last->vaddr + last->code.length;
	struct code_state taken;

	switch (last->code.op) {
	case CODE_STOP:
		return;
	case CODE_RETURN:
		leave_by_return(flow, state, group);
		return;
	case CODE_JUMP:
		follow(flow, (uint64_t)last->code.imm, state, group, true);
		return;
	case CODE_JUMP_REGISTER:
	case CODE_JUMP_TABLE:
		leave_by_register(flow, &last->code, state, group);
		return;
	case CODE_JUMP_INDIRECT:
		leave_indirect(flow, state, group);
		return;
	case CODE_BRANCH:
		taken = *state;
		code_branch(flow->arch, &last->code, true, &taken);
		code_branch(flow->arch, &last->code, false, state);
		follow(flow, (uint64_t)last->code.imm, &taken, group, true);
		follow(flow, next, state, group, false);
		return;
	case CODE_CALL:
	case CODE_CALL_INDIRECT:
		code_step(flow->arch, &last->code, state);
		leave_by_call(flow, index, &last->code, next, state);
		return;
	case CODE_SYSCALL:
		if (!survives_syscall(flow, state, group))
			return;
		break;
	default:
		break;
	}
	code_step(flow->arch, &last->code, state);
	follow(flow, next, state, group, false);
}

static void run_block(struct code_flow *flow, uint32_t index)
{
	struct block *block = &flow->blocks.at[index];
	struct code_state state = block->in;
	struct insn last;
	uint32_t i, end;

	block->queued = false;
	if (!block->count && !block->bad) {
		/* Another one that ran before may have come through here. */
		if (table_get(&flow->insn_at, block->vaddr + 1, NULL)) {
			enter(flow, block->vaddr, &state, block->group);
			return;
		}
		decode_block(flow, index);
	}
	block = &flow->blocks.at[index];
	flow->steps += block->count;
	if (flow->steps > flow->steps_max)
		flow->err = -E2BIG;
	if (flow->err)
		return;
	if (block->bad)
		flow_refuse(flow, block->group, CODE_REFUSED_BYTES);
	if (!block->count)
		return;
	end = block->first + block->count - 1;
	for (i = block->first; i < end; i++)
		code_step(flow->arch, &flow->insns.at[i].code, &state);
	last = flow->insns.at[end];
	if (!block->bad)
		leave_block(flow, index, &last, &state);
}

/* A function returns: those go on that called it, and those return that end with a jump to it. */
static void wake(struct code_flow *flow, uint32_t group)
{
	uint32_t at = flow_group_of(flow, group)->waiters;

	flow_group_of(flow, group)->waiters = FLOW_NONE;
	for (; at != FLOW_NONE && !flow->err; at = flow->waiters.at[at].next) {
		const struct waiter waiter = flow->waiters.at[at];

		if (waiter.block == FLOW_NONE) {
			flow_mark_returns(flow, waiter.group);
		} else {
			flow->blocks.at[waiter.block].waiting = false;
			queue(flow, waiter.block);
		}
	}
}

int code_flow_run(struct code_flow *flow)
{
	while (!flow->err && (flow->work.count || flow->returning.count)) {
		if (flow->returning.count)
			wake(flow, flow->returning.at[--flow->returning.count]);
		else
			run_block(flow, flow->work.at[--flow->work.count]);
	}
	return flow->err;
}

bool code_flow_covers(struct code_flow *flow, uint64_t vaddr)
{
	return flow_span_of(flow, vaddr);
}

int code_flow_start(struct code_flow *flow, uint64_t vaddr)
{
	if (flow_span_of(flow, vaddr))
		start(flow, vaddr);
	return flow->err;
}

/* Whether an instruction ends at an address. */
static bool is_end(struct code_flow *flow, uint64_t vaddr)
{
	uint64_t insn, back;

	for (back = 1; back <= INSN_MAX && back <= vaddr; back++)
		if (table_get(&flow->insn_at, vaddr - back + 1, &insn) && back == flow->insns.at[insn].code.length)
			return true;
	return false;
}

/* Whether an accepted instruction covers an address, or begins there. */
static bool is_known(struct code_flow *flow, uint64_t vaddr)
{
	uint64_t insn, back;

	for (back = 0; back < INSN_MAX && back <= vaddr; back++)
		if (table_get(&flow->insn_at, vaddr - back + 1, &insn) && back < flow->insns.at[insn].code.length &&
		    !flow_group_of(flow, flow->blocks.at[flow->insns.at[insn].block].group)->refusal)
			return true;
	return false;
}

/* Whether an address can be that of an instruction: it is aligned as functions are, or one ends there. */
bool code_flow_is_boundary(struct code_flow *flow, uint64_t vaddr)
{
	const struct code_span *span = flow_span_of(flow, vaddr);

	if (!span || !(vaddr % FUNCTION_ALIGNMENT) || vaddr == span->start)
		return span;
	return flow->arch->is_padding(span->bytes + (vaddr - span->start) - 1, 1) || is_end(flow, vaddr);
}

int code_flow_try(struct code_flow *flow, uint64_t vaddr, bool proof, bool *ret)
{
	struct group *g;
	uint32_t group;
	uint64_t found;
	bool accepted;
	size_t i;

	*ret = false;
	if (!flow_span_of(flow, vaddr) || table_get(&flow->starts, vaddr + 1, NULL) || is_known(flow, vaddr))
		return 0;
	flow->trial = true;
	flow->tried.count = 0;
	group = start(flow, vaddr);
	if (!flow->err)
		code_flow_run(flow);
	flow->trial = false;
	if (flow->err)
		return flow->err;
	g = flow_group_of(flow, group);
	accepted = !g->refusal && (g->proven || (!proof && !g->dispatch));
	if (!accepted) {
		flow_refuse(flow, group, CODE_REFUSED_TRIAL);
		flow_group_of(flow, group)->refusal = CODE_REFUSED_TRIAL; /* whatever it was refused for */
	}
	for (i = 0; i < flow->tried.count; i++) {
		if (!table_get(&flow->starts, flow->tried.at[i] + 1, &found))
			continue;
		g = flow_group_of(flow, (uint32_t)found);
		g->trial = false;
		if (!accepted) {
			flow_refuse(flow, (uint32_t)found, CODE_REFUSED_TRIAL);
			table_remove(&flow->starts, flow->tried.at[i] + 1);
		}
	}
	*ret = accepted;
	return code_flow_run(flow);
}

int code_flow_create(const struct code_arch *arch, const struct code_image *image, struct code_flow **ret)
{
	struct code_flow *flow = calloc(1, sizeof(*flow));
	size_t i;
	int err;

	if (!flow)
		return -ENOMEM;
	flow->arch = arch;
	flow->image = *image;
	flow->spans = calloc(image->span_count ? image->span_count : 1, sizeof(*flow->spans));
	err = flow->spans ? arch->create(&flow->decoder) : -ENOMEM;
	if (err) {
		code_flow_destroy(flow);
		return err;
	}
	for (i = 0; i < image->span_count; i++) {
		flow->spans[i] = image->spans[i];
		flow->steps_max += STEPS_FACTOR * (image->spans[i].end - image->spans[i].start);
	}
	*ret = flow;
	return 0;
}

void code_flow_destroy(struct code_flow *flow)
{
	if (!flow)
		return;
	if (flow->decoder)
		flow->arch->destroy(flow->decoder);
	vec_free(&flow->insns);
	vec_free(&flow->blocks);
	vec_free(&flow->groups);
	vec_free(&flow->waiters);
	vec_free(&flow->mentions);
	vec_free(&flow->work);
	vec_free(&flow->returning);
	vec_free(&flow->tried);
	table_deinit(&flow->insn_at);
	table_deinit(&flow->starts);
	free(flow->spans);
	free(flow);
}

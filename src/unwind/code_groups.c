// SPDX-License-Identifier: GPL-2.0-or-later
/* Groups of blocks, by union and find: functions. And what was found of them. */
#include <string.h>

#include "unwind/code_flow_parts.h"

uint32_t flow_group(struct code_flow *flow, uint32_t group)
{
	struct group *groups = flow->groups.at;

	while (groups[group].parent != group)
		group = groups[group].parent = groups[groups[group].parent].parent;
	return group;
}

struct group *flow_group_of(struct code_flow *flow, uint32_t group)
{
	return &flow->groups.at[flow_group(flow, group)];
}

uint32_t flow_add_group(struct code_flow *flow)
{
	uint32_t index = (uint32_t)flow->groups.count;

	if (vec_push(&flow->groups, (struct group){.parent = index, .waiters = FLOW_NONE, .trial = flow->trial})) {
		flow->err = -ENOMEM;
		return FLOW_NONE;
	}
	return index;
}

void flow_mark_returns(struct code_flow *flow, uint32_t group)
{
	struct group *g = flow_group_of(flow, group);

	if (g->returns)
		return;
	g->returns = true;
	if (vec_push(&flow->returning, flow_group(flow, group)))
		flow->err = -ENOMEM;
}

void flow_add_waiter(struct code_flow *flow, uint32_t callee, uint32_t block, uint32_t group)
{
	struct group *g = flow_group_of(flow, callee);
	struct waiter waiter = {.next = g->waiters, .block = block, .group = group};

	if (vec_push(&flow->waiters, waiter))
		flow->err = -ENOMEM;
	else
		g->waiters = (uint32_t)flow->waiters.count - 1;
}

void flow_link_returns(struct code_flow *flow, uint32_t group, uint32_t callee)
{
	if (flow_group(flow, group) == flow_group(flow, callee))
		return;
	if (flow_group_of(flow, callee)->returns)
		flow_mark_returns(flow, group);
	else
		flow_add_waiter(flow, callee, FLOW_NONE, group);
}

/* 1 for a group that counts for code_flow_has_dispatch(). */
static size_t dispatches(const struct group *group)
{
	return group->dispatch && !group->refusal;
}

void flow_set_dispatch(struct code_flow *flow, uint32_t group)
{
	struct group *g = flow_group_of(flow, group);

	flow->dispatches -= dispatches(g);
	g->dispatch = true;
	flow->dispatches += dispatches(g);
}

void flow_refuse(struct code_flow *flow, uint32_t group, enum code_refusal why)
{
	struct group *g = flow_group_of(flow, group);

	if (g->refusal)
		return;
	flow->dispatches -= dispatches(g);
	g->refusal = (uint8_t)why;
	flow_mark_returns(flow, group);
}

void flow_unite(struct code_flow *flow, uint32_t a, uint32_t b)
{
	struct group *into = flow_group_of(flow, a), *from = flow_group_of(flow, b);
	uint32_t last;

	if (into == from)
		return;
	if (into->returns != from->returns) {
		flow_mark_returns(flow, a);
		flow_mark_returns(flow, b);
	}
	if (into->waiters == FLOW_NONE) {
		into->waiters = from->waiters;
	} else if (from->waiters != FLOW_NONE) {
		for (last = into->waiters; flow->waiters.at[last].next != FLOW_NONE; last = flow->waiters.at[last].next)
			flow->steps++;
		flow->waiters.at[last].next = from->waiters;
	}
	flow->dispatches -= dispatches(into) + dispatches(from);
	into->start |= from->start;
	into->proven |= from->proven;
	into->dispatch |= from->dispatch;
	if (!into->refusal)
		into->refusal = from->refusal;
	flow->dispatches += dispatches(into);
	from->parent = flow_group(flow, a);
}

const struct group *flow_root_of(const struct code_flow *flow, uint32_t group)
{
	while (flow->groups.at[group].parent != group)
		group = flow->groups.at[group].parent;
	return &flow->groups.at[group];
}

bool code_flow_mentioned(struct code_flow *flow, size_t *at, uint64_t *ret, bool *plain)
{
	while (*at < flow->mentions.count) {
		const struct mention *mention = &flow->mentions.at[(*at)++];
		const struct insn *insn = &flow->insns.at[mention->insn];
		const struct group *group = flow_root_of(flow, flow->blocks.at[insn->block].group);

		if (group->refusal || (!insn->code.address && !code_flow_is_boundary(flow, mention->vaddr)))
			continue;
		*ret = mention->vaddr;
		*plain = !group->dispatch && insn->code.address;
		return true;
	}
	return false;
}

bool code_flow_has_dispatch(const struct code_flow *flow)
{
	return flow->dispatches > 0;
}

int code_flow_each(const struct code_flow *flow,
		   int (*visit)(void *context, uint64_t vaddr, const struct code_insn *insn,
				const struct code_state *state),
		   void *context)
{
	struct code_state state;
	uint32_t k;
	size_t i;
	int err;

	for (i = 0; i < flow->blocks.count; i++) {
		const struct block *block = &flow->blocks.at[i];

		/*
		 * Where code stops for good (UD2) nothing is ever seen to run; and compilers let several functions,
		 * with different stacks, jump to one such place.
		 */
		if (flow_root_of(flow, block->group)->refusal ||
		    (block->count && flow->insns.at[block->first + block->count - 1].code.op == CODE_STOP))
			continue;
		state = block->in;
		for (k = block->first; k < block->first + block->count; k++) {
			const struct insn *insn = &flow->insns.at[k];

			err = visit(context, insn->vaddr, &insn->code, &state);
			if (err)
				return err;
			code_step(flow->arch, &insn->code, &state);
		}
	}
	return 0;
}

void code_flow_count(const struct code_flow *flow, size_t ret[CODE_REFUSALS])
{
	size_t i;

	memset(ret, 0, CODE_REFUSALS * sizeof(*ret));
	for (i = 0; i < flow->groups.count; i++)
		if (flow->groups.at[i].parent == i && flow->groups.at[i].start)
			ret[flow->groups.at[i].refusal]++;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_flow_parts: what the files of code_flow share. code_flow.c follows the code, code_groups.c keeps the blocks that
 * belong to one function and returns what was found, code_functions.c finds where one function ends and the next
 * begins. Indices are those of the vectors in struct code_flow. Errors are kept in flow->err.
 */
#ifndef STRATA_UNWIND_CODE_FLOW_PARTS_H
#define STRATA_UNWIND_CODE_FLOW_PARTS_H

#include "base/table.h"
#include "base/vec.h"
#include "unwind/code_flow.h"

#define FLOW_NONE UINT32_MAX

struct insn {
	uint64_t vaddr;
	uint32_t block;
	struct code_insn code;
};

struct block {
	uint64_t vaddr;
	uint32_t first, count; /* instructions, one behind the other */
	uint32_t group;
	bool queued, waiting, bad;
	struct code_state in;
};

/* A function, or several that jump into each other. */
struct group {
	uint32_t parent;
	uint32_t waiters; /* the first one: who goes on once it returns; FLOW_NONE */
	uint8_t refusal;  /* enum code_refusal */
	bool start;       /* it was asked for, and not only found as a callee of others */
	bool returns, trial, proven, dispatch;
};

struct waiter {
	uint32_t next;
	uint32_t block; /* that calls it; or FLOW_NONE */
	uint32_t group; /* that ends with a jump to it */
};

struct mention {
	uint64_t vaddr;
	uint32_t insn;
};

struct code_flow {
	const struct code_arch *arch;
	struct code_decoder *decoder;
	struct code_image image;
	struct code_span *spans;
	size_t last_span;
	VEC(struct insn) insns;
	VEC(struct block) blocks;
	VEC(struct group) groups;
	VEC(struct waiter) waiters;
	VEC(struct mention) mentions;
	VEC(uint32_t) work;      /* blocks */
	VEC(uint32_t) returning; /* groups that were found to return */
	VEC(uint64_t) tried;     /* starts of the trial that is under way */
	struct table insn_at;    /* vaddr + 1 -> instruction */
	struct table starts;     /* vaddr + 1 -> group */
	size_t dispatches;       /* groups with an indirect jump to unknown places, and not refused */
	uint64_t steps, steps_max;
	bool trial;
	int err;
};

/* The span that an address lies in; NULL: none. */
const struct code_span *flow_span_of(struct code_flow *flow, uint64_t vaddr);

/* A new group, or FLOW_NONE when memory is short; the group into which a group was merged. */
uint32_t flow_add_group(struct code_flow *flow);
uint32_t flow_group(struct code_flow *flow, uint32_t group);
struct group *flow_group_of(struct code_flow *flow, uint32_t group);
const struct group *flow_root_of(const struct code_flow *flow, uint32_t group); /* the same, and nothing changes */

/* Merges two groups: they jump into each other. */
void flow_unite(struct code_flow *flow, uint32_t a, uint32_t b);

/* To be called once when a group is found to return: blocks that wait for that are followed later. */
void flow_mark_returns(struct code_flow *flow, uint32_t group);

/* When `callee` returns, `block` goes on; or, if that is FLOW_NONE, `group` returns, too. */
void flow_add_waiter(struct code_flow *flow, uint32_t callee, uint32_t block, uint32_t group);

/* `group` ends with a jump to `callee`: it returns if that does. */
void flow_link_returns(struct code_flow *flow, uint32_t group, uint32_t callee);

/* A group jumps to an unknown place, from the middle of its frame. */
void flow_set_dispatch(struct code_flow *flow, uint32_t group);

/* A group contradicts itself: it gets no rules. It counts as one that returns, so that its callers are followed. */
void flow_refuse(struct code_flow *flow, uint32_t group, enum code_refusal why);

#endif

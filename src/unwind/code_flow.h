/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_flow: a forward dataflow over machine code: the state (code.h) before each instruction that can be reached from
 * the functions' first instructions. For src/unwind/ and its tests only.
 *
 *   start ──entry state──▶ block ──▶ block ...         a block ends at a jump, a call, or where another one begins
 *                            │ call f                  f is a start too; behind the call goes on only what f returns to
 *                            ▼ jump table              followed where its bound is known
 *
 * Blocks that are connected by jumps are one function (a group of blocks, by union and find). A function is *refused*,
 * and has no states at all, if it contradicts itself: two paths to one place with different stack pointers, a return
 * with a stack that differs from that at entry, bytes that are no instructions. Usually such code cannot be reached in
 * that way (it is after a call that does not return), and then the code before it is not right either.
 *
 * Certain starts are those of symbols and of calls. An address that is only mentioned (a function pointer, but perhaps
 * a label) is *tried*: it becomes a start only if the consequences agree with everything else, and if it returns like a
 * function.
 */
#ifndef STRATA_UNWIND_CODE_FLOW_H
#define STRATA_UNWIND_CODE_FLOW_H

#include "unwind/code.h"

/* Code to look at, and its bytes. */
struct code_span {
	uint64_t start, end;
	const uint8_t *bytes;
};

struct code_image {
	const struct code_span *spans; /* sorted, apart from each other */
	size_t span_count;
	bool fixed; /* loaded at its own addresses: any constant may be an address */
	/* Constant data at a vaddr; NULL if there is none. */
	const uint8_t *(*data)(void *context, uint64_t vaddr, size_t size);
	/* Whether a function outside of the spans returns. */
	bool (*returns)(void *context, uint64_t vaddr);
	void *context;
};

enum code_refusal {
	CODE_ACCEPTED,
	CODE_REFUSED_JOIN,  /* two paths to one place, with different stack pointers */
	CODE_REFUSED_EXIT,  /* returns with a stack or registers that differ from those at entry */
	CODE_REFUSED_BYTES, /* not an instruction, or not one that the disassembler knows */
	CODE_REFUSED_TABLE, /* a jump table that leads elsewhere */
	CODE_REFUSED_TRIAL, /* mentioned, but not shown to be a function */
	CODE_REFUSALS
};

struct code_flow;

/* The spans are copied, what they point to is borrowed. 0, -ENOMEM, -ENOTSUP. */
int code_flow_create(const struct code_arch *arch, const struct code_image *image, struct code_flow **ret);
void code_flow_destroy(struct code_flow *flow);

/* Whether an address lies in the spans. */
bool code_flow_covers(struct code_flow *flow, uint64_t vaddr);

/* A function begins here; addresses outside of the spans are ignored. 0 or -ENOMEM. */
int code_flow_start(struct code_flow *flow, uint64_t vaddr);

/* Follows the code from its starts. 0, -ENOMEM, or -E2BIG if it took too many steps: then nothing is known. */
int code_flow_run(struct code_flow *flow);

/* Whether a function can begin at an address; for words of data that may or may not be addresses. */
bool code_flow_is_boundary(struct code_flow *flow, uint64_t vaddr);

/*
 * Tries a mentioned address, after code_flow_run(). `proof`: it must return; otherwise a function that never returns is
 * accepted, too (see code_flow_has_dispatch()). *ret: whether it is a new start.
 */
int code_flow_try(struct code_flow *flow, uint64_t vaddr, bool proof, bool *ret);

/*
 * Addresses in the spans that accepted code mentions, from the `*at`-th on; false if there are no more. `plain`: it is
 * used as an address (not as a number), in a function without jumps to unknown targets. A label's address is only
 * useful in its own function, for such a jump; so a plain address is that of another function.
 */
bool code_flow_mentioned(struct code_flow *flow, size_t *at, uint64_t *ret, bool *plain);

/*
 * Whether some function jumps from the middle of its frame to an unknown target. Only then can an address be useful
 * that is not a function's.
 */
bool code_flow_has_dispatch(const struct code_flow *flow);

/* Visits each instruction of accepted functions, in no order, except those that lead to where code ends for good. If
 * `visit` returns other than 0, stops and returns that. */
int code_flow_each(const struct code_flow *flow,
		   int (*visit)(void *context, uint64_t vaddr, const struct code_insn *insn,
				const struct code_state *state),
		   void *context);

/*
 * Visits runs of instructions of accepted functions with the function's first address, in no order; if `visit` returns
 * other than 0, stops and returns that. Code that may belong to another function is left out (code_functions.c). 0 or
 * -ENOMEM.
 */
int code_flow_functions(const struct code_flow *flow,
			int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context);

/* The number of functions by verdict. */
void code_flow_count(const struct code_flow *flow, size_t ret[CODE_REFUSALS]);

#endif

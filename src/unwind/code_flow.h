/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * code_flow: a forward dataflow over machine code: the state (code.h) before each instruction that can be reached from
 * the functions' first instructions. For src/unwind/ and its tests only.
 *
 *   start ──entry state──▶ block ──▶ block ...         a block ends at a jump, a call, or where another one begins
 *                            │ call f                  f is a start too; behind the call goes on only what f returns to
 *                            ▼ jump table              followed where its bound is known
 *
 * What belongs together by jumps is one function (a group of blocks, by union and find). A function is *refused*, and
 * has no states at all, when it contradicts itself: two ways to one place with different stack pointers, a return with
 * a stack that is not as it was, bytes that are no instructions. Mostly that is code that was never reached that way
 * (behind a call that does not return), and so are the places before it.
 *
 * Certain starts are those of symbols and of calls. An address that is merely mentioned (a function pointer; but it
 * may be a label) is *tried*: it becomes a start only if what follows from that agrees with all else, and if it
 * returns as a function does.
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
	bool fixed; /* loaded where it says: any constant may be an address */
	/* Constant data at a vaddr; NULL when there is none. */
	const uint8_t *(*data)(void *context, uint64_t vaddr, size_t size);
	/* Whether a function outside of the spans returns. */
	bool (*returns)(void *context, uint64_t vaddr);
	void *context;
};

enum code_refusal {
	CODE_ACCEPTED,
	CODE_REFUSED_JOIN,  /* two ways to one place, with different stack pointers */
	CODE_REFUSED_EXIT,  /* left with a stack or registers that are not as they were */
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

/* A function begins here; addresses outside of the spans are passed over. 0 or -ENOMEM. */
int code_flow_start(struct code_flow *flow, uint64_t vaddr);

/* Follows what was started. 0, -ENOMEM, or -E2BIG when it took too many steps: then nothing is known. */
int code_flow_run(struct code_flow *flow);

/* Whether a function can begin at an address: for words of data that may be addresses, and may be anything else. */
bool code_flow_is_boundary(struct code_flow *flow, uint64_t vaddr);

/*
 * Tries a mentioned address, after code_flow_run(). `proof`: only what returns is a function; without, one that never
 * does is accepted as well (see code_flow_has_dispatch()). *ret: whether it is a new start.
 */
int code_flow_try(struct code_flow *flow, uint64_t vaddr, bool proof, bool *ret);

/*
 * Addresses in the spans that accepted code mentions, from the `*at`-th on; false when there is no other. `plain`: as
 * an address (not as a mere number), and in a function that does not jump to where is not known. The address of a label
 * is of use in its own function only, by such a jump; so it is that of another function.
 */
bool code_flow_mentioned(struct code_flow *flow, size_t *at, uint64_t *ret, bool *plain);

/*
 * Whether some function jumps, out of the middle of its frame, to where is not known. Only then can the address of
 * something that is not a function's be of use.
 */
bool code_flow_has_dispatch(const struct code_flow *flow);

/* Visits each instruction of accepted functions, in no order, but those that run into where code stops for good. Not 0:
 * stop, and return that. */
int code_flow_each(const struct code_flow *flow,
		   int (*visit)(void *context, uint64_t vaddr, const struct code_insn *insn,
				const struct code_state *state),
		   void *context);

/*
 * Visits runs of instructions of accepted functions with the function's first address, in no order; not 0: stop, and
 * return that. What may be another function is left out (code_functions.c). 0 or -ENOMEM.
 */
int code_flow_functions(const struct code_flow *flow,
			int (*visit)(void *context, uint64_t start, uint64_t end, uint64_t function), void *context);

/* The number of functions by how they were judged. */
void code_flow_count(const struct code_flow *flow, size_t ret[CODE_REFUSALS]);

#endif

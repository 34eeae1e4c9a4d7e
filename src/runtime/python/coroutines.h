/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * coroutines: the chain of coroutines, generators and asynchronous generators that wait for each other. It begins with
 * the one that a task runs, and goes inwards to the object that the innermost one awaits. A suspended one has the
 * object that it awaits on top of its value stack:
 *
 *   3.6-3.10   if the next instruction is YIELD_FROM (Objects/genobject.c, _PyGen_yf)
 *   3.11, 3.12 if the next instruction is a RESUME with the operand 2 or 3
 *   3.13+      if gi_frame_state is FRAME_SUSPENDED_YIELD_FROM; from 3.15 on it is the second from the top
 *
 * Chains are bounded by PY_CHAIN_MAX. Nothing that is read is trusted.
 */
#ifndef STRATA_PYTHON_COROUTINES_H
#define STRATA_PYTHON_COROUTINES_H

#include "runtime/python/instances.h"

#define PY_CHAIN_MAX 256 /* functions in a chain */

enum py_coroutine_state { PY_COROUTINE_STARTS, PY_COROUTINE_SUSPENDED, PY_COROUTINE_RUNS, PY_COROUTINE_ENDED };

/* A chain, outermost first. */
struct py_chain {
	VEC(struct runtime_task_frame) frames;
	enum py_coroutine_state state; /* of the outermost */
	uint64_t outermost;            /* its frame; 0: it has none */
	size_t teller;                 /* index of the innermost function that is not one of Python's class Future: */
	uint64_t innermost;            /* its frame; 0: there is none */
	struct py_text qualname;       /* its qualified name, in every version */
	uint64_t awaits;               /* the object that it awaits, which is no coroutine; 0: nothing, or unknown */
};

/* `coroutine`: what the task runs. If it is none of the interpreter's own, the chain is one mark. 0 or -ENOMEM. */
int py_chain_read(struct py_reader *reader, struct py_classes *classes, uint64_t coroutine, struct py_chain *ret);
void py_chain_deinit(struct py_chain *chain);

/* Adds the function that a frame executes. 0 or -ENOMEM. */
int py_chain_add(struct py_reader *reader, uint64_t frame, struct py_chain *chain);

/* The object in a slot of a frame (parameters come first). 0: the slot is empty, or has a cell. */
uint64_t py_frame_slot(struct py_reader *reader, uint64_t frame, uint32_t slot);

#endif

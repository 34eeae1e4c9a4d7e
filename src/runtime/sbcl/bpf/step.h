/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps out of code that SBCL has compiled, where it was interrupted while FP does not lead to the caller. In SBCL the
 * caller allocates the callee's frame, and the callee moves the return address into it:
 *
 *   mov %rbp, (%rsp)      from a register: mov %rbp, (%r14)
 *   mov %rsp, %rbp                         mov %r14, %rbp        FP is that of a frame that nobody has entered
 *   mov $name, %eax       or nothing
 *   call *%rax            call *-3(%rax)
 *      pop 8(%rbp)                                               the return address is where SP points
 *
 * A function that returns several values drops its frame by mov (%rbp), %rbp before push -8(%rbx); ret. SBCL's assembly
 * routines, such as that of `+`, have no frame: they are called by their address, or through a word that holds it, in
 * the lowest 4 GiB.
 */
#ifndef STRATA_RUNTIME_SBCL_BPF_STEP_H
#define STRATA_RUNTIME_SBCL_BPF_STEP_H

#include "arch/walk.h"
#include "bpf/mapping.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "runtime/sbcl/abi.h"

#define SBCL_ROUTINE_MAX 1024 /* bytes; they are some dozens long */

#if ARCH_HAS_LISP

/* Is PC in an assembly routine, whose return address is at SP? */
static __always_inline bool sbcl_in_routine(struct scratch *s, __u64 to)
{
	struct native_walk *walk = &s->native;
	__u64 call = 0, routine, word = 0;

	if (walk->pc >> 32 || walk_read_user(s, &call, sizeof(call), to - 8))
		return false;
	routine = call >> 32;
	if (LISP_CALLS_BY_WORD(call)) {
		if (walk_read_user(s, &routine, sizeof(routine), routine))
			return false;
	} else if (LISP_CALLS(call)) {
		routine = to + (__u64)(__s64)(__s32)routine;
	} else {
		return false;
	}
	if (walk->pc - routine >= SBCL_ROUTINE_MAX)
		return false;
	/* One that has made a frame of its own, or a function whose return address is below its frame, too. */
	return walk_read_user(s, &word, sizeof(word), walk->fp + 8) || word != to;
}

/* If the innermost frame is such a one, moves to its caller and returns true. */
static __always_inline bool sbcl_step_generated(struct scratch *s)
{
	struct native_walk *walk = &s->native;
	__u64 before = 0, code = 0, to = 0, fp = walk->fp, cfa = walk->sp + 8;

	if (walk_read_user(s, &before, sizeof(before), walk->pc - 8) ||
	    walk_read_user(s, &code, sizeof(code), walk->pc) || walk_read_user(s, &to, sizeof(to), walk->sp))
		return false;
	if (LISP_ENTERED(code)) {
		cfa = walk->fp + 16;
		if (walk_read_user(s, &fp, sizeof(fp), walk->fp))
			return false;
	} else if (lisp_made_frame(before, code)) {
		if (walk_read_user(s, &cfa, sizeof(cfa), walk->fp) || walk_read_user(s, &fp, sizeof(fp), cfa) ||
		    walk_read_user(s, &to, sizeof(to), cfa + 8))
			return false;
		cfa += 16;
	} else if (LISP_MAKES_FRAME(before, code)) {
		cfa = walk->fp + 16;
		if (walk_read_user(s, &fp, sizeof(fp), walk->fp) || walk_read_user(s, &to, sizeof(to), walk->fp + 8))
			return false;
	} else if (LISP_RETURNS_MANY(before, code)) {
		cfa = walk->registers[REG_CARRIED];
		if (walk_read_user(s, &to, sizeof(to), cfa - 8))
			return false;
	} else if (!sbcl_in_routine(s, to)) {
		return false;
	}
	if (cfa <= walk->sp || !to)
		return false;
	walk->pc = to;
	walk->sp = cfa;
	walk->fp = fp;
	walk->known = REGS_CALLER_SAVED;
	walk->behind = 1;
	return true;
}

#else

static __always_inline bool sbcl_step_generated(struct scratch *s)
{
	(void)s;
	return false;
}

#endif

static __always_inline int sbcl_step(struct scratch *s, __u32 slot, __u64 *cfa)
{
	struct native_walk *walk = &s->native;

	(void)slot; /* there is one kind */
	*cfa = walk->fp + 16;
	if (walk->fp > walk->sp)
		return STEP_CFA;
	if (walk_read_user(s, cfa, sizeof(*cfa), walk->fp))
		return native_end(walk, LOSS_STACK_READ);
	*cfa += 16;
	return STEP_CFA;
}

static __always_inline void sbcl_begin_steps(struct native_walk *walk)
{
	(void)walk;
}

static __always_inline void sbcl_end_steps(struct scratch *s)
{
	(void)s;
}

#endif

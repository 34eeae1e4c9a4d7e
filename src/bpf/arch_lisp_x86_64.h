/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps out of code that SBCL made, where it was interrupted while its frame pointer does not lead to its caller. There
 * a function's frame is made by who calls it, and the return address moved into it by the function itself:
 *
 *   mov %rbp, (%rsp)      from a register: mov %rbp, (%r14)
 *   mov %rsp, %rbp                         mov %r14, %rbp        FP is that of a frame that nobody has entered
 *   mov $name, %eax       or nothing
 *   call *%rax            call *-3(%rax)
 *      pop 8(%rbp)                                               the return address is where SP points
 *
 * One that returns several values gives up its frame by mov (%rbp), %rbp before push -8(%rbx); ret. And its assembly
 * routines, such as that of `+`, have no frame: they are called by their address, or by a word that has it, in the
 * lowest 4 GiB.
 */
#ifndef STRATA_BPF_ARCH_LISP_X86_64_H
#define STRATA_BPF_ARCH_LISP_X86_64_H

#include "bpf/arch_walk_x86_64.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"

#define LISP_ROUTINE_MAX 1024 /* bytes; they are some dozens long */

/* Whether FP is that of a frame that is made and not entered. `before`: the eight bytes before PC. */
static __always_inline bool lisp_made_frame(__u64 before, __u64 code)
{
	__u32 setting = before & 0xffffffff; /* of FP, and the next instruction's first byte */

	return before >> 8 == 0xec8b48242c8948ull || (before >> 16 & 0xf8fffff8ffffull) == 0xe88b49288949ull ||
	       ((setting == 0xb8ec8b48 || (setting & 0xfff8ffff) == 0xb8e88b49) && (code & 0xffff) == 0xd0ff);
}

/* Whether SP points to the return address of an assembly routine, which PC is in. */
static __always_inline bool lisp_in_routine(struct scratch *s, __u64 to)
{
	struct native_walk *walk = &s->native;
	__u64 call = 0, routine, word = 0;

	if (walk->pc >> 32 || walk_read_user(s, &call, sizeof(call), to - 8))
		return false;
	routine = call >> 32;
	if ((call >> 8 & 0xffffff) == 0x2514ff) { /* call *word */
		if (walk_read_user(s, &routine, sizeof(routine), routine))
			return false;
	} else if ((call >> 24 & 0xff) == 0xe8) { /* call routine */
		routine = to + (__u64)(__s64)(__s32)routine;
	} else {
		return false;
	}
	if (walk->pc - routine >= LISP_ROUTINE_MAX)
		return false;
	/* One that has made a frame of its own, or a function whose return address is below its frame, too. */
	return walk_read_user(s, &word, sizeof(word), walk->fp + 8) || word != to;
}

/* Moves to the caller, and is true, when the innermost frame is such a one. */
static __always_inline bool native_step_lisp(struct scratch *s)
{
	struct native_walk *walk = &s->native;
	__u64 before = 0, code = 0, to = 0, fp = walk->fp, cfa = walk->sp + 8;

	if (walk_read_user(s, &before, sizeof(before), walk->pc - 8) ||
	    walk_read_user(s, &code, sizeof(code), walk->pc) || walk_read_user(s, &to, sizeof(to), walk->sp))
		return false;
	if ((code & 0xffffff) == 0x08458f) {
		cfa = walk->fp + 16;
		if (walk_read_user(s, &fp, sizeof(fp), walk->fp))
			return false;
	} else if (lisp_made_frame(before, code)) {
		if (walk_read_user(s, &cfa, sizeof(cfa), walk->fp) || walk_read_user(s, &fp, sizeof(fp), cfa) ||
		    walk_read_user(s, &to, sizeof(to), cfa + 8))
			return false;
		cfa += 16;
	} else if (before >> 32 == 0x242c8948 && (code & 0xffffff) == 0xec8b48) { /* about to make it */
		cfa = walk->fp + 16;
		if (walk_read_user(s, &fp, sizeof(fp), walk->fp) || walk_read_user(s, &to, sizeof(to), walk->fp + 8))
			return false;
	} else if (before >> 32 == 0x006d8b48 && (code & 0xffffff) == 0xf873ff) {
		cfa = walk->registers[REG_BX];
		if (walk_read_user(s, &to, sizeof(to), cfa - 8))
			return false;
	} else if (!lisp_in_routine(s, to)) {
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

#endif

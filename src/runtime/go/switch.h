/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_switch: rules for Go's functions that change stacks, read from what they do.
 *
 *   goroutine's stack      main.main ─► runtime.mallocgc ─► runtime.systemstack ┐  SP is saved in g.sched.sp
 *   thread's stack (g0)                                                         └► runtime.(*mheap).alloc ...
 *
 * Where in a thread the g is, and where in that the rest, differs between versions of Go and ways of linking. But each
 * such function must find the way back itself when what it called returns: the code behind the call says where the
 * caller's SP is, as an expression of SP or of the thread pointer. That is followed, up to the return:
 *
 *   systemstack      [[[thread + g] + m] + curg] + sched.sp     GO_SYSTEMSTACK
 *   cgocallback      [[[thread + g] + m] + g0] + sched.sp       GO_CALLBACK
 *   asmcgocall       [[SP + a] + stack.hi] - [SP + b]           GO_CCALL, or
 *                    [SP + b]                                   UNWIND_SP_DEREF, where it was on the thread's stack
 *                                                               before
 *   nanotime, ...    R12, which the vDSO may have saved anywhere; but what was in m.vdsoSP before is the CFA, too:
 *                                                               GO_VDSO
 *
 * Up to the switch, and from the switch back on, and as long as some register has the old SP, plain rules do. morestack
 * never returns to its caller, mcall's function never does: by name, GO_MORESTACK and UNWIND_END. clone(), by
 * name, too, returns twice.
 *
 * (Go: src/runtime/asm_amd64.s, sys_linux_amd64.s, time_linux_amd64.s, stack.go.) For src/runtime/go/ only.
 */
#ifndef STRATA_RUNTIME_GO_SWITCH_H
#define STRATA_RUNTIME_GO_SWITCH_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "arch/arch.h"

/* A function of Go's tables; `end` may include padding. */
struct go_function {
	uint64_t start, end;
	const char *name;
};

struct go_switch;

/*
 * `systemstack` and `save` (gosave_systemstack_switch) may have no name, if the file has none; `schedules`: it has a
 * runtime.schedule. 0, -ENOMEM, or -ENOTSUP when code cannot be read on this machine.
 */
int go_switch_create(const struct elf_file *elf, const struct unwind_arch *arch, const struct go_function *systemstack,
		     const struct go_function *save, bool schedules, struct go_switch **ret);
void go_switch_destroy(struct go_switch *go);

/*
 * Calls `range` for all addresses of a function that changes stacks, in order; what cannot be told has
 * UNWIND_OTHER_STACK. It ends when that gives other than 0, which is returned.
 */
int go_switch_ranges(struct go_switch *go, const struct go_function *function,
		     int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context);

/*
 * What a rule names by its address (GO_GOT) is counted from a table's base on afterwards; UNWIND_OTHER_STACK
 * where that cannot be.
 */
void go_switch_rebase(struct unwind_rule *rule, uint64_t base);

#endif

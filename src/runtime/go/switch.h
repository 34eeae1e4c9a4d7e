/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * go_switch: rules for Go's functions that change stacks, derived from their code.
 *
 *   goroutine's stack      main.main ─► runtime.mallocgc ─► runtime.systemstack ┐  SP is saved in g.sched.sp
 *   thread's stack (g0)                                                         └► runtime.(*mheap).alloc ...
 *
 * The offset of g in a thread, and the offsets inside g, differ between versions of Go and kinds of linking. But each
 * such function must itself find the way back when its callee returns: the code after the call computes the caller's
 * SP, as an expression of SP or of the thread pointer. This code is followed up to the return:
 *
 *   systemstack      [[[thread + g] + m] + curg] + sched.sp     GO_SYSTEMSTACK
 *   cgocallback      [[[thread + g] + m] + g0] + sched.sp       GO_CALLBACK
 *   asmcgocall       [[SP + a] + stack.hi] - [SP + b]           GO_CCALL, or
 *                    [SP + b]                                   UNWIND_SP_DEREF, where it was on the thread's stack
 *                                                               before
 *   nanotime, ...    R12, which the vDSO may have saved anywhere; but what was in m.vdsoSP before is the CFA, too:
 *                                                               GO_VDSO
 *
 * Before the switch, after the switch back, and while some register holds the old SP, plain rules are enough. morestack
 * and the function called by mcall never return to their callers; they are recognised by name and have GO_MORESTACK and
 * UNWIND_END. So has gogo, once it is on the stack of the goroutine that it is about to jump into: it was called by the
 * scheduler, and nothing there has called it. clone(), also recognised by name, returns twice.
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
 * `systemstack` and `save` (gosave_systemstack_switch) may be NULL if the file lacks them; `schedules`: the file has a
 * runtime.schedule. 0, -ENOMEM, or -ENOTSUP when code cannot be read on this machine.
 */
int go_switch_create(const struct elf_file *elf, const struct unwind_arch *arch, const struct go_function *systemstack,
		     const struct go_function *save, bool schedules, struct go_switch **ret);
void go_switch_destroy(struct go_switch *go);

/*
 * Calls `range` for all addresses of a function that changes stacks, in order. Addresses for which no rule is found get
 * UNWIND_OTHER_STACK. Ends when `range` returns non-zero, and returns that.
 */
int go_switch_ranges(struct go_switch *go, const struct go_function *function,
		     int (*range)(void *context, uint64_t start, uint64_t end, struct unwind_rule rule), void *context);

/*
 * Makes the address in a rule (GO_GOT) relative to a table's base. The rule becomes UNWIND_OTHER_STACK if that is not
 * possible.
 */
void go_switch_rebase(struct unwind_rule *rule, uint64_t base);

#endif

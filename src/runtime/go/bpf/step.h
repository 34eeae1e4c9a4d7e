/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Steps from one of Go's stacks to another (struct go_rule).
 *
 * Go runs goroutines on small stacks of their own. What needs more room (the allocator, the scheduler and C) runs on
 * the thread's own stack, that of g0. The runtime keeps in its structures which goroutine was left and its SP, and
 * reads them when it switches back. The same reads are made here, and the values are checked: the place must lie in the
 * goroutine's stack, and a walk must not go twice from the thread's own stack to the same goroutine's. Otherwise the
 * stack ends with other-stack.
 *
 *   g0's stack          ... cgocallback ◄─ C ◄─ asmcgocall      ... systemstack
 *                               │                  ▲                    ▲
 *   goroutine's stack     ◄─────┘ main.callback    └── main.main        └── main.main
 *
 * With callbacks either stack has several parts. Both sched.sp say where the innermost parts begin. The callback's
 * frames say where the next ones begin: they directly follow the goroutine's last part, and their first word holds the
 * previous sched.sp of g0.
 *
 * While this thread is on its own stack, another thread may move the goroutine's stack (the garbage collector shrinks
 * it). Then sched.sp has changed when the walk is done, and the frames read from that stack are dropped.
 *
 * A read costs some 80 ns, and only walks that reach such a function make them. Below mcall, and below morestack when a
 * goroutine is preempted, the scheduler has left the goroutine that called it: there is no caller, and these stacks are
 * complete. A late sample has no copy of the goroutine's stack, and ends with late. In a shared library only the
 * dynamic linker knows where a thread's g is: there the rule names the word in which the linker stores it, relative to
 * the mapping.
 */
#ifndef STRATA_RUNTIME_GO_BPF_STEP_H
#define STRATA_RUNTIME_GO_BPF_STEP_H

#include "abi/loss.h"
#include "arch/walk.h"
#include "bpf/mapping.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "runtime/go/abi.h"

enum go_flag {
	GO_ON_GOROUTINE = 1, /* the walk has gone from the thread's own stack to a goroutine's */
	GO_LEFT = 2,    /* it has passed the scheduler: the goroutine that called it no longer runs on this thread */
	GO_IN_VDSO = 4, /* it has passed a call of the vDSO */
	GO_CALLED = 8   /* it has passed a callback: curg_sp and g0_sp say where the stacks continue */
};

static __always_inline int go_read(struct scratch *s, __u64 address, __u64 *ret)
{
	return walk_read_user(s, ret, sizeof(*ret), address);
}

/* Two words. */
static __always_inline int go_read_pair(struct scratch *s, __u64 address)
{
	return walk_read_user(s, s->native.steps.go.pair, sizeof(s->native.steps.go.pair), address);
}

/* Reads the current thread's m, and the word in it that the rule names. 0 or an enum loss. */
static __always_inline __u32 go_read_m(struct scratch *s, const struct go_rule *rule, __u64 *ret)
{
	struct native_walk *walk = &s->native;
	__u64 pc = walk->pc - walk->behind;
	__u64 g = 0, at = 8 * (__u64)(__s64)rule->thread;

	if (rule->got) {
		if (!native_mapping_has(walk, pc) && !WALK_CALL(native_find_mapping, s, pc))
			return LOSS_OTHER_STACK;
		if (go_read(s, walk->mapping.bias + 8 * (__u64)GO_GOT(rule), &at))
			return LOSS_STACK_READ;
	}
	if (go_read(s, s->task.thread_pointer + at, &g))
		return LOSS_STACK_READ;
	if (!g)
		return LOSS_OTHER_STACK;
	return go_read(s, g + 8 * rule->m, ret) ? LOSS_STACK_READ : *ret ? LOSS_NONE : LOSS_OTHER_STACK;
}

/* Checks that a frame at SP lies in g's stack, whose bounds are g's first two words. 0 or an enum loss. */
static __always_inline __u32 go_check_stack(struct scratch *s, __u64 g, __u64 sp, __u64 cfa)
{
	const __u64 *pair = s->native.steps.go.pair;

	if (go_read_pair(s, g))
		return LOSS_STACK_READ;
	return (sp & 7) || sp < pair[0] || cfa > pair[1] || cfa < sp ? LOSS_OTHER_STACK : LOSS_NONE;
}

/* From here on another thread may move what is read. If it does, the word at `at` changes. */
static __always_inline void go_watch(struct native_walk *walk, __u64 at, __u64 value)
{
	if (walk->steps.go.at)
		return;
	walk->steps.go.at = at;
	walk->steps.go.value = value;
	walk->steps.go.count = walk->count;
	walk->steps.go.hash = walk->hash;
}

/* Moves to the caller by its CFA. */
static __always_inline __u32 go_return(struct scratch *s, const struct go_rule *rule, __u64 cfa)
{
	struct native_walk *walk = &s->native;
	__u64 pc = 0, fp = walk->fp;

	if (go_read(s, cfa - ARCH_RETURN_BYTES, &pc) || (rule->frame > 1 && go_read(s, cfa - 16, &fp)))
		return LOSS_STACK_READ;
	if (!pc)
		return LOSS_OTHER_STACK;
	walk->pc = pc;
	walk->sp = cfa;
	walk->fp = fp;
	return LOSS_NONE;
}

/* systemstack, morestack. */
static __always_inline __u32 go_to_goroutine(struct scratch *s, const struct go_rule *rule)
{
	struct native_walk *walk = &s->native;
	bool more = rule->kind == GO_MORESTACK;
	__u64 m = 0, g = 0, sp, pc;
	__u32 loss;

	if (walk->steps.go.flags & GO_ON_GOROUTINE)
		return LOSS_OTHER_STACK;
	loss = go_read_m(s, rule, &m);
	if (loss)
		return loss;
	if (go_read(s, m + 8 * rule->to, &g))
		return LOSS_STACK_READ;
	if (more && (!g || walk->steps.go.flags & GO_LEFT)) {
		native_end(walk, LOSS_NONE); /* the scheduler, as below mcall() */
		return LOSS_NONE;
	}
	if (!g || walk->steps.go.flags & GO_LEFT)
		return LOSS_OTHER_STACK;
	if (go_read_pair(s, g + 8 * rule->sp))
		return LOSS_STACK_READ;
	sp = walk->steps.go.pair[0];
	pc = walk->steps.go.pair[1];
	go_watch(walk, g + 8 * rule->sp, sp);
	if (walk->steps.go.flags & GO_CALLED) {
		if (more)
			return LOSS_OTHER_STACK;
		sp = walk->steps.go.curg_sp;
	}
	loss = go_check_stack(s, g, sp, sp + 8 * rule->frame);
	if (loss)
		return loss;
	walk->steps.go.flags |= GO_ON_GOROUTINE;
	walk->steps.go.thread_sp = walk->sp;
	if (!more)
		return go_return(s, rule, sp + 8 * rule->frame);
	if (!pc)
		return LOSS_OTHER_STACK;
	walk->pc = pc;
	walk->sp = sp;
	return LOSS_NONE;
}

/* cgocallback: it has a frame on the goroutine's stack, and another one on the thread's own, which was called by C. */
static __always_inline __u32 go_to_thread(struct scratch *s, const struct go_rule *rule)
{
	struct native_walk *walk = &s->native;
	__u64 m = 0, g0 = 0, sp = walk->steps.go.g0_sp, next = 0;
	__u32 loss;

	if (!(walk->steps.go.flags & GO_CALLED)) {
		loss = go_read_m(s, rule, &m);
		if (loss)
			return loss;
		if (go_read(s, m + 8 * rule->to, &g0) || go_read(s, g0 + 8 * rule->sp, &sp))
			return LOSS_STACK_READ;
	}
	/* Another callback was interrupted at its begin or end, on the thread's stack: the word there belongs to it. */
	if (sp && sp < walk->steps.go.thread_sp && go_read(s, sp, &sp))
		return LOSS_STACK_READ;
	if (!sp || (sp & 7) || sp < walk->steps.go.thread_sp)
		return LOSS_OTHER_STACK;
	if (go_read(s, sp, &next))
		return LOSS_STACK_READ;
	walk->steps.go.g0_sp = next;
	walk->steps.go.curg_sp = walk->sp + 8 * rule->frame;
	walk->steps.go.flags = (walk->steps.go.flags & ~(__u32)GO_ON_GOROUTINE) | GO_CALLED;
	return go_return(s, rule, sp + 8 * rule->frame);
}

/* asmcgocall, as C sees it. */
static __always_inline __u32 go_from_c(struct scratch *s, const struct go_rule *rule)
{
	struct native_walk *walk = &s->native;
	__u64 g = 0, depth = 0, sp;

	if (walk->steps.go.flags & GO_ON_GOROUTINE)
		return LOSS_OTHER_STACK;
	if (go_read(s, walk->sp + 8 * rule->m, &g) || go_read(s, walk->sp + 8 * rule->to, &depth) || go_read_pair(s, g))
		return LOSS_STACK_READ;
	sp = walk->steps.go.pair[1] - depth;
	if (!g || (sp & 7) || sp < walk->steps.go.pair[0] || sp + 8 * rule->frame > walk->steps.go.pair[1])
		return LOSS_OTHER_STACK;
	walk->steps.go.flags |= GO_ON_GOROUTINE;
	walk->steps.go.thread_sp = walk->sp;
	return go_return(s, rule, sp + 8 * rule->frame);
}

/* The return address is also stored beside the CFA, for Go's own profiler. */
static __always_inline __u32 go_from_vdso(struct scratch *s, const struct go_rule *rule)
{
	struct native_walk *walk = &s->native;
	__u64 m = 0, pc;
	__u32 loss;

	if (walk->steps.go.flags & GO_IN_VDSO)
		return LOSS_OTHER_STACK;
	loss = go_read_m(s, rule, &m);
	if (loss)
		return loss;
	if (go_read_pair(s, m + 8 * rule->to))
		return LOSS_STACK_READ;
	pc = walk->steps.go.pair[1];
	if (!walk->steps.go.pair[0] || (walk->steps.go.pair[0] & 7))
		return LOSS_OTHER_STACK;
	walk->steps.go.flags |= GO_IN_VDSO;
	loss = go_return(s, rule, walk->steps.go.pair[0] + 8 * rule->frame);
	return !loss && walk->pc != pc ? LOSS_OTHER_STACK : loss;
}

/* Registers are known where the function itself was interrupted; BX is also known farther out. */
static __always_inline __u32 go_by_register(struct scratch *s, const struct go_rule *rule)
{
	struct native_walk *walk = &s->native;
	__u64 sp = walk->registers[rule->m & (ARCH_REGISTERS - 1)];

	if ((sp & 7) || (walk->behind && (rule->m != REG_CARRIED || !(walk->known & REGS_CARRIED))))
		return LOSS_OTHER_STACK;
	return go_return(s, rule, sp + 8 * rule->frame);
}

/* Moves to the caller by a struct go_rule. Not 0 when the walk has ended. */
static __noinline int go_change_stack(struct scratch *s, __u32 slot)
{
	const struct go_rule *rule = (const void *)&s->memo.rules[slot & (NATIVE_MEMO - 1)].rule;
	struct native_walk *walk = &s->native;
	__u32 loss = LOSS_OTHER_STACK;

	if (ARCH_LINKS) /* no such rules are made */
		return native_end(walk, LOSS_OTHER_STACK);
	switch (rule->kind) {
	case GO_SYSTEMSTACK:
	case GO_MORESTACK:
		loss = go_to_goroutine(s, rule);
		break;
	case GO_CALLBACK:
		loss = go_to_thread(s, rule);
		break;
	case GO_CCALL:
		loss = go_from_c(s, rule);
		break;
	case GO_REGISTER:
		loss = go_by_register(s, rule);
		break;
	case GO_VDSO:
		loss = go_from_vdso(s, rule);
		break;
	}
	if (loss)
		return native_end(walk, loss);
	walk->known = REGS_CALLER_SAVED;
	walk->behind = 1;
	return walk->done;
}

static __always_inline int go_step(struct scratch *s, __u32 slot, __u64 *cfa)
{
	const struct unwind_rule *rule = &s->memo.rules[slot & (NATIVE_MEMO - 1)].rule;
	struct native_walk *walk = &s->native;

	if (rule->kind != GO_SCHEDULE)
		return go_change_stack(s, slot);
	walk->steps.go.flags |= GO_LEFT;
	*cfa = walk->sp + rule->cfa_offset;
	return STEP_CFA;
}

static __always_inline bool go_step_generated(struct scratch *s)
{
	(void)s;
	return false;
}

static __always_inline void go_begin_steps(struct native_walk *walk)
{
	walk->steps.go.flags = 0;
	walk->steps.go.at = walk->steps.go.thread_sp = 0;
}

/* Drops the frames of a stack that another thread has moved meanwhile. */
static __always_inline void go_end_steps(struct scratch *s)
{
	struct native_walk *walk = &s->native;
	__u64 now = 0;

	if (!walk->steps.go.at || (!go_read(s, walk->steps.go.at, &now) && now == walk->steps.go.value))
		return;
	walk->count = walk->steps.go.count;
	walk->hash = walk->steps.go.hash;
	walk->loss = LOSS_OTHER_STACK;
	walk->done = 1;
}

#endif

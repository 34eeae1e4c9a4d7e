/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resume: a walk that a tick could not finish is done in the thread's own context.
 *
 * A tick reads the thread's memory without page faults, and has little time. Sometimes a page that it needs is not
 * present: the kernel is just copying it, because the process has forked and writes to it for the first time; or it is
 * a page of a file (a code object in the interpreter's own data) that a forked process has not touched yet. Or the
 * stack is deeper than can be walked in an interrupt (time.h). Until the thread is back in user mode, none of its user
 * state changes: its registers are saved, and it does not run. So the sample is sent with what is known, and the walk
 * is repeated as task work, which runs right before the return to user mode. The result follows as EVENT_RESUMED with
 * the same sequence.
 *
 *   tick (interrupt) ── read fails, time over ──► slot: sequence, PC, SP, mm ──► task work
 *   return to user mode ─────────────► same PC, SP and mm? ─► walk, piece by piece, send ─► slot is free
 *
 * If the PC has changed (a signal is delivered, a system call is restarted) or the mm has (exec), the first result is
 * kept.
 *
 * In task work interrupts are on, but a kernel without preemption runs no other task before the callback returns. So a
 * long walk is split into pieces of RESUME_PIECE_NS, each a task work of its own: between two of them the kernel lets
 * other tasks run (task_work_run() in kernel/task_work.c). A slot has two works, because a work cannot be scheduled by
 * its own callback. The other work must be queued before the callback returns, or the thread might reach user mode
 * first. Where the kernel's irq_work does not run at once, the walk ends.
 *
 * Ticks that come meanwhile find the thread in the same state: they join the slot and share its result. Otherwise each
 * tick during a long walk would request another walk, and the thread would never make progress.
 *
 * Task work can be preempted by a tick, which has its own scratch, and by another thread's task work. So a walk takes
 * one of the spare scratches and keeps it from its first piece to its last. If none is free, the walk is given up.
 *
 * Needs bpf_task_work_schedule_resume() (6.18; there with the suffix _impl). 7.2's BTF has both names, and only the one
 * without a suffix has an address. TWA_RESUME does not interrupt system calls, unlike the variant that signals.
 *
 * Missing pages are faulted in first, at most 16 times. The sample waits for its second part in engine/watch_records.c,
 * for three seconds at most. Frames that may be stale stack contents are dropped without a loss only if the thread
 * itself could not read them either. tests/chaos/memory.t pages a program out while it runs.
 */
#ifndef STRATA_BPF_RESUME_H
#define STRATA_BPF_RESUME_H

#include "abi/counters.h"
#include "abi/events.h"
#include "abi/loss.h"
#include "bpf/process_maps.h"
#include "bpf/registers.h"
#include "bpf/scratch.h"
#include "bpf/send.h"
#include "bpf/shim.h"
#include "bpf/time.h"
#include "bpf/walks.h"

/* Kernels without task work for BPF programs use another object, which does not contain this. */
#ifndef SAMPLER_RESUMES
static void resume_later(struct scratch *s)
{
}

static bool resume_joins(struct scratch *s)
{
	return false;
}

#else

#define RESUME_TRIES    16u           /* failed reads that are faulted in for one sample */
#define RESUME_SLOTS    256u          /* threads that wait at the same time; a power of two */
#define RESUME_PLACES   4u            /* slots in which a thread looks for a free one */
#define RESUME_SPARES   64u           /* scratches that are tried, at most */
#define RESUME_STALE_NS 3000000000ull /* user space does not wait longer for EVENT_RESUMED */
#define RESUME_PIECE_NS 250000ull
/*
 * A walk that took so long, waiting for the CPU, may have read tables that were reused for another process:
 * abi/tables.h.
 */
#define RESUME_LONG_NS  500000000ull

struct resume_slot {
	struct bpf_task_work work;
	__u64 sequence, time, pc, sp, mm, fault, fault_last;
	__u64 native_stack, second_stack; /* of the tick */
	process_cookie cookie;
	__u32 tgid, tid;
	__u64 taken;   /* when, or 0 */
	__u64 started; /* when the first piece began */
	__u32 scratch; /* its index, once the walk has begun; else 0 */
	__u32 tries;   /* to fault in what could not be read */
	__u32 is_away; /* something is to be faulted in */
	__u32 joinable;
	__u32 has_no_copy;              /* of the stack: the tick did not send it, though its sample is late */
	__u16 native_loss, second_loss; /* of the tick */
	__u32 flags;                    /* the same */
};

/* First the slots, then the second works of the slots. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 2 * RESUME_SLOTS);
	__type(key, __u32);
	__type(value, struct resume_slot);
} resume_slots SEC(".maps");

static __always_inline struct resume_slot *resume_slot_at(__u32 index)
{
	return bpf_map_lookup_elem(&resume_slots, &index);
}

/* Where a thread's slot may be. */
static __always_inline __u32 resume_place(__u32 tid, __u32 i)
{
	return (tid + i * 89) & (RESUME_SLOTS - 1);
}

/* Did a read of the thread's own memory fail? */
static __always_inline bool was_unreadable(const struct scratch *s)
{
	return s->find.busy || s->sample.native_loss == LOSS_STACK_READ || s->sample.second_loss == LOSS_SECOND_READ ||
	       s->unread;
}

static __always_inline bool was_cut(const struct scratch *s)
{
	return s->sample.native_loss == LOSS_TIME_LIMIT || s->sample.second_loss == LOSS_TIME_LIMIT;
}

/*
 * Takes a scratch for task context. Returns its index, or 0 when all are in use. Global, so that it is verified by
 * itself.
 */
__noinline __u32 resume_take_scratch(void)
{
	__u32 i, index;

	for (i = 0; i < RESUME_SPARES && i < loaded.spares; i++) {
		struct scratch *s = scratch_at(loaded.cpus + i);

		index = loaded.cpus + i;
		if (s && !__sync_val_compare_and_swap(&s->busy, 0, 1)) {
			s->index = index;
			return index;
		}
	}
	return 0;
}

/*
 * Is the thread as it was when the sample was taken? Then its registers are in s->native. Global, because the callback
 * must not call static functions: it schedules itself, and the verifier takes that for an endless loop in these.
 */
__noinline int resume_matches(scratch_ref scratch, __u32 index)
{
	struct resume_slot *slot = resume_slot_at(index);
	struct scratch *s = SCRATCH_OF(scratch);

	if (!s || !slot)
		return 0;
	take_task(scratch);
	return s->sample.tid == slot->tid && s->task.mm == slot->mm && !saved_registers(s, true) &&
	       s->native.pc == slot->pc && s->native.sp == slot->sp;
}

/* Faults in what could not be read, as the thread itself would. A read covers two pages at most. */
static __always_inline void bring_in(struct scratch *s)
{
	__u8 byte;

	s->absent = 0;
	if (!s->fault)
		return;
	if (bpf_copy_from_user(&byte, sizeof(byte), (void *)s->fault) ||
	    bpf_copy_from_user(&byte, sizeof(byte), (void *)s->fault_last))
		s->absent = s->fault;
}

/* Begins the walk, for the first time or again. */
static __always_inline bool resume_begin(struct scratch *s, struct resume_slot *slot, __u32 index)
{
	if (slot->is_away)
		bring_in(s);
	if (!resume_matches(SCRATCH_REF(s), index))
		return false;
	s->sample.header.type = EVENT_RESUMED;
	s->sample.time = slot->time;
	s->sample.sequence = slot->sequence;
	s->sample.cookie = slot->cookie;
	s->sample.kernel_stack = s->sample.native_stack = s->sample.second_stack = 0;
	s->sample.tgid = slot->tgid;
	s->sample.tid = slot->tid;
	s->sample.native_loss = s->sample.second_loss = LOSS_NONE;
	s->sample.flags = 0;
	begin_user_stacks(s);
	if (!slot->tries)
		walk_time_begin(s, 0, TASK_TIME_NS, TASK_TIME_NS);
	s->time.walks = WALKS_BEGIN;
	return true;
}

/* From here on the result is being sent, and no tick may join. */
static __always_inline void resume_send(struct scratch *s, struct resume_slot *slot)
{
	bool copies = slot->has_no_copy && s->sample.flags & SAMPLE_LATE;

	*(volatile __u32 *)&slot->joinable = 0;
	if (copies) /* a file is not known, or another thread of the process is changing the mappings */
		s->sample.flags |= SAMPLE_RESUMES;
	if (bpf_ringbuf_output(&events, &s->sample, SAMPLE_EVENT_BRIEF, wakeup(s, false)))
		count(COUNTER_STACK_DROPPED, 1);
	else if (copies)
		send_snapshot(s);
}

/*
 * Walks one piece, and sends it if it is the last. 1: there is more to do. Global, so that the verifier does not follow
 * its paths through the rest; what may sleep stays outside of it, because a global function is verified as if it might
 * be called anywhere.
 */
__noinline int resume_piece(scratch_ref scratch, __u32 index)
{
	struct scratch *s = SCRATCH_OF(scratch);
	struct resume_slot *slot = resume_slot_at(index);

	if (!s || !slot)
		return 0;
	walk_time_go_on(s, RESUME_PIECE_NS);
	if (take_user_stacks(scratch))
		return 1;
	if (was_unreadable(s) && ++slot->tries < RESUME_TRIES) {
		slot->is_away = 1;
		s->time.walks = WALKS_BEGIN;
		return 1;
	}
	resume_send(s, slot);
	return 0;
}

/* The same, if the walk still belongs to the thread's present state and is not too late. */
static __always_inline bool resume_walk(struct scratch *s, struct resume_slot *slot, __u32 index, __u64 now)
{
	if (now > slot->started + RESUME_LONG_NS)
		return false;
	if (s->time.walks == WALKS_BEGIN && !resume_begin(s, slot, index))
		return false;
	return resume_piece(SCRATCH_REF(s), index);
}

static __always_inline long resume_schedule(struct task_struct *task, struct bpf_task_work *work);

/* Schedules the slot's other work to continue before the thread reaches user mode. */
static __always_inline bool resume_go_on(__u32 other)
{
	struct resume_slot *slot = resume_slot_at(other);
	struct task_struct *task = bpf_get_current_task_btf();

	return slot && !resume_schedule(task, &slot->work) && task->task_works;
}

static int resume_callback(struct bpf_map *map, void *key, void *value)
{
	__u32 index = *(__u32 *)key, spare;
	__u64 now = bpf_ktime_get_ns();
	struct resume_slot *slot;
	struct scratch *s;

	slot = resume_slot_at(index & (RESUME_SLOTS - 1));
	if (!slot || slot->tid != (__u32)current_ids())
		return 0;
	spare = slot->scratch;
	if (!spare && index >= RESUME_SLOTS)
		return 0; /* for a walk that did not wait for it */
	if (!spare) {
		spare = slot->scratch = resume_take_scratch();
		slot->started = now;
		s = scratch_at(spare);
		if (spare && s) {
			s->time.walks = WALKS_BEGIN;
			s->fault = slot->fault;
			s->fault_last = slot->fault_last;
		}
	}
	s = scratch_at(spare);
	if (spare && s) {
		bool more = resume_walk(s, slot, index & (RESUME_SLOTS - 1), now);

		count(COUNTER_TASK_NS, bpf_ktime_get_ns() - now);
		if (more && resume_go_on(index ^ RESUME_SLOTS))
			return 0;
		slot->scratch = 0;
		__sync_lock_test_and_set(&s->busy, 0);
	}
	slot->joinable = 0;
	slot->taken = 0;
	return 0;
}

/*
 * Calls the kernel's function, which has one more argument where its name ends with _impl. With an extern symbol libbpf
 * would parse all types of the kernel to find the number of this function (kernel/kernel_btf.h), and two names would
 * need two objects. So the loader writes the number over RESUME_FUNCTION: BPF_JMP | BPF_CALL, BPF_PSEUDO_KFUNC_CALL
 * (uapi/linux/bpf.h).
 */
#define STRING(x)       #x
#define EXPANDED(x)     STRING(x)

static __always_inline long resume_schedule(struct task_struct *task, struct bpf_task_work *work)
{
	long ret;

	asm volatile("r1 = %[task]\n"
		     "r2 = %[work]\n"
		     "r3 = %[map] ll\n"
		     "r4 = %[callback] ll\n"
		     "r5 = 0\n"
		     ".long 0x2085, " EXPANDED(RESUME_FUNCTION) "\n"
								"%[ret] = r0\n"
		     : [ret] "=r"(ret)
		     : [task] "r"(task), [work] "r"(work), [map] "i"(&resume_slots), [callback] "i"(resume_callback)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return ret;
}

/*
 * A slot whose work has not run after RESUME_STALE_NS is taken over. Its thread sleeps in the kernel, or the kernel has
 * dropped the work, which it does silently when the thread exits. If such work still runs later, it does no harm: it
 * finds other registers and another address space than those in the slot.
 */
static __always_inline struct resume_slot *resume_slot_take(__u32 tid, __u64 now)
{
	struct resume_slot *slot;
	__u32 i, index;
	__u64 taken;

	for (i = 0; i < RESUME_PLACES; i++) {
		index = resume_place(tid, i);
		slot = resume_slot_at(index);
		if (!slot)
			return NULL;
		taken = slot->taken;
		if ((!taken || (taken + RESUME_STALE_NS < now && !slot->scratch)) &&
		    __sync_val_compare_and_swap(&slot->taken, taken, now) == taken)
			return slot;
	}
	return NULL;
}

/*
 * Is a walk of this thread's user part already scheduled or running? Then the user part has not changed since. This
 * sample gets the same result, and until that arrives it has what the first sample had.
 */
static __noinline bool resume_joins(struct scratch *s)
{
	struct resume_slot *slot;
	__u32 i;

	if (!(s->sample.flags & SAMPLE_IN_KERNEL))
		return false;
	for (i = 0; i < RESUME_PLACES; i++) {
		slot = resume_slot_at(resume_place(s->sample.tid, i));
		if (!slot || !slot->joinable || slot->tid != s->sample.tid || slot->cookie != s->sample.cookie ||
		    slot->mm != s->task.mm || slot->pc != s->native.pc || slot->sp != s->native.sp)
			continue;
		s->sample.sequence = slot->sequence;
		s->sample.native_stack = slot->native_stack;
		s->sample.second_stack = slot->second_stack;
		s->sample.native_loss = slot->native_loss;
		s->sample.second_loss = slot->second_loss;
		s->sample.flags |= SAMPLE_RESUMES | slot->flags;
		return true;
	}
	return false;
}

/* Schedules a second walk for the sample in `s`, if it needs one. */
static __noinline void resume_later(struct scratch *s)
{
	struct resume_slot *slot;

	if (!was_unreadable(s) && !was_cut(s))
		return;
	slot = resume_slot_take(s->sample.tid, s->sample.time);
	if (!slot)
		return;
	slot->sequence = s->sample.sequence;
	slot->time = s->sample.time;
	slot->pc = s->task.pc;
	slot->sp = s->second.stack_pointer;
	slot->mm = s->task.mm;
	slot->fault = s->fault;
	slot->fault_last = s->fault_last;
	slot->cookie = s->sample.cookie;
	slot->tgid = s->sample.tgid;
	slot->tid = s->sample.tid;
	slot->tries = 0;
	slot->has_no_copy = s->find.busy && s->sample.flags & SAMPLE_LATE;
	slot->is_away = was_unreadable(s);
	slot->native_stack = s->sample.native_stack;
	slot->second_stack = s->sample.second_stack;
	slot->native_loss = s->sample.native_loss;
	slot->second_loss = s->sample.second_loss;
	slot->flags = s->sample.flags & (SAMPLE_SECOND | SAMPLE_VFORK);
	if (resume_schedule(bpf_get_current_task_btf(), &slot->work)) {
		slot->taken = 0;
		return;
	}
	s->sample.flags |= SAMPLE_RESUMES;
	slot->joinable = !(s->sample.flags & SAMPLE_LATE);
	/* No copy of the stack is needed: usually the thread itself is changing its mappings. */
	if (slot->has_no_copy)
		s->sample.flags &= ~SAMPLE_LATE;
}

#endif /* SAMPLER_RESUMES */

#endif

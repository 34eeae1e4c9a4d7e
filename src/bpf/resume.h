/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * resume: a second try for samples whose memory could not be read.
 *
 * A tick reads the thread's memory without page faults. Now and then a page it needs is not there. The kernel is just
 * copying it, because the process has forked and writes to it for the first time; or a forked process has not touched
 * it yet, and it is a page of a file (a code object in the interpreter's own data). Until the thread is back in user
 * mode, none of its user state changes: its registers are saved, and it does not run. So the sample is sent with what
 * there is, and the walk is made again as task work, which runs right before the return to user mode. The result
 * follows as EVENT_RESUMED with the same sequence.
 *
 *   tick (interrupt) ── read fails ──► slot: sequence, PC, SP, mm ──► task work
 *   return to user mode ─────────────► same PC, SP and mm? ─► walk, send ─► slot is free
 *
 * When the PC has changed (a signal is delivered, a system call is restarted) or the mm (exec), the first result
 * stands. Task work can be preempted by a tick, which has a scratch of its own, and by another thread's task work:
 * those share RESUME_SCRATCHES scratches, and who finds none free gives up.
 *
 * Needs bpf_task_work_schedule_resume() (6.18; there with the suffix _impl). TWA_RESUME does not interrupt system
 * calls, unlike the variant that signals.
 */
#ifndef STRATA_BPF_RESUME_H
#define STRATA_BPF_RESUME_H

#define RESUME_TRIES    16u           /* reads that may be brought in for one sample */
#define RESUME_SLOTS    256u          /* threads that wait at the same time; a power of two */
#define RESUME_PLACES   4u            /* where a thread looks for a free one */
#define RESUME_STALE_NS 3000000000ull /* user space does not wait longer for EVENT_RESUMED */

struct resume_slot {
	struct bpf_task_work work;
	__u64 sequence, time, pc, sp, mm, fault, fault_last;
	process_cookie cookie;
	__u32 tgid, tid;
	__u64 taken; /* when, or 0 */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RESUME_SLOTS);
	__type(key, __u32);
	__type(value, struct resume_slot);
} resume_slots SEC(".maps");

/* Did memory that is the thread's own refuse to be read? */
static __always_inline bool was_unreadable(const struct scratch *s)
{
	return s->sample.native_loss == LOSS_STACK_READ || s->sample.python_loss == LOSS_PY_READ || s->unread;
}

/* Takes a scratch for task context; NULL when all are in use. */
static __always_inline struct scratch *resume_scratch(void)
{
	__u32 index = loaded.cpus + (bpf_get_smp_processor_id() & (RESUME_SCRATCHES - 1));
	struct scratch *s = scratch_at(index);

	if (!s || __sync_val_compare_and_swap(&s->busy, 0, 1))
		return NULL;
	s->index = index;
	return s;
}

/* The thread is as it was when the sample was taken? Then its registers are in s->native. */
static __noinline bool resume_matches(struct scratch *s, struct resume_slot *slot)
{
	take_task(s->index);
	return s->sample.tid == slot->tid && s->task.mm == slot->mm && !arch_saved_registers(s, true) &&
	       s->native.pc == slot->pc && s->native.sp == slot->sp;
}

/* Brings in what could not be read, as the thread itself would. A read goes over two pages at most. */
static __always_inline void bring_in(struct scratch *s)
{
	__u8 byte;

	s->absent = 0;
	if (bpf_copy_from_user(&byte, sizeof(byte), (void *)s->fault) ||
	    bpf_copy_from_user(&byte, sizeof(byte), (void *)s->fault_last))
		s->absent = s->fault;
}

static __always_inline void resume_walk(struct scratch *s, struct resume_slot *slot)
{
	__u32 try;

	s->fault = slot->fault;
	s->fault_last = slot->fault_last;
	for (try = 0; try < RESUME_TRIES; try++) {
		bring_in(s);
		if (!resume_matches(s, slot))
			return;
		s->sample.header.type = EVENT_RESUMED;
		s->sample.time = slot->time;
		s->sample.sequence = slot->sequence;
		s->sample.cookie = slot->cookie;
		s->sample.kernel_stack = s->sample.native_stack = s->sample.python_stack = 0;
		s->sample.tgid = slot->tgid;
		s->sample.tid = slot->tid;
		s->sample.native_loss = s->sample.python_loss = LOSS_NONE;
		s->sample.flags = 0;
		take_user_stacks(s->index);
		if (!was_unreadable(s))
			break;
	}
	if (bpf_ringbuf_output(&events, &s->sample, sizeof(s->sample), wakeup(s, false)))
		count(COUNTER_STACK_DROPPED, 1);
}

static int resume_callback(struct bpf_map *map, void *key, void *value)
{
	struct resume_slot *slot = value;
	struct scratch *s = resume_scratch();

	if (s) {
		resume_walk(s, slot);
		__sync_lock_test_and_set(&s->busy, 0);
	}
	slot->taken = 0;
	return 0;
}

/*
 * The call of the kernel's function, which has one more argument where its name ends with _impl. An extern symbol would
 * have libbpf parse all types of the kernel for the number of this one (kernel/kernel_btf.h), and be two objects for
 * two names. So the loader writes the number over RESUME_FUNCTION: BPF_JMP | BPF_CALL, BPF_PSEUDO_KFUNC_CALL
 * (uapi/linux/bpf.h).
 */
#define STRING(x)   #x
#define EXPANDED(x) STRING(x)

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
 * A slot whose work has not run after RESUME_STALE_NS is taken over: its thread sleeps in the kernel, or the kernel has
 * dropped the work, which it does without a word when the thread is exiting. What such work may still do is
 * harmless: the registers and the address space that it finds are not those of the slot.
 */
static __always_inline struct resume_slot *resume_slot_take(__u32 tid, __u64 now)
{
	struct resume_slot *slot;
	__u32 i, index;
	__u64 taken;

	for (i = 0; i < RESUME_PLACES; i++) {
		index = (tid + i * 89) & (RESUME_SLOTS - 1);
		slot = bpf_map_lookup_elem(&resume_slots, &index);
		if (!slot)
			return NULL;
		taken = slot->taken;
		if ((!taken || taken + RESUME_STALE_NS < now) &&
		    __sync_val_compare_and_swap(&slot->taken, taken, now) == taken)
			return slot;
	}
	return NULL;
}

/* Arranges a second try for the sample in `s`, if it needs one. */
static __noinline void resume_later(struct scratch *s)
{
	struct resume_slot *slot;

	if (!was_unreadable(s))
		return;
	slot = resume_slot_take(s->sample.tid, s->sample.time);
	if (!slot)
		return;
	slot->sequence = s->sample.sequence;
	slot->time = s->sample.time;
	slot->pc = s->snapshot.header.pc;
	slot->sp = s->snapshot.header.registers[REG_SP];
	slot->mm = s->task.mm;
	slot->fault = s->fault;
	slot->fault_last = s->fault_last;
	slot->cookie = s->sample.cookie;
	slot->tgid = s->sample.tgid;
	slot->tid = s->sample.tid;
	if (resume_schedule(bpf_get_current_task_btf(), &slot->work))
		slot->taken = 0;
	else
		s->sample.flags |= SAMPLE_RESUMES;
}

#endif

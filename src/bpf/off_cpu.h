/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * off_cpu: how long threads are off the CPU, and where.
 *
 *   sched_switch       the time is noted for `current`, the thread that leaves              thread_leaves()
 *        ... it waits: it runs nothing, so neither its stack nor its registers change ...
 *   sched_switch       another thread leaves, and this one is chosen: its wait ends
 *   end of __schedule  the same thread again: how long was it? is that taken? ─► the walks   thread_returns()
 *
 * The stack is walked when the thread is back, not when it leaves. It is still the same stack, down to schedule(), and
 * so is that of its runtime, whether or not the thread holds the GIL. But now the length of the wait is known, so a
 * wait that is not sampled costs two lookups and no walk. And memory that cannot be read now can be read when the
 * thread returns to user mode (resume.h).
 *
 * Time is divided into slots of OFF_CPU_SLOT_NS. All waits are sampled until there are loaded.off_cpu_taken in a slot.
 * From then on there is a period: a wait shorter than that is sampled with probability length / period, and weighs one
 * period. So the sum of weights is right on average, for each stack. The period doubles with each further
 * loaded.off_cpu_taken waits that are sampled in a slot, and shrinks after slots with at most half of that. It never
 * depends on the wait it is applied to. A wait longer than the period is always sampled and weighs its own length.
 *
 * Who has ended a wait: wakers.h.
 *
 * Kernels with the tracepoint sched_exit_tp (6.18) call it at the end of __schedule(). On others a kprobe at
 * finish_task_switch() is used. It costs a little more and runs with interrupts off.
 *
 * An iterator finds the threads that are off the CPU when the recording begins; their waits begin at that time. When
 * the recording ends, user space notes the time (off_cpu_state.until) and walks the threads that have not come back. A
 * thread that comes back meanwhile is still sent, with its wait cut at that time (engine/watch_waits.c).
 */
#ifndef STRATA_BPF_OFF_CPU_H
#define STRATA_BPF_OFF_CPU_H

#include "abi/events.h"
#include "abi/off_cpu.h"
#include "bpf/filter.h"
#include "bpf/process_maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/task_state.h"
#include "bpf/walks.h"

#define TASK_STATE_STOPPED 0x0c /* __TASK_STOPPED, __TASK_TRACED: include/linux/sched.h */
#define TASK_STATE_DEAD    0x80 /* TASK_DEAD */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the loader */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct off_cpu_thread);
} off_cpu_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct off_cpu_state);
} off_cpu_states SEC(".maps");

static __always_inline bool off_cpu_watches(__u32 tgid, struct task_struct *task)
{
	__u64 *added;

	if (loaded.watch_all)
		return true;
	added = bpf_map_lookup_elem(&targets, &tgid);
	return added && !(*added & TARGET_AWAITS_EXEC && BPF_CORE_READ(task, flags) & PF_FORKNOEXEC);
}

/*
 * Adds a thread that is not known yet. NULL: it is not watched, or there is no room. Not inlined: the new entry is on
 * the stack, of which programs that walk have no room left.
 */
static __noinline struct off_cpu_thread *off_cpu_add_thread(struct off_cpu_state *state, __u32 tgid, __u32 tid)
{
	struct off_cpu_thread thread = {.tgid = tgid};
	struct off_cpu_thread *met;

	if (!off_cpu_watches(tgid, (struct task_struct *)bpf_get_current_task()) || filter_current() == FILTER_OUT)
		return NULL;
	bpf_map_update_elem(&off_cpu_threads, &tid, &thread, BPF_NOEXIST);
	met = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	if (!met)
		state->unseen++;
	return met;
}

static __always_inline __u32 current_state(void)
{
	if (loaded.task_registers && bpf_core_field_exists(((struct task_struct *)0)->__state))
		return *(volatile unsigned int *)&bpf_get_current_task_btf()->__state;
	return task_state((struct task_struct *)bpf_get_current_task());
}

SEC("raw_tp/sched_switch")
int thread_leaves(const __u64 *arguments)
{
	__u64 ids = bpf_get_current_pid_tgid();
	__u32 tid = (__u32)ids, cpu = bpf_get_smp_processor_id(), task_is;
	struct off_cpu_thread *thread;
	struct off_cpu_state *state;
	enum filter_answer answer;

	state = bpf_map_lookup_elem(&off_cpu_states, &cpu);
	if (!state)
		return 0;
	state->now = bpf_ktime_get_ns();
	if (!tid)
		return 0;
	thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	if (!thread)
		thread = off_cpu_add_thread(state, ids >> 32, tid);
	if (!thread)
		return 0;
	task_is = current_state();
	if (task_is & TASK_STATE_DEAD) {
		bpf_map_delete_elem(&off_cpu_threads, &tid);
		return 0;
	}
	if (state->until)
		return 0;
	answer = filter_current();
	if (answer == FILTER_OUT) { /* it has got another name, say */
		*(volatile __u64 *)&thread->left = 0;
		return 0;
	}
	if (thread->left)
		state->unseen++;
	thread->tgid = ids >> 32; /* a thread that calls exec takes the first one's number */
	thread->flags = answer == FILTER_UNJUDGED ? WAIT_OFF_CPU | WAIT_UNJUDGED : WAIT_OFF_CPU;
	if ((__u8)arguments[0] || !task_is)
		thread->flags |= WAIT_PREEMPTED;
	if (task_is & TASK_STATE_STOPPED)
		thread->flags |= WAIT_STOPPED;
	thread->chance = bpf_get_prandom_u32();
	*(volatile __u64 *)&thread->left = state->now;
	return 0;
}

/* Is this wait sampled? Then *weight is the time that it stands for. */
static __always_inline bool off_cpu_takes(struct off_cpu_state *state, __u64 length, __u32 chance, __u64 now,
					  __u64 *weight)
{
	__u64 slots = (now - state->slot) / OFF_CPU_SLOT_NS;

	if (slots) {
		if (state->taken * 2 <= loaded.off_cpu_taken)
			state->period = slots < 32 ? state->period >> slots : 0;
		if (state->period < OFF_CPU_PERIOD_MIN)
			state->period = 0;
		state->slot = now;
		state->taken = 0;
	}
	*weight = length;
	if (length < state->period) {
		*weight = state->period;
		if ((chance * state->period) >> 32 >= length)
			return false;
	}
	state->taken++;
	if (state->taken % loaded.off_cpu_taken == 0 && state->period < OFF_CPU_PERIOD_MAX)
		state->period = state->period ? state->period * 2 : OFF_CPU_PERIOD_MIN;
	return true;
}

/* The length of the wait that has just ended; 0: there was none, or the thread is not watched. */
static __always_inline __u64 off_cpu_length(struct off_cpu_state *state, __u64 ids, __u64 *now, __u32 *flags,
					    __u32 *chance)
{
	__u32 tid = (__u32)ids;
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	__u64 left;

	/* From now on user space can see that the thread runs, or has run. */
	if (!thread) {
		if (!state->until)
			off_cpu_add_thread(state, ids >> 32, tid);
		return 0;
	}
	left = thread->left;
	if (!left)
		return 0;
	*(volatile __u64 *)&thread->left = 0;
	*flags = thread->flags;
	*chance = thread->chance;
	*now = state->now;
	if (state->until && *now > state->until)
		*now = state->until;
	return *now > left ? *now - left : 0;
}

static __always_inline __u32 off_cpu_call(const struct scratch *s)
{
	return s->task.call > WAIT_NUMBER ? WAIT_NO_CALL : (__u32)s->task.call;
}

/* Who has ended the wait of this thread. */
static __always_inline void take_waker(struct scratch *s, __u32 tid)
{
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);

	if (!thread)
		return;
	s->sample.waker = thread->waker;
	thread->waker.flags = 0;
}

static __always_inline int off_cpu_return(void *ctx, __u64 skip)
{
	__u32 cpu = bpf_get_smp_processor_id(), index = loaded.off_cpu_first + cpu, flags = 0, chance = 0;
	__u64 ids = bpf_get_current_pid_tgid(), now = 0, begun, length, weight;
	enum filter_answer answer = FILTER_IN;
	struct off_cpu_state *state;
	struct scratch *s;
	int err;

	state = bpf_map_lookup_elem(&off_cpu_states, &cpu);
	if (!(__u32)ids || !state)
		return 0;
	length = off_cpu_length(state, ids, &now, &flags, &chance);
	if (!length || state->left_out)
		return 0;
	if (flags & WAIT_UNJUDGED)
		answer = filter_current();
	if (answer == FILTER_OUT)
		return 0;
	state->waits++;
	state->waits_ns += length;
	/* User space may drop this sample. So it weighs its own length, which can be subtracted again. */
	weight = length;
	if (answer != FILTER_UNJUDGED && !off_cpu_takes(state, length, chance, now, &weight))
		return 0;
	s = scratch_at(index);
	if (!s)
		return 0;
	begun = bpf_ktime_get_ns();
	state->measured++;
	state->measured_ns += length;
	s->index = index;
	take_task(SCRATCH_REF(s));
	begin_sample(s, cpu, now);
	s->sample.flags |= answer == FILTER_UNJUDGED ? SAMPLE_IN_KERNEL | SAMPLE_UNJUDGED : SAMPLE_IN_KERNEL;
	flags &= ~(__u32)WAIT_UNJUDGED;
	s->sample.weight = weight;
	s->sample.waits = flags | WAIT_NO_CALL;
	if (loaded.wakers_first && !(flags & WAIT_PREEMPTED))
		take_waker(s, (__u32)ids);
	take_kernel_stack(s, ctx, skip, 0);
	if (has_program(s)) {
		err = saved_registers(s, loaded.task_registers);
		if (!err || err == REGISTERS_OTHER_MODE) {
			s->sample.waits = flags | off_cpu_call(s);
			s->sample.argument = s->task.arguments[0];
		}
		take_program(s, err, begun);
	}
	send_sample(s);
	note_worst(bpf_ktime_get_ns() - begun);
	return 0;
}

SEC("raw_tp/sched_exit_tp")
int thread_returns(void *ctx)
{
	return off_cpu_return(ctx, 0);
}

/* Without that function itself. */
SEC("kprobe/finish_task_switch")
int thread_returns_probed(void *ctx)
{
	return off_cpu_return(ctx, 1);
}

/* At the start: finds the threads that are off the CPU. Since when is not known. */
SEC("iter/task")
int thread_is_off(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	/* Filters are asked when the thread is back: they can only judge the current thread. */
	struct off_cpu_thread thread = {.flags = WAIT_OFF_CPU | (loaded.filters ? WAIT_UNJUDGED : 0)};
	__u32 tid, is;

	if (!task || !task->pid || task_on_cpu(task))
		return 0;
	/* A thread that has never run, or runs now. It comes from fork(), and no program sees when it first runs. */
	if (!(*(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw))
		return 0;
	tid = task->pid;
	thread.tgid = task->tgid;
	is = task_state(task);
	if (is & TASK_STATE_DEAD || !off_cpu_watches(thread.tgid, task))
		return 0;
	if (!is)
		thread.flags |= WAIT_PREEMPTED;
	if (is & TASK_STATE_STOPPED)
		thread.flags |= WAIT_STOPPED;
	thread.chance = bpf_get_prandom_u32();
	thread.left = bpf_ktime_get_ns();
	bpf_map_update_elem(&off_cpu_threads, &tid, &thread, BPF_NOEXIST);
	return 0;
}

#endif

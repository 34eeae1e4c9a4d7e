/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * wakers: who ends the wait of a thread, and where it stands. Only with loaded.wakers_first.
 *
 *   sched_waking       in the context of whoever wakes a thread: noted in that thread's entry      thread_wakes()
 *   end of __schedule  the thread is back: if its wait is sampled, so is the waker                 off_cpu.h
 *
 * Each wait that is no preemption ends with this event, at the latest of them: the kernel has no other way to make a
 * sleeping thread runnable (try_to_wake_up() in kernel/sched/core.c). The event may even come a moment before the
 * thread is off the CPU: from when it has said that it is about to sleep, another CPU can wake it.
 *
 * Whether a wait is sampled is known when it has ended, and depends on its length. As the random number for that is
 * drawn when it begins (off_cpu_thread.chance), it is nearly known when the thread is woken: what is added is the time
 * until it gets a CPU. So stacks are taken of the wakers of waits that would be sampled if they were twice as long, and
 * of few others. Of most of these it is known that the thread did it that runs: it is in a system call.
 *
 * The interrupt of a timer or a device wakes threads on top of any thread's stack. User space tells such frames from
 * those of a waker by their names (engine/waking.h).
 *
 * The event comes with interrupts off, and with a lock of the woken thread held: the walks may take as long as those of
 * a tick (time.h).
 */
#ifndef STRATA_BPF_WAKERS_H
#define STRATA_BPF_WAKERS_H

#include "abi/events.h"
#include "abi/off_cpu.h"
#include "bpf/filter.h"
#include "bpf/off_cpu.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/walks.h"

/* May the wait be one that is sampled? */
static __always_inline bool waker_counts(const struct off_cpu_state *state, const struct off_cpu_thread *thread,
					 __u64 now)
{
	__u64 left = thread->left, period = state->period;

	if (!left || left > now)
		return false;
	return (thread->chance * period) >> 32 <= 2 * (now - left) + period / 64;
}

/*
 * Takes the stacks of the current thread. They are no sample of it: they are not counted as one, and what cannot be
 * read at once stays unread.
 */
static __always_inline void take_waker_stacks(struct scratch *s, void *ctx, __u32 flags, __u64 now)
{
	s->sequence++;
	s->sample.time = now;
	s->sample.sequence = s->sequence << 16 | s->index;
	s->sample.flags = SAMPLE_IN_KERNEL;
	take_task(SCRATCH_REF(s));
	take_kernel_stack(s, ctx, 0, 0);
	if (!(flags & (WAKER_IDLE | WAKER_UNRECORDED)) && has_program(s) &&
	    has_registers(s, saved_registers(s, loaded.task_registers)))
		walk_program(s, now);
}

/*
 * Does the current thread run in a system call, as far as a program knows whose `context` lies on the stack on which it
 * was called? An interrupt of the kernel has a stack of its own, and of one of user mode the saved registers tell that
 * no system call is under way. Threads of the kernel have none, and are in none. Not inlined: the registers are on the
 * stack, of which programs that walk have no room left.
 */
static __noinline int in_system_call(struct scratch *s, const void *context, bool has_helper)
{
	__u64 stack = (__u64)BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), stack);
	__u64 at = saved_registers_at(has_helper);
	struct arch_registers regs;

	/* The verifier allows no arithmetic with a context: it is a number once it has been in memory. */
	*(const void *volatile *)&s->place = context;
	if (*(volatile __u64 *)&s->place - stack >= ARCH_STACK_BYTES)
		return false;
	return at && !bpf_probe_read_kernel(&regs, sizeof(regs), (void *)at) && arch_call(&regs) != ARCH_NO_CALL;
}

SEC("raw_tp/sched_waking")
int thread_wakes(const __u64 *arguments)
{
	__u32 tid = BPF_CORE_READ((struct task_struct *)arguments[0], pid), cpu = bpf_get_smp_processor_id();
	struct off_cpu_thread *thread = bpf_map_lookup_elem(&off_cpu_threads, &tid);
	__u32 flags = WAKER_KNOWN, index = loaded.wakers_first + cpu;
	__u64 ids = bpf_get_current_pid_tgid(), now;
	struct off_cpu_state *state;
	struct scratch *s;

	if (!thread)
		return 0;
	state = bpf_map_lookup_elem(&off_cpu_states, &cpu);
	s = scratch_at(index);
	if (!state || !s || state->until)
		return 0;
	now = bpf_ktime_get_ns();
	thread->waker.flags = 0;
	bpf_get_current_comm(thread->waker.comm, sizeof(thread->waker.comm));
	if (!(__u32)ids)
		flags |= WAKER_IDLE;
	else if (!off_cpu_watches(ids >> 32, (struct task_struct *)bpf_get_current_task()) ||
		 filter_current() == FILTER_OUT)
		flags |= WAKER_UNRECORDED;
	s->index = index;
	s->sample.kernel_stack = s->sample.native_stack = s->sample.second_stack = 0;
	s->sample.native_loss = s->sample.second_loss = LOSS_NONE;
	s->sample.flags = 0;
	if (waker_counts(state, thread, now))
		take_waker_stacks(s, (void *)arguments, flags, now);
	else
		flags |= WAKER_NO_STACK | (in_system_call(s, arguments, loaded.task_registers) ? WAKER_THREAD : 0);
	thread->waker.kernel_stack = s->sample.kernel_stack;
	thread->waker.native_stack = s->sample.native_stack;
	thread->waker.second_stack = s->sample.second_stack;
	thread->waker.native_loss = s->sample.native_loss;
	thread->waker.second_loss = s->sample.second_loss;
	thread->waker.flags = flags | s->sample.flags;
	return 0;
}

#endif

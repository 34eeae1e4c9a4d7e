/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sample: takes one sample of the current thread, for the tick and for off_cpu.h.
 *
 *   take_task() ─► begin_sample() ─► take_kernel_stack() ─► has_program()? take_program() ─► send_sample()
 */
#ifndef STRATA_BPF_SAMPLE_H
#define STRATA_BPF_SAMPLE_H

#include "abi/counters.h"
#include "abi/events.h"
#include "abi/filter.h"
#include "abi/loss.h"
#include "bpf/resume.h"
#include "bpf/scratch.h"
#include "bpf/send.h"
#include "bpf/shim.h"
#include "bpf/time.h"
#include "bpf/walks.h"

/* After take_task(). */
static __always_inline void begin_sample(struct scratch *s, __u32 cpu, __u64 now)
{
	count(COUNTER_RUNS, 1);
	s->sequence++;
	s->sample.header.type = EVENT_SAMPLE;
	s->sample.time = now;
	s->sample.sequence = s->sequence << 16 | s->index;
	s->sample.kernel_stack = s->sample.native_stack = s->sample.second_stack = 0;
	s->sample.native_loss = s->sample.second_loss = LOSS_NONE;
	s->sample.flags = 0;
	s->sample.cpu = cpu;
	s->sample.waits = 0;
	s->sample.weight = s->sample.argument = 0;
	s->sample.waker.flags = 0;
	if (loaded.cgroups || loaded.filters & FILTER_BITS(FILTER_BY_CONTAINER))
		s->sample.cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(s->sample.comm, sizeof(s->sample.comm));
}

/* Does the thread run a user program? */
static __always_inline bool has_program(struct scratch *s)
{
	if (s->task.flags & PF_KTHREAD)
		s->sample.flags |= SAMPLE_KERNEL_THREAD;
	else if (!s->task.mm || (s->task.flags & PF_EXITING && has_given_back(SCRATCH_REF(s))))
		s->sample.flags |= SAMPLE_EXITING;
	return !(s->sample.flags & (SAMPLE_KERNEL_THREAD | SAMPLE_EXITING));
}

/* Is there a user part to walk? `err`: the result of reading its registers. */
static __always_inline bool has_registers(struct scratch *s, int err)
{
	if (err == REGISTERS_NO_PROGRAM)
		s->sample.flags |= SAMPLE_KERNEL_THREAD;
	else if (err)
		s->sample.native_loss = err == REGISTERS_OTHER_MODE ? LOSS_COMPAT : LOSS_NO_USER_REGS;
	return !err;
}

/* Walks the user part, from the registers in the scratch. */
static __always_inline void walk_program(struct scratch *s, __u64 now)
{
	begin_user_stacks(s);
	/* If there are two walks, the first one must leave time for the second. */
	walk_time_begin(s, now, loaded.sample_ns,
			s->cache.second == CACHED_SECOND ? loaded.sample_ns / 2 : loaded.sample_ns);
	take_user_stacks(SCRATCH_REF(s));
}

/* Takes the user part, from the registers in the scratch. `err`: the result of reading them. */
static __always_inline void take_program(struct scratch *s, int err, __u64 now)
{
	if (has_registers(s, err) && !resume_joins(s)) {
		walk_program(s, now);
		resume_later(s);
		if (loaded.verify_every && s->sequence % loaded.verify_every == 0 && !s->sample.native_loss)
			s->sample.flags |= SAMPLE_VERIFY;
	}
}

static __always_inline void send_sample(struct scratch *s)
{
	bool urgent = s->sample.flags & SAMPLE_UNJUDGED;
	__u64 size = s->sample.waker.flags ? sizeof(s->sample) : SAMPLE_EVENT_BRIEF;

	if (bpf_ringbuf_output(&events, &s->sample, size, wakeup(s, urgent))) {
		count(COUNTER_RING_FULL, 1);
	} else {
		count(COUNTER_SENT, 1);
		if (s->sample.flags & (SAMPLE_LATE | SAMPLE_VERIFY))
			send_snapshot(s);
	}
}

#endif

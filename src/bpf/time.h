/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time: how long a sample's walks may take.
 *
 * A tick walks in an interrupt: meanwhile nothing else runs on that CPU. Ordinary stacks take some microseconds, but
 * one of 15,000 Python calls takes milliseconds, and a program can arrange its memory so that a walk reaches the limit
 * of frames. So walks have a time limit. Where the kernel has task work, deeper stacks are continued there (resume.h).
 * Otherwise the stack is cut, with the loss time-limit.
 *
 * Reading the clock costs as much as two frames. So the time is first estimated, from the reads of memory and the
 * iterations of loops. When the estimate reaches WALK_LOOK_NS, the clock is read. If much more time has passed, the CPU
 * did something else (the host of a virtual machine took it, or another interrupt), which is not charged to the walk:
 * at most WALK_AWAY_NS count between two readings.
 *
 * New code objects also cost time in user space. A program that changes all of its code objects before each sample
 * would keep user space busy. So the time is also over when a sample has sent WALK_CODES_MAX of them.
 *
 * The limit is 250 us (--max-sample-time). If there is also a Python walk, the native walk gets half of it. Including
 * the sending of its stacks, the longest sample takes some 300 us (bpf.worst_ns in --stats). Without task work the
 * stack is cut at a multiple of 256 frames, so that equal stacks stay equal. Nothing else could continue the walk
 * there: BPF timers and irq_work run in whatever thread is current, with another address space; a signal would
 * interrupt the program's system calls; and at the thread's next tick its stack is a different one.
 *
 * Scripts need a stack at once. uprobes, uretprobes and USDT markers run in the program's own context and may walk for
 * 100 ms. All other probes may run in an interrupt or with interrupts off, and the BPF program cannot know which: they
 * get 250 us. tests/e2e/deep.t holds this against programs that are 15,000 Python calls and 60,000 C calls deep.
 */
#ifndef STRATA_BPF_TIME_H
#define STRATA_BPF_TIME_H

#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"

#define WALK_LOOK_NS 8192u
#define WALK_AWAY_NS 65536u

static __always_inline __u64 walk_clock(struct scratch *s)
{
#ifdef __bpf__
	return bpf_ktime_get_ns();
#else
	return s->host->clock ? s->host->clock(s->host->context) : 0;
#endif
}

/* From now on the walks may take `whole` ns, the first one `share` of them. */
static __always_inline void walk_time_begin(struct scratch *s, __u64 now, __u64 whole, __u64 share)
{
	s->time.looked = now;
	s->time.spent = 0;
	s->time.whole = whole;
	s->time.stop = s->time.limit = share;
	s->time.work = 0;
	s->time.walks = WALKS_BEGIN;
	s->time.codes = 0;
}

/* The second walk may take all the time that is left. */
static __always_inline void walk_time_rest(struct scratch *s)
{
	if (s->time.limit != s->time.whole)
		s->time.stop = s->time.limit = s->time.whole;
}

/* Continues the walks for `piece` ns. The time since they paused is not charged to them. */
static __always_inline void walk_time_go_on(struct scratch *s, __u64 piece)
{
	s->time.looked = walk_clock(s);
	s->time.work = 0;
	s->time.stop = s->time.spent + piece;
	if (s->time.stop > s->time.limit)
		s->time.stop = s->time.limit;
}

/* Reads the clock. Not 0: the walk must stop. */
static __always_inline int walk_look_in(struct scratch *s, __u32 unused)
{
	struct walk_time *time = &s->time;
	__u64 now = walk_clock(s), passed = now - time->looked;

	(void)unused;
	time->looked = now;
	time->work = 0;
	time->spent += passed < WALK_AWAY_NS ? passed : WALK_AWAY_NS;
	return time->stop && time->spent >= time->stop;
}
WALK_GLOBAL(int, walk_look, __u32)

/* Called by the loops in each iteration, with the iteration's estimated time without reads. */
static __always_inline int walk_stops(struct scratch *s)
{
	return s->time.work >= WALK_LOOK_NS && WALK_CALL(walk_look, s, 0);
}

/* After walk_stops() has stopped a walk: is its time over for good? Otherwise it only pauses. */
static __always_inline bool walk_is_over(const struct scratch *s)
{
	return s->time.limit && s->time.spent >= s->time.limit;
}

static __always_inline bool walk_pauses(const struct scratch *s)
{
	return s->time.stop < s->time.limit && s->time.spent >= s->time.stop && s->time.spent < s->time.limit;
}

#endif

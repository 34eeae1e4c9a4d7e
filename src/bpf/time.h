/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * time: how long a sample's walks may take.
 *
 * A tick walks in an interrupt: meanwhile nothing else runs on that CPU. Ordinary stacks take some microseconds, but
 * one of 15,000 Python calls takes milliseconds, and memory that a program arranges for that takes as long as the
 * limits of frames allow. So the walks have an end in time. Where the kernel has task work, what is deeper goes on
 * there (resume.h); else the stack is cut, with time-limit.
 *
 * The clock costs as much as two frames. So what is done is estimated first, in ns: reads of memory and turns of the
 * loops. Once that makes WALK_LOOK_NS, the clock is looked at. If it says that much more has passed, the CPU was
 * elsewhere (its hypervisor's host, another interrupt), and that is not the walk's: of each time between two looks
 * WALK_AWAY_NS count at most.
 *
 * New code objects also take time in user space. A program that changes all of its own before each sample would keep it
 * busy, so the time is over, too, when a sample has sent WALK_CODES_MAX of them.
 *
 * The limit is 250 us (--max-sample-time), half of it for the native walk where there is a Python walk, too. With
 * sending its stacks, the longest samples take some 300 us (bpf.worst_ns in --stats). Without task work the stack is
 * cut at a multiple of 256 frames, so that equal stacks stay equal. Nothing else could go on with it there: BPF timers
 * and irq_work run in whatever thread is current, with another address space; a signal would end the program's system
 * calls; and by the thread's next tick its stack is another one.
 *
 * In scripts a stack is needed at once. uprobes, uretprobes and USDT markers run in the program's own context and may
 * walk for 100 ms. All others may be in an interrupt, or run with interrupts off, which cannot be told from inside:
 * they have the 250 us. tests/e2e/deep.t holds this against programs that are 15,000 Python calls and 60,000 C calls
 * deep.
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

/* The second one may take all that is left. */
static __always_inline void walk_time_rest(struct scratch *s)
{
	if (s->time.limit != s->time.whole)
		s->time.stop = s->time.limit = s->time.whole;
}

/* Walks go on, for `piece` ns. What has passed since they paused is not theirs. */
static __always_inline void walk_time_go_on(struct scratch *s, __u64 piece)
{
	s->time.looked = walk_clock(s);
	s->time.work = 0;
	s->time.stop = s->time.spent + piece;
	if (s->time.stop > s->time.limit)
		s->time.stop = s->time.limit;
}

/* Looks at the clock: not 0 when the walk is to stop. */
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

/* Asked by the loops in each turn, of which they say how long it takes apart from reads. */
static __always_inline int walk_stops(struct scratch *s)
{
	return s->time.work >= WALK_LOOK_NS && WALK_CALL(walk_look, s, 0);
}

/* Why a walk that walk_stops() has stopped did: its time is over. Else it only pauses. */
static __always_inline bool walk_is_over(const struct scratch *s)
{
	return s->time.limit && s->time.spent >= s->time.limit;
}

static __always_inline bool walk_pauses(const struct scratch *s)
{
	return s->time.stop < s->time.limit && s->time.spent >= s->time.stop && s->time.spent < s->time.limit;
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/waking.h"

#include <stdio.h>
#include <string.h>

#include "abi/events.h"

enum part {
	PART_WAKES, /* wakes a thread */
	PART_KIND,  /* says what kind of interrupt it is, if it is one */
	PART_WORK,  /* the same; and what it does is never work of the thread it runs on */
	PART_SOFT,  /* runs soft interrupts */
	PART_ENTRY, /* the outermost frames of an interrupt, of which there are several */
};

/*
 * Beginnings of names, as compilers add to their ends. kernel/sched/core.c; kernel/time/hrtimer.c, timer.c;
 * net/core/dev.c; block/blk-mq.c; kernel/softirq.c (before 5.12 the first symbol of its section is the function's);
 * arch/x86/include/asm/idtentry.h; arch/arm64/kernel/entry-common.c, entry.S.
 */
static const struct {
	const char *beginning;
	enum part part;
	const char *kind;
} known[] = {
	{"try_to_wake_up", PART_WAKES, NULL},
	{"__hrtimer_run_queues", PART_KIND, "timer"},
	{"hrtimer_run_softirq", PART_WORK, "timer"},
	{"run_timer_softirq", PART_WORK, "timer"},
	{"net_rx_action", PART_KIND, "network"},
	{"net_tx_action", PART_KIND, "network"},
	{"blk_mq_complete_request", PART_KIND, "block device"},
	{"blk_mq_end_request", PART_KIND, "block device"},
	{"blk_done_softirq", PART_WORK, "block device"},
	{"rcu_core", PART_WORK, "RCU"},
	{"tasklet_action", PART_WORK, NULL},
	{"tasklet_hi_action", PART_WORK, NULL},
	{"irq_work_run", PART_KIND, NULL},
	{"handle_softirqs", PART_SOFT, NULL},
	{"__do_softirq", PART_SOFT, NULL},
	{"__softirqentry_text_start", PART_SOFT, NULL},
	{"asm_sysvec_", PART_ENTRY, NULL},
	{"sysvec_", PART_ENTRY, NULL},
	{"__sysvec_", PART_ENTRY, NULL},
	{"asm_common_interrupt", PART_ENTRY, NULL},
	{"common_interrupt", PART_ENTRY, NULL},
	{"__common_interrupt", PART_ENTRY, NULL},
	{"asm_call_", PART_ENTRY, NULL},
	{"el1_interrupt", PART_ENTRY, NULL},
	{"__el1_irq", PART_ENTRY, NULL},
	{"el1h_64_irq", PART_ENTRY, NULL},
	{"el1h_64_fiq", PART_ENTRY, NULL},
	{"el1_irq", PART_ENTRY, NULL},
	{"el0_interrupt", PART_ENTRY, NULL},
	{"__el0_irq", PART_ENTRY, NULL},
	{"el0t_64_irq", PART_ENTRY, NULL},
	{"el0t_64_fiq", PART_ENTRY, NULL},
	{"el0t_32_irq", PART_ENTRY, NULL},
	{"el0t_32_fiq", PART_ENTRY, NULL},
	{"el0_irq", PART_ENTRY, NULL},
};

static size_t find(const char *function)
{
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strncmp(function, known[i].beginning, strlen(known[i].beginning)))
			break;
	return i;
}

void waking_look(struct waking *waking, const char *function)
{
	const size_t at = find(function);
	const bool is_known = at < sizeof(known) / sizeof(*known);
	const enum part part = is_known ? known[at].part : PART_KIND;

	/* The frames that enter an interrupt follow each other. */
	if (waking->is_entered && part != PART_ENTRY) {
		waking->done = true;
		return;
	}
	waking->seen++;
	waking->end = waking->seen;
	if (!is_known)
		return;
	if (part == PART_WAKES)
		waking->first = waking->seen - 1;
	if (known[at].kind && !waking->by)
		waking->by = known[at].kind;
	waking->is_soft |= part == PART_WORK;
	waking->is_entered |= part == PART_ENTRY;
	waking->done |= part == PART_SOFT && waking->is_soft;
	waking->is_interrupt |= waking->is_entered || waking->done;
}

void waking_describe(const struct waking *waking, uint32_t flags, const char *comm, char *ret, size_t size)
{
	if (waking->is_interrupt && waking->by)
		snprintf(ret, size, "[woken by: interrupt (%s)]", waking->by);
	else if (waking->is_interrupt)
		snprintf(ret, size, "[woken by: interrupt]");
	else if (flags & WAKER_NO_STACK && !(flags & WAKER_THREAD))
		snprintf(ret, size, "[woken by: not known]");
	else
		snprintf(ret, size, "[woken by: %s%s]", *comm ? comm : "?",
			 flags & WAKER_UNRECORDED ? " (not recorded)" : "");
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * clock: the sampling clock: a cpu-clock perf event on each online CPU, with the BPF program attached.
 *
 * Idle CPUs tick, too: the kernel's timer fires there in any case, and so missing ticks can be counted. The kernel
 * silently drops a tick while another BPF program runs, or a BPF map is being changed, on that CPU. What is missing
 * between the first and the last tick is the note `ticks`.
 *
 * CPUs come and go: once a second clock_follow() opens the events of those that came. Owns the events; they end with
 * it, and with the process. Not thread-safe.
 */
#ifndef STRATA_KERNEL_CLOCK_H
#define STRATA_KERNEL_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "abi/events.h"
#include "base/diag.h"

struct clock;

/*
 * Opens the events, stopped: the program, a borrowed descriptor, does not run before clock_start(). `ticks`, by CPU, is
 * where the program notes them; borrowed. `cpus`, by CPU, says which ones tick; NULL: all. Borrowed.
 */
int clock_open(int program, unsigned int frequency, struct clock_ticks *ticks, const bool *cpus, struct clock **ret,
	       struct diag *diag);
void clock_close(struct clock *clock);

/* Begins and ends ticking on all CPUs. */
int clock_start(struct clock *clock, struct diag *diag);
void clock_stop(struct clock *clock);

/* To be called regularly: follows CPUs that come and go. How many came or went, or a negative errno. */
int clock_follow(struct clock *clock);

/* How many ticks did not run the program, between the first and the last one of each CPU. */
uint64_t clock_missed(const struct clock *clock);

#endif

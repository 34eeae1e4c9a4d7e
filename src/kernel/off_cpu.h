/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * off_cpu: attaches the programs that measure how long threads are off the CPU (bpf/off_cpu.h), and reads what they
 * measured.
 *
 *   off_cpu_open ─► off_cpu_start ─► off_cpu_end ─► off_cpu_threads … off_cpu_detach ─► off_cpu_is_off … off_cpu_close
 *
 * Owns the links, which end with it, and with the process. Not thread-safe.
 */
#ifndef STRATA_KERNEL_OFF_CPU_H
#define STRATA_KERNEL_OFF_CPU_H

#include <bpf/libbpf.h>
#include <stdbool.h>
#include <stdint.h>

#include "abi/off_cpu.h"
#include "base/diag.h"
#include "base/vec.h"

struct off_cpu;

/*
 * To be called before the object is loaded: sets the sizes of its maps, and loads its programs only if waits are
 * `wanted`, and that of bpf/wakers.h only with `wakers`. 0 or negative errno.
 */
int off_cpu_configure(struct bpf_object *object, uint32_t cpus, bool wanted, bool wakers);

/* The loaded object is borrowed. `cpus`: for each CPU, whether waits that end on it are measured; NULL: on all. */
int off_cpu_open(struct bpf_object *object, const bool *cpus, struct off_cpu **ret, struct diag *diag);
void off_cpu_close(struct off_cpu *off); /* may be NULL */

/* Begins: from now on waits are measured, also those of threads that are off the CPU now. */
int off_cpu_start(struct off_cpu *off, struct diag *diag);

/* From now on no wait begins, and those under way end now, when their threads return or are walked. */
void off_cpu_end(struct off_cpu *off);
uint64_t off_cpu_ended(const struct off_cpu *off); /* when that was */

/* The threads that have not returned. 0 or -ENOMEM. */
struct off_cpu_waiting {
	uint32_t tid;
	struct off_cpu_thread thread;
};
struct off_cpu_list {
	VEC(struct off_cpu_waiting) threads; /* by process */
};
int off_cpu_threads(struct off_cpu *off, struct off_cpu_list *list);

/* Nothing that returns from now on is sent. */
void off_cpu_detach(struct off_cpu *off);

/*
 * Has this thread not returned since it was listed? Then what was read of it meanwhile is true. After off_cpu_detach():
 * its wait was not sent, and will not be.
 */
bool off_cpu_is_off(struct off_cpu *off, const struct off_cpu_waiting *waiting);

struct off_cpu_totals {
	uint64_t waits, waits_ns;       /* that ended */
	uint64_t measured, measured_ns; /* of these, whose stack was taken */
	uint64_t unseen;                /* whose end no program saw, or for which there was no room in a map */
	uint64_t run_ns, runs;          /* of the programs; 0 if not available */
};
void off_cpu_totals(const struct off_cpu *off, struct off_cpu_totals *ret);

#endif

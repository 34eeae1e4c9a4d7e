/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_names: kernel address → symbol. A BPF program asks the kernel itself: 0.6 ms to load, 2 µs a name. Where there
 * is no such program, all of /proc/kallsyms is read (symbol/kernel_symbols.h: 50 ms, 6 MB). It needs Linux 5.16
 * (bpf_kallsyms_lookup_name in a program of type syscall), CAP_BPF and CAP_PERFMON. Of several names of one address
 * each way takes the better one, by rules of its own. Not thread-safe.
 */
#ifndef STRATA_KERNEL_KERNEL_NAMES_H
#define STRATA_KERNEL_KERNEL_NAMES_H

#include <stdbool.h>
#include <stdint.h>

struct kernel_names;

/*
 * Loads the program. It is not loaded later, when memory may be short: libbpf 1.1 may crash then. `asks` false: it does
 * without, for tests. NULL: there is no memory.
 */
struct kernel_names *kernel_names_create(bool asks);
void kernel_names_destroy(struct kernel_names *names); /* may be NULL */

/*
 * To be called before addresses are looked up. Where the kernel cannot be asked it reads /proc/kallsyms, the first time
 * and whenever `again` is true. 0; or a negative errno, as kernel_symbols_create() has it: then nothing has a name.
 */
int kernel_names_read(struct kernel_names *names, bool again);

/*
 * The function that covers an address, without "[module]", and the distance from its start (`offset` may be NULL). NULL
 * if there is none. The name is valid until the next call.
 */
const char *kernel_names_lookup(struct kernel_names *names, uint64_t address, uint64_t *offset);

/* Is what lookup says of an address true for as long as the kernel runs, also if code was loaded since it was read? */
bool kernel_names_stay(const struct kernel_names *names, uint64_t address);

/* Is an address in the scheduler's functions (.sched.text)? The kernel leaves these out of a sleeping thread's stack.
 */
bool kernel_names_is_scheduler(const struct kernel_names *names, uint64_t address);

#endif

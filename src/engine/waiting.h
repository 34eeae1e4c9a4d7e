/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waiting: derives what a blocked thread waits for from its system call and its stack.
 *
 * Most waits of threads for each other are futex calls. The function that led to the call says what kind of lock it is.
 */
#ifndef STRATA_ENGINE_WAITING_H
#define STRATA_ENGINE_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile/frames.h"

struct waiter {
	const char *function; /* of libc, or of a runtime */
	const char *kind;     /* one word: "lock" */
	const char *what;     /* "a mutex" */
	const char *brief;    /* "lock (mutex)" */
};

/*
 * The state of the search: finds the waiter whose function is the outermost native frame inside the innermost frame of
 * a runtime.
 */
struct waiting {
	const struct waiter *found; /* NULL: none */
	bool hands_over;            /* it gives a runtime's lock away (drop_gil() of CPython) */
	bool done;
};

/* To be called with each frame, innermost first, until waiting.done. */
void waiting_look(struct waiting *waiting, const struct frame *frame);

/* The waiter that this function is; NULL: none. */
const struct waiter *waiting_function(const char *name);

/* The waiter for a futex in the data of a runtime that has one lock for all threads: that lock, or `found`. */
const struct waiter *waiting_runtime_lock(const struct waiter *found);

/* Does a thread with these `waits` (enum wait_flag) wait for such a lock? `found`: its waiter, or NULL. */
bool waiting_is_runtime_lock(uint32_t waits, const struct waiter *found);

/*
 * Writes a short text about what a thread waited for. `waits`: enum wait_flag. `found`: its waiter, or NULL. `kernel`:
 * does its kernel stack wait for a device, is it that of a page fault, and is the thread frozen (cgroup.freeze)?
 */
struct waiting_kernel {
	bool input_output, page_fault, frozen;
};
void waiting_describe(uint32_t waits, const struct waiter *found, const struct waiting_kernel *kernel, char *ret,
		      size_t size);

/* One more frame of a kernel stack, by name; outermost first. */
void waiting_look_kernel(struct waiting_kernel *kernel, const char *function);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * waking: who has ended a wait, from the kernel stack on which it was ended.
 *
 * A thread wakes another one from a system call, and all frames of its stack are its own. Or an interrupt does, in the
 * middle of whatever runs. Then the frames outside of the interrupt's belong to a thread that has nothing to do with
 * it. The kernel finishes most of an interrupt's work in soft interrupts, right behind it, or wherever a thread allows
 * them again. Packets that a thread has sent to another one on the same machine are received there, too: these are the
 * thread's doing.
 */
#ifndef STRATA_ENGINE_WAKING_H
#define STRATA_ENGINE_WAKING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The frames of the stack, innermost first, that tell it: [first, end). */
struct waking {
	uint32_t seen;       /* frames until now */
	uint32_t first, end; /* without those inside of the kernel's function that wakes */
	const char *by;      /* what kind of interrupt it would be; NULL: not known */
	bool is_interrupt;
	bool is_entered; /* by the frames until now: those of its entry have begun */
	bool is_soft;    /* a soft interrupt, whose work is no thread's */
	bool done;
};

/* To be called with the name of each frame, innermost first, until waking.done. */
void waking_look(struct waking *waking, const char *function);

/* Writes the name of the frame. `flags`: enum waker_flag. `comm`: the name of the thread that ran. */
void waking_describe(const struct waking *waking, uint32_t flags, const char *comm, char *ret, size_t size);

#endif

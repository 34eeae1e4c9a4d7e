/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freeze: holds the threads of a process that run, by ptrace. Those that sleep are better left alone: they hold still
 * by themselves, and to stop one wakes it, so that its system call may fail with EINTR. When the thread that held them
 * ends, however it does, the kernel lets them go.
 *
 * A thread that was told to stop runs no instruction of its program from the moment on at which it is not on a CPU. So
 * nobody waits until it has stopped: one that is not scheduled meanwhile loses nothing.
 */
#ifndef STRATA_STACK_FREEZE_H
#define STRATA_STACK_FREEZE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"

struct held_thread {
	pid_t tid;
	bool ran; /* it was on a CPU */
};

struct freeze {
	VEC(struct held_thread) held;
};

/* Tells a thread to stop. False when it may not be held: it has ended, or somebody else traces it. */
bool freeze_hold(struct freeze *freeze, pid_t tid, bool ran);

/* NULL: it is not held. */
const struct held_thread *freeze_find(const struct freeze *freeze, pid_t tid);

/* Lets those go that have stopped. How many have not yet. */
size_t freeze_release(struct freeze *freeze);

/* Lets all go; those that do not stop within a second the kernel lets go when the thread that held them ends. */
void freeze_deinit(struct freeze *freeze);

#endif

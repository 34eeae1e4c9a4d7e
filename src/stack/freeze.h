/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * freeze: holds the running threads of a process, by ptrace. Sleeping threads are better left alone: their stacks do
 * not change, and stopping a thread wakes it, so that its system call may fail with EINTR. When the thread that holds
 * them ends, however it does, the kernel releases them.
 *
 * A thread that was told to stop executes no further instruction of its program once it is off its CPU. So nobody waits
 * until it has stopped: a thread that is not scheduled meanwhile loses nothing.
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

/* Tells a thread to stop. False if it cannot be held: it has ended, or somebody else traces it. */
bool freeze_hold(struct freeze *freeze, pid_t tid, bool ran);

/* NULL: it is not held. */
const struct held_thread *freeze_find(const struct freeze *freeze, pid_t tid);

/* Releases those that have stopped. Returns how many have not stopped yet. */
size_t freeze_release(struct freeze *freeze);

/* Releases all. The kernel releases those that do not stop within a second when the thread that held them ends. */
void freeze_deinit(struct freeze *freeze);

#endif

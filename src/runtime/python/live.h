/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live: is what the file says true for the process? Walks the thread lists of the interpreters as
 * runtime/python/bpf/walk.h does, and checks each thread state: is its thread_id the pthread_self() of a thread of this
 * process, and does it execute a code object that has a name?
 *
 * A thread state may belong to a thread that has ended or is about to start. So some may belong to no thread, but at
 * least one must; and all that belong to one and execute something must have a code object with a name. The process
 * goes on running, so what does not fit is read again a few times before it counts.
 *
 * For an unknown version this is not enough: there the whole chain of frames of one thread must prove the layout
 * (runtime/python/proof.h).
 */
#ifndef STRATA_PYTHON_LIVE_H
#define STRATA_PYTHON_LIVE_H

#include "base/vec.h"
#include "proc/memory.h"
#include "runtime/python/interpreter.h"

/* The ids of a process's threads, as it sees them itself and as this process does. */
struct live_threads {
	VEC(uint32_t) ids;
};

/* 0, -ESRCH or -ENOMEM. */
int live_threads_read(int pid, struct live_threads *ret);
void live_threads_deinit(struct live_threads *threads);

struct live_check {
	bool verified;
	size_t interpreters;
	size_t states;    /* thread states in the lists */
	size_t belong;    /* whose thread_id is a thread of the process */
	size_t running;   /* that have a Python frame */
	size_t named;     /* whose frame's code object has a name that decodes */
	size_t proving;   /* whose chain of frames proves the layout; only asked of a version that is not known */
	size_t frames;    /* of these chains */
	bool refuted;     /* not verified, and it was not for want of threads that run something */
	char result[160]; /* the same in words; when it was not verified, why */
};

/* `bias`: address in the process minus vaddr. `machine`: EM_*. */
void live_check(const struct memory *memory, const struct live_threads *threads, uint16_t machine,
		const struct python_interpreter *interpreter, uint64_t bias, struct live_check *ret);

#endif

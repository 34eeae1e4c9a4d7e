/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live: is what the file says true for the process? Walks the interpreters' thread lists as runtime/python/bpf/walk.h
 * does, and asks of each thread state: is its thread_id the pthread_self() of a thread of this process, and is what it
 * executes a code object with a name? Some thread states may belong to no thread: to one that has ended, or is about to
 * start. But at least one must belong to a thread, and all that do and execute something must have a code object with a
 * name. The process runs on meanwhile, so what does not fit is read again a few times before it counts.
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

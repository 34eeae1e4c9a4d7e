/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stack: the whole stack of every thread at this moment, and what each thread waits for.
 *
 * No thread is stopped, unless that is asked for (freeze.h). A thread that is on no CPU does not change its stack:
 *
 *   tasks_read()        registers, kernel stack, number of switches         a BPF iterator, kernel/tasks.h
 *   watch_live_walk()   native and Python walk in the process's memory      bpf/native.h, runtime/python/bpf/walk.h,
 *                                                                           compiled for user space
 *   tasks_read()        still on no CPU, same number of switches?  ─► the stack is true; else it is read again
 *
 * The kernel counts a switch before the thread leaves its CPU, and the iterator reads the count after it has seen that
 * the thread is on no CPU. So a thread that ran in between has another count at the second reading, or is on a CPU.
 * Threads without an answer after two rounds are running. For them the sampler is started, for this process only. The
 * first sample of each such thread is its answer, while the rounds go on. Threads without an answer after a second are
 * reported as not consistent. All answers go into the store like samples, so they are merged and named as in `record`.
 *
 * Why an iterator? PTRACE_INTERRUPT wakes a sleeping thread. epoll_wait() and others then fail with EINTR (signal(7)),
 * and the program notices. It also takes longer: 1.3 ms to stop, read and release 101 sleeping threads, against 0.2 ms
 * with the iterator (two virtual cores, Linux 6.18, the least of ten and of fifty). /proc/PID/task/TID/syscall stops no
 * thread, but has no callee-saved registers, which unwinding needs. The iterator has all registers, the kernel stack
 * and the arguments of the system call, all of one moment. On kernels without bpf_task_pt_regs() (before 5.15) the
 * registers are read at the top of the kernel stack, as the sampler does.
 *
 * --freeze gives all stacks of one moment. ptrace holds the running threads: they are in no system call that could
 * fail. The takes are repeated until between two readings no thread has run, neither those nor the sleeping ones. A
 * sleeper that has run is held in the next round. One walk is done before and thrown away, so that everything is
 * prepared. On that machine, with a load of 12, this took 5 ms for 101 sleeping threads of Python, 1.6 to 2.4 ms for 97
 * sleeping and two busy threads of C, and 2.3 to 7.6 ms for 60 threads that sleep 0.1 to 1.1 ms at a time.
 *
 * Variables are read right after the walk and before the second reading. So they belong to the frames that are shown,
 * if the thread did not run. Stacks from samples have no variables. Variables are matched by number and by name with
 * the frames that the merge shows, or left out. Without --freeze other threads may change the objects meanwhile.
 *
 * The thread that holds the GIL is the interpreter's current thread at the moment of each stack (SAMPLE_CURRENT).
 *
 * Not thread-safe. The result is plain data; all strings are its own.
 */
#ifndef STRATA_STACK_STACK_H
#define STRATA_STACK_STACK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/diag.h"
#include "base/foreign.h"
#include "profile/profile.h"
#include "runtime/runtime.h"

enum stack_state {
	STACK_RUNNING,  /* on a CPU */
	STACK_RUNNABLE, /* it would run if it had one */
	STACK_SLEEPING,
	STACK_BLOCKED, /* as sleeping, and no signal ends that: disk, mostly */
	STACK_STOPPED,
	STACK_DEAD
};

const char *stack_state_name(enum stack_state state);

struct stack_thread {
	int tid;
	char name[16]; /* may be any bytes */
	enum stack_state state;
	const char *waits_for; /* the kind: "gil", "lock", ...; NULL: it does not wait */
	char *detail;          /* NULL: nothing is known */
	bool gil;              /* it holds the GIL */
	bool consistent;
	uint32_t depth;
	const struct frame **frames;   /* innermost first */
	struct runtime_locals *locals; /* of each frame, known for those of a runtime's at most; NULL: not asked for */
};

/* What interprets in a process. */
struct stack_runtime {
	const char *name, *language;   /* "python", "Python"; NULL: nothing does */
	uint16_t version;              /* major << 8 | minor */
	bool has_lock;                 /* one for all threads: CPython's GIL */
	uint64_t data_start, data_end; /* the runtime's own data; 0: not known */
};

struct stack_process {
	int pid;
	char comm[16];
	struct stack_runtime runtime;
	struct stack_thread *threads;
	size_t count;
	bool has_tasks; /* they were asked for, and there is a runtime that may have some */
	struct runtime_tasks tasks;
	bool frozen;      /* all stacks are of one moment */
	double frozen_ms; /* for so long threads were held, at most */
};

struct stacks {
	struct profile *profile; /* whose frames they are */
	struct stack_process *processes;
	size_t count;
	double taken_ms; /* from the first reading to the last */
};

struct stack_options {
	const int *pids;
	size_t count;
	struct foreign_files *files; /* borrowed */
	bool freeze;                 /* hold the threads that run, so that all stacks of a process are of one moment */
	bool tasks;                  /* read the tasks of a runtime */
	bool locals;                 /* read the variables of a runtime's frames */
};

/* A process that is gone by the time that it is read makes it fail: -ESRCH. 0, or a negative errno and a diag. */
int stack_take(const struct stack_options *options, struct stacks **ret, struct diag *diag);
void stack_destroy(struct stacks *stacks);

/* The thread that the process counts as `inner`, in its own pid namespace; `inner` if that is not known. */
int stack_thread_of(const struct stack_process *process, uint32_t inner);

/* One process each. */
void stack_write_text(FILE *out, const struct stack_process *process, bool color);
/* One object on one line. */
void stack_write_json(FILE *out, const struct stack_process *process);

#endif

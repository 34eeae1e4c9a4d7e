// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/waiting.h"

#include <stdio.h>
#include <string.h>

#include "abi/events.h"
#include "lang/core/syscalls.h"

/*
 * Functions that wait for a lock, innermost first on a stack. The GIL's is CPython's own (Python/ceval_gil.c); the
 * others are of libc and of what CPython builds on it.
 */
static const struct waiter waiters[] = {
	{"take_gil", "gil", "the GIL", "GIL"},
	{"PyThread_acquire_lock_timed", "lock", "a lock of Python's", "lock (Python)"},
	{"_PyMutex_LockTimed", "lock", "a lock of Python's", "lock (Python)"},
	{"_PyParkingLot_Park", "lock", "a lock of Python's", "lock (Python)"},
	{"pthread_mutex_lock", "lock", "a mutex", "lock (mutex)"},
	{"__pthread_mutex_lock", "lock", "a mutex", "lock (mutex)"},
	{"pthread_mutex_timedlock", "lock", "a mutex", "lock (mutex)"},
	{"pthread_rwlock_rdlock", "lock", "a read-write lock", "lock (read-write)"},
	{"pthread_rwlock_wrlock", "lock", "a read-write lock", "lock (read-write)"},
	{"pthread_cond_wait", "condition", "a condition variable", "condition variable"},
	{"pthread_cond_timedwait", "condition", "a condition variable", "condition variable"},
	{"pthread_cond_clockwait", "condition", "a condition variable", "condition variable"},
	{"sem_wait", "lock", "a semaphore", "lock (semaphore)"},
	{"sem_timedwait", "lock", "a semaphore", "lock (semaphore)"},
	{"sem_clockwait", "lock", "a semaphore", "lock (semaphore)"},
	{"pthread_join", "thread", "the end of a thread", "end of a thread"},
	{"pthread_timedjoin_np", "thread", "the end of a thread", "end of a thread"},
	{"pthread_clockjoin_np", "thread", "the end of a thread", "end of a thread"},
	{"pthread_barrier_wait", "lock", "a barrier", "lock (barrier)"},
};
#define THE_GIL (&waiters[0])

/* Whether a symbol is a function, whatever version or part of it. */
static bool is_function(const char *symbol, const char *function)
{
	size_t length = strlen(function);

	return !strncmp(symbol, function, length) &&
	       (!symbol[length] || symbol[length] == '.' || symbol[length] == '@');
}

const struct waiter *waiting_function(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(waiters) / sizeof(*waiters); i++)
		if (is_function(name, waiters[i].function))
			return &waiters[i];
	return NULL;
}

void waiting_look(struct waiting *waiting, const struct frame *frame)
{
	waiting->done |= frame->layer == FRAME_RUNTIME;
	if (waiting->done || frame->layer != FRAME_NATIVE)
		return;
	waiting->found = waiting_function(frame->name) ?: waiting->found;
	waiting->hands_over |= is_function(frame->name, "drop_gil") || is_function(frame->name, "drop_gil_impl");
	waiting->done = waiting->found == THE_GIL;
}

/*
 * A stripped interpreter does not say take_gil: but then the condition variable is one of the interpreter's own data,
 * as no other lock of Python's is.
 */
const struct waiter *waiting_runtime_lock(const struct waiter *found)
{
	return found && !strcmp(found->kind, "condition") ? THE_GIL : found;
}

bool waiting_is_runtime_lock(uint32_t waits, const struct waiter *found)
{
	return (waits & WAIT_RUNTIME_LOCK ? waiting_runtime_lock(found) : found) == THE_GIL;
}

void waiting_look_kernel(struct waiting_kernel *kernel, const char *function)
{
	if (!strncmp(function, "io_schedule",
		     strlen("io_schedule"))) /* the only ones that note it: kernel/sched/core.c */
		kernel->input_output = true;
	if (strstr(function, "page_fault") || !strcmp(function, "do_mem_abort"))
		kernel->page_fault = true;
	/* kernel/signal.c: where a frozen thread sleeps, with no other function but the scheduler's further in */
	if (is_function(function, "get_signal") || is_function(function, "do_freezer_trap") ||
	    is_function(function, "__refrigerator"))
		kernel->frozen = true;
	else if (!strstr(function, "schedule"))
		kernel->frozen = false;
}

/* The system call, but for those that tell less than another word. */
static void describe_call(uint32_t number, const struct waiter *found, char *ret, size_t size)
{
	static const char *const sleeps[] = {"nanosleep", "clock_nanosleep", "restart_syscall"};
	const char *name = syscall_name(number);
	size_t i;

	for (i = 0; name && i < sizeof(sleeps) / sizeof(*sleeps); i++)
		if (!strcmp(name, sleeps[i]))
			name = "sleep";
	if (name && !strcmp(name, "futex") && found)
		name = found->brief;
	if (name)
		snprintf(ret, size, "%s", name);
	else
		snprintf(ret, size, "system call %u", number);
}

void waiting_describe(uint32_t waits, const struct waiter *found, const struct waiting_kernel *kernel, char *ret,
		      size_t size)
{
	char call[64];

	if (waits & WAIT_RUNTIME_LOCK)
		found = waiting_runtime_lock(found);
	describe_call(waits & WAIT_NUMBER, found, call, sizeof(call));
	if (waits & WAIT_STOPPED)
		snprintf(ret, size, "stopped");
	else if (waits & WAIT_PREEMPTED)
		snprintf(ret, size, "preempted");
	else if (kernel->frozen)
		snprintf(ret, size, "frozen");
	else if (waits & WAIT_NO_CALL)
		snprintf(ret, size, "%s", kernel->page_fault ? "page fault" : kernel->input_output ? "I/O" : "kernel");
	else if (kernel->page_fault)
		snprintf(ret, size, "page fault in %s", call);
	else if (kernel->input_output)
		snprintf(ret, size, "I/O in %s", call);
	else
		snprintf(ret, size, "%s", call);
}

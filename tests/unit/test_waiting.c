// SPDX-License-Identifier: GPL-2.0-or-later
/* What a thread waits for, from its system call and its frames. */
#include "abi/events.h"
#include "engine/waiting.h"
#include "lang/core/syscalls.h"
#include "tap.h"

static struct frame native(const char *name)
{
	return (struct frame){.layer = FRAME_NATIVE, .name = name, .file = "libc.so.6"};
}

static const struct waiter *find(const struct frame *frames, size_t count)
{
	struct waiting waiting = {};
	size_t i;

	for (i = 0; i < count && !waiting.done; i++)
		waiting_look(&waiting, &frames[i]);
	return waiting.found;
}

static void check(uint32_t waits, const struct waiter *found, struct waiting_kernel kernel, const char *expected)
{
	char text[64];

	waiting_describe(waits, found, &kernel, text, sizeof(text));
	is_str(text, expected, "what %#x is called", waits);
}

static void test_calls(void)
{
	const struct waiting_kernel none = {}, device = {.input_output = true}, fault = {.page_fault = true};
	const struct waiting_kernel frozen = {.frozen = true};
	uint32_t reads = WAIT_OFF_CPU | (uint32_t)syscall_number("read");

	check(reads, NULL, none, "read");
	check(reads, NULL, device, "I/O in read");
	check(reads, NULL, fault, "page fault in read");
	check(reads | WAIT_PREEMPTED, NULL, device, "preempted");
	check(reads | WAIT_STOPPED, NULL, none, "stopped");
	check(WAIT_OFF_CPU | (uint32_t)syscall_number("clock_nanosleep"), NULL, none, "sleep");
	check(WAIT_OFF_CPU | WAIT_NO_CALL, NULL, fault, "page fault");
	check(WAIT_OFF_CPU | WAIT_NO_CALL, NULL, device, "I/O");
	check(WAIT_OFF_CPU | WAIT_NO_CALL, NULL, none, "kernel");
	check(WAIT_OFF_CPU | WAIT_NO_CALL, NULL, frozen, "frozen");
	check(reads, NULL, frozen, "frozen");
	check(reads | WAIT_PREEMPTED, NULL, frozen, "preempted");
	check(WAIT_OFF_CPU | 65535, NULL, none, "system call 65535");
}

static void test_frozen(void)
{
	static const char *const frozen[] = {"do_syscall_64", "arch_do_signal_or_restart", "get_signal", "schedule"};
	static const char *const dumps[] = {"get_signal", "do_coredump", "schedule"};
	struct waiting_kernel kernel = {};
	size_t i;

	for (i = 0; i < sizeof(frozen) / sizeof(*frozen); i++)
		waiting_look_kernel(&kernel, frozen[i]);
	ok(kernel.frozen, "a frozen thread sleeps in get_signal()");
	for (i = 0; i < sizeof(dumps) / sizeof(*dumps); i++)
		waiting_look_kernel(&kernel, dumps[i]);
	ok(!kernel.frozen, "one that dumps its memory is not frozen");
}

static void test_locks(void)
{
	const struct frame mutex[] = {native("__lll_lock_wait"), native("pthread_mutex_lock@@GLIBC_2.2.5"),
				      native("main")};
	const struct frame gil[] = {native("pthread_cond_timedwait"), native("take_gil"),
				    native("PyEval_RestoreThread")};
	const struct frame stripped[] = {native("pthread_cond_timedwait"), native("0x1234")};
	const struct frame outside[] = {
		native("futex_wait"), {.layer = FRAME_RUNTIME, .name = "f"}, native("pthread_mutex_lock")};
	const struct frame similar[] = {native("pthread_mutex_locksmith"), native("sem_wait")};
	const struct waiting_kernel none = {};
	uint32_t futex = WAIT_OFF_CPU | (uint32_t)syscall_number("futex");

	check(futex, NULL, none, "futex");
	check(futex, find(mutex, 3), none, "lock (mutex)");
	check(futex, find(gil, 3), none, "GIL");
	check(futex, find(stripped, 2), none, "condition variable");
	check(futex | WAIT_RUNTIME_LOCK, find(stripped, 2), none, "GIL");
	check(futex | WAIT_RUNTIME_LOCK, find(mutex, 3), none, "lock (mutex)");
	check(futex, find(similar, 2), none, "lock (semaphore)");
	ok(!find(outside, 3), "what called the runtime's frame does not count");
}

static void test_runtime_lock(void)
{
	const struct frame taken[] = {native("take_gil"), native("PyEval_RestoreThread")};
	const struct frame condition[] = {native("pthread_cond_timedwait"), native("0x1234")};
	const struct frame given[] = {native("pthread_cond_signal"), native("drop_gil_impl.lto_priv.0")};
	const struct frame outside[] = {{.layer = FRAME_RUNTIME, .name = "f"}, native("drop_gil")};
	struct waiting waiting = {};

	ok(waiting_is_runtime_lock(WAIT_OFF_CPU | WAIT_PREEMPTED, find(taken, 2)), "take_gil(), preempted or not");
	ok(!waiting_is_runtime_lock(WAIT_OFF_CPU, find(condition, 2)), "some condition is none");
	ok(waiting_is_runtime_lock(WAIT_OFF_CPU | WAIT_RUNTIME_LOCK, find(condition, 2)), "the runtime's own is");
	ok(!waiting_is_runtime_lock(WAIT_OFF_CPU | WAIT_RUNTIME_LOCK, NULL), "a futex alone is none");
	waiting_look(&waiting, &outside[0]);
	waiting_look(&waiting, &outside[1]);
	ok(!waiting.hands_over, "what called the runtime's frame does not hand it over");
	waiting = (struct waiting){};
	waiting_look(&waiting, &given[0]);
	waiting_look(&waiting, &given[1]);
	ok(waiting.hands_over && !waiting.found, "drop_gil() does, and is no wait");
}

static void test_kernel(void)
{
	struct waiting_kernel kernel = {};

	waiting_look_kernel(&kernel, "schedule");
	ok(!kernel.input_output && !kernel.page_fault, "schedule() tells nothing");
	waiting_look_kernel(&kernel, "io_schedule_timeout");
	waiting_look_kernel(&kernel, "asm_exc_page_fault");
	ok(kernel.input_output && kernel.page_fault, "io_schedule() and a page fault do");
}

int main(void)
{
	test_calls();
	test_frozen();
	test_locks();
	test_runtime_lock();
	test_kernel();
	return tap_done();
}

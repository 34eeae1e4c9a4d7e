// SPDX-License-Identifier: GPL-2.0-or-later
/* Who has ended a wait, from kernel stacks as kernels 5.10 to 6.18 have them. */
#include "abi/events.h"
#include "engine/waking.h"
#include "tap.h"

#define LOOK(names, waking) look(names, sizeof(names) / sizeof(*(names)), waking)

static void look(const char *const *names, size_t count, struct waking *waking)
{
	size_t i;

	*waking = (struct waking){};
	for (i = 0; i < count && !waking->done; i++)
		waking_look(waking, names[i]);
}

static void check(const struct waking *waking, uint32_t flags, const char *comm, const char *expected)
{
	char text[64];

	waking_describe(waking, WAKER_KNOWN | flags, comm, text, sizeof(text));
	is_str(text, expected, "%s", expected);
}

static void test_threads(void)
{
	static const char *const writes[] = {"__traceiter_sched_waking", "try_to_wake_up", "autoremove_wake_function",
					     "vfs_write", "do_syscall_64"};
	static const char *const sends[] = {"try_to_wake_up", "sock_def_readable", "tcp_rcv_established",
					    "net_rx_action",  "handle_softirqs",   "do_softirq",
					    "tcp_sendmsg",    "do_syscall_64"};
	static const char *const faults[] = {"try_to_wake_up", "handle_userfault", "asm_exc_page_fault"};
	struct waking waking;

	LOOK(writes, &waking);
	check(&waking, 0, "writer", "[woken by: writer]");
	check(&waking, WAKER_UNRECORDED, "writer", "[woken by: writer (not recorded)]");
	check(&waking, WAKER_NO_STACK, "writer", "[woken by: not known]");
	check(&waking, WAKER_NO_STACK | WAKER_THREAD, "writer", "[woken by: writer]");
	check(&waking, 0, "", "[woken by: ?]");
	ok(waking.first == 1 && waking.end == 5, "without what is inside of try_to_wake_up()");
	LOOK(sends, &waking);
	check(&waking, 0, "sender", "[woken by: sender]");
	ok(waking.end == 8, "packets that a thread has sent are received on its stack");
	LOOK(faults, &waking);
	check(&waking, 0, "toucher", "[woken by: toucher]");
}

static void test_interrupts(void)
{
	static const char *const timer[] = {
		"try_to_wake_up",    "hrtimer_wakeup",
		"__hrtimer_run_queues",		   "hrtimer_interrupt",
		"__sysvec_apic_timer_interrupt",   "sysvec_apic_timer_interrupt",
		"asm_sysvec_apic_timer_interrupt", "vfs_read",
		"do_syscall_64"};
	static const char *const late[] = {"try_to_wake_up", "process_timeout", "call_timer_fn", "run_timer_softirq",
					   "handle_softirqs", "do_softirq",	"tcp_sendmsg"};
	static const char *const thread[] = {"try_to_wake_up", "run_timer_softirq", "__do_softirq", "run_ksoftirqd"};
	static const char *const packet[] = {"try_to_wake_up",     "net_rx_action",	 "__do_softirq", "irq_exit_rcu",
					     "common_interrupt", "asm_common_interrupt", "main"};
	static const char *const other[] = {"try_to_wake_up", "gic_handle_irq", "el1_interrupt", "el1h_64_irq_handler",
					    "el1h_64_irq",    "vfs_read"};
	struct waking waking;

	LOOK(timer, &waking);
	check(&waking, 0, "victim", "[woken by: interrupt (timer)]");
	ok(waking.end == 7, "what it has interrupted is left out: %u", waking.end);
	LOOK(late, &waking);
	check(&waking, 0, "victim", "[woken by: interrupt (timer)]");
	ok(waking.end == 5, "a timer is not the thread's that runs it: %u", waking.end);
	LOOK(thread, &waking);
	check(&waking, 0, "ksoftirqd/0", "[woken by: interrupt (timer)]");
	LOOK(packet, &waking);
	check(&waking, 0, "victim", "[woken by: interrupt (network)]");
	ok(waking.end == 6, "a soft interrupt behind an interrupt ends where that does: %u", waking.end);
	LOOK(other, &waking);
	check(&waking, 0, "victim", "[woken by: interrupt]");
	ok(waking.end == 5, "on AArch64, too: %u", waking.end);
	waking = (struct waking){.is_interrupt = true};
	check(&waking, WAKER_IDLE, "", "[woken by: interrupt]");
}

int main(void)
{
	test_threads();
	test_interrupts();
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Stacks that are hard to unwind, one kind a mode; each uses CPU time where it is hard. Usage: truth MODE SECONDS
#include <alloca.h>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <pthread.h>
#include <sched.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static double seconds;

// CPU time of the process, so that a busy machine changes nothing.
static double used()
{
	timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

__attribute__((noinline)) static void grind(unsigned rounds)
{
	for (volatile unsigned i = 0; i < rounds; i++)
		;
}

__attribute__((noinline)) static int deeper(int n)
{
	if (n == 0) {
		grind(20000);
		return 1;
	}
	return deeper(n - 1) + 1;
}

static void on_signal(int)
{
	deeper(3);
}

static void signals(bool alternate)
{
	stack_t stack = {};
	struct sigaction action = {};

	stack.ss_size = 1 << 16;
	stack.ss_sp = malloc(stack.ss_size);
	if (alternate)
		sigaltstack(&stack, nullptr);
	action.sa_handler = on_signal;
	action.sa_flags = alternate ? SA_ONSTACK : 0;
	sigaction(SIGUSR1, &action, nullptr);
	sigaction(SIGUSR2, &action, nullptr);
	while (used() < seconds) {
		raise(SIGUSR1);
		kill(getpid(), SIGUSR2);
		grind(3000);
	}
}

static void vforks()
{
	while (used() < seconds) {
		pid_t child = vfork();

		if (child == 0) {
			grind(200000);
			_exit(0);
		}
		waitpid(child, nullptr, 0);
		grind(100000);
	}
}

static int cloned(void *)
{
	while (used() < seconds)
		deeper(5);
	return 0;
}

// Threads on stacks of one page more than they need, at odd places, that nothing but clone() knows of.
static void clones()
{
	for (size_t odd : {0, 16, 1040, 4080}) {
		char *stack =
			(char *)mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int child = clone(cloned, stack + (1 << 16) - odd, SIGCHLD, nullptr);

		waitpid(child, nullptr, 0);
	}
}

// GCC realigns the stack: the CFA is in a slot that the frame pointer leads to.
__attribute__((noinline)) static int aligned(int n, size_t size)
{
	alignas(64) volatile char place[128];
	char *more = (char *)alloca(size);

	memset((char *)place, n, sizeof(place));
	memset(more, n, size);
	if (n == 0) {
		grind(20000);
		return place[5];
	}
	return aligned(n - 1, size + 24) + more[size - 1] + place[n];
}

static void realigned()
{
	while (used() < seconds)
		aligned(20, 40);
}

__attribute__((noinline)) static int thrower(int n)
{
	struct guard {
		~guard()
		{
			grind(10);
		}
	} here;

	if (n == 0)
		throw std::runtime_error("out");
	return thrower(n - 1) + 1;
}

static void exceptions()
{
	while (used() < seconds) {
		try {
			thrower(30);
		} catch (const std::exception &) {
			grind(100);
		}
	}
}

extern "C" int near_nothing(int);

// The time goes to the lazy stubs and what they jump to.
static void stubs()
{
	volatile int sum = 0;

	while (used() < seconds)
		for (int i = 0; i < 100000; i++)
			sum = sum + near_nothing(i);
}

static int compare(const void *a, const void *b)
{
	grind(50);
	return *(const int *)a - *(const int *)b;
}

// Through a library's frames and back.
static void sorts()
{
	static int numbers[1000];

	while (used() < seconds) {
		for (int &number : numbers)
			number = rand();
		qsort(numbers, 1000, sizeof(int), compare);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	seconds = argc > 2 ? atof(argv[2]) : 0;
	if (!strcmp(mode, "signals"))
		signals(false);
	else if (!strcmp(mode, "sigaltstack"))
		signals(true);
	else if (!strcmp(mode, "vfork"))
		vforks();
	else if (!strcmp(mode, "clone"))
		clones();
	else if (!strcmp(mode, "aligned"))
		realigned();
	else if (!strcmp(mode, "exceptions"))
		exceptions();
	else if (!strcmp(mode, "plt"))
		stubs();
	else if (!strcmp(mode, "sort"))
		sorts();
	else if (!strcmp(mode, "split"))
		while (used() < seconds)
			deeper(3000);
	else
		return 2;
	return 0;
}

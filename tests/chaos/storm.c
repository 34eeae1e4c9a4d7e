// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that make life hard for a profiler. usage: storm MODE SECONDS [argument...]
 * They end when they and their children have used so many seconds of CPU time, however long that takes.
 *
 *   forks [S]          300 children a second: one third ends at once, the others compute for some milliseconds, or S
 *   execs PROGRAM...   children that exec one program after the other
 *   remap A B          one thread: dlopen(A), spin(), dlclose(), dlopen(B), spin(), dlclose(), ...
 *   libraries A B      four threads do that, and map and unmap anonymous code
 *   threads            threads that live a few milliseconds, 100 a second
 *   brief              threads that live 0.2 ms, one after the other
 *   signals            two threads in nested signal handlers on alternate stacks
 *   bombard            a process that gets signals, on another stack, from two others as fast as they can send
 *   leaderless         the main thread ends; another one says "ready", waits for the end of standard input, and goes on
 *   jit                anonymous code mapped at ever new addresses and unmapped again, 1,000 times a second
 *   mmaps FILE         500 executable mappings of a file, of which one is replaced every 0.1 ms
 *   uring FILE         reads by io_uring's kernel-side workers
 *   pids A B P Q       children that have the same pid, one after the other: a library's code, the other's, a program,
 *                      another
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double budget;
static char **arguments;

static double cpu_time(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int going_on(void)
{
	struct rusage children;

	getrusage(RUSAGE_CHILDREN, &children);
	return cpu_time(CLOCK_PROCESS_CPUTIME_ID) + (double)(children.ru_utime.tv_sec + children.ru_stime.tv_sec) +
		       (double)(children.ru_utime.tv_usec + children.ru_stime.tv_usec) / 1e6 <
	       budget;
}

static void rest(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};

	nanosleep(&t, NULL);
}

__attribute__((noinline)) static void storm_compute(double seconds)
{
	double end = cpu_time(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (cpu_time(CLOCK_THREAD_CPUTIME_ID) < end)
		for (volatile int i = 0; i < 20000; i++)
			;
}

static void reap(int flags)
{
	while (waitpid(-1, NULL, flags) > 0)
		;
}

static void forks(void)
{
	unsigned int i;
	double each = arguments[0] ? atof(arguments[0]) : 0;

	for (i = 0; going_on(); i++) {
		pid_t pid = fork();

		if (!pid) {
			if (i % 3)
				storm_compute(each > 0 ? each : 0.002 + 0.001 * (i % 5));
			_exit(0);
		}
		reap(WNOHANG);
		rest(0.0033);
	}
	reap(0);
}

static void execs(void)
{
	unsigned int i, count = 0;

	while (arguments[count])
		count++;
	for (i = 0; count && going_on(); i++) {
		pid_t pid = fork();

		if (!pid) {
			int null = open("/dev/null", O_RDWR);

			dup2(null, 0);
			dup2(null, 1);
			dup2(null, 2);
			execl("/bin/sh", "sh", "-c", arguments[i % count], (char *)NULL);
			_exit(127);
		}
		waitpid(pid, NULL, 0);
	}
}

/* The same few calls whichever library it is, so that both make stacks of equal addresses. */
__attribute__((noinline)) static void visit(const char *library, double seconds)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	void (*spin)(double);

	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	*(void **)&spin = dlsym(handle, "spin");
	spin(seconds);
	dlclose(handle);
}

static void remap(void)
{
	unsigned int i;

	for (i = 0; going_on(); i++)
		visit(arguments[i & 1], 0.1);
}

static void *library_thread(void *number)
{
	uintptr_t i = (uintptr_t)number;

	for (; going_on(); i++) {
		uint8_t *code =
			mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		code[0] = 0xc3;
		((void (*)(void))(uintptr_t)code)();
		visit(arguments[i & 1], 0.004);
		munmap(code, 8192);
		rest(0.004);
	}
	return NULL;
}

static void libraries(void)
{
	pthread_t threads[4];
	uintptr_t i;

	for (i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, library_thread, (void *)i);
	for (i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

static void *short_thread(void *unused)
{
	(void)unused;
	storm_compute(0.005);
	return NULL;
}

static void threads(void)
{
	pthread_t thread;

	while (going_on()) {
		if (!pthread_create(&thread, NULL, short_thread, NULL))
			pthread_detach(thread);
		rest(0.01);
	}
	rest(0.1);
}

static void *brief_thread(void *unused)
{
	(void)unused;
	storm_compute(0.0002);
	return NULL;
}

static void brief(void)
{
	pthread_t thread;

	while (going_on())
		if (!pthread_create(&thread, NULL, brief_thread, NULL))
			pthread_join(thread, NULL);
}

static void on_usr1(int signal)
{
	(void)signal;
	storm_compute(0.0002);
}

static void on_usr2(int signal)
{
	(void)signal;
	raise(SIGUSR1);
	storm_compute(0.0002);
}

static void *signal_thread(void *unused)
{
	stack_t stack = {.ss_size = 65536};

	(void)unused;
	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	while (going_on()) {
		raise(SIGUSR2);
		storm_compute(0.0002);
	}
	return NULL;
}

static void signals(void)
{
	struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK | SA_RESTART};
	pthread_t threads[2];
	int i;

	sigaction(SIGUSR1, &action, NULL);
	action.sa_handler = on_usr2;
	sigaction(SIGUSR2, &action, NULL);
	for (i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, signal_thread, NULL);
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void bombard(void)
{
	struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_ONSTACK | SA_RESTART};
	stack_t stack = {.ss_size = 65536};
	pid_t senders[2], target = getpid();
	int i;

	stack.ss_sp = malloc(stack.ss_size);
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &action, NULL);
	for (i = 0; i < 2; i++) {
		senders[i] = fork();
		while (!senders[i] && !kill(target, SIGUSR1) && getppid() == target)
			rest(0.00002);
		if (!senders[i])
			_exit(0);
	}
	while (cpu_time(CLOCK_PROCESS_CPUTIME_ID) < budget)
		storm_compute(0.001);
	for (i = 0; i < 2; i++)
		if (senders[i] > 1)
			kill(senders[i], SIGKILL);
	reap(0);
}

static pthread_t main_thread;

static void *lonely_thread(void *unused)
{
	char byte;

	(void)unused;
	pthread_join(main_thread, NULL);
	puts("ready");
	fflush(stdout);
	while (read(0, &byte, 1) > 0)
		;
	while (going_on())
		storm_compute(0.01);
	exit(0);
}

static void leaderless(void)
{
	pthread_t thread;

	main_thread = pthread_self();
	pthread_create(&thread, NULL, lonely_thread, NULL);
	pthread_exit(NULL);
}

static void jit(void)
{
	uintptr_t at = 0x100000000000;

	while (going_on()) {
		void *code =
			mmap((void *)at, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (code == MAP_FAILED)
			exit(1);
		munmap(code, 4096);
		at += 1 << 20;
		storm_compute(0.001);
	}
}

static void mmaps(void)
{
	static struct {
		void *at;
		size_t size;
	} mappings[500];
	int file = open(arguments[0], O_RDONLY);
	unsigned int i;

	for (i = 0; going_on(); i = (i + 1) % 500) {
		if (mappings[i].at)
			munmap(mappings[i].at, mappings[i].size);
		mappings[i].size = 4096 * (1 + i % 7);
		mappings[i].at = mmap(NULL, mappings[i].size, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
		if (mappings[i].at == MAP_FAILED)
			exit(1);
		storm_compute(0.0001);
	}
}

static void uring(void)
{
	struct io_uring_params params = {};
	int ring = (int)syscall(SYS_io_uring_setup, 8, &params), file = open(arguments[0], O_RDONLY);
	size_t sq_size = params.sq_off.array + params.sq_entries * 4,
	       cq_size = params.cq_off.cqes + params.cq_entries * 16;
	uint8_t *sq, *cq;
	struct io_uring_sqe *entries;
	static char buffer[16 << 20];
	uint32_t tail;

	if (ring < 0 || file < 0)
		exit(77);
	sq = mmap(NULL, sq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQ_RING);
	cq = mmap(NULL, cq_size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_CQ_RING);
	entries = mmap(NULL, params.sq_entries * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		       IORING_OFF_SQES);
	while (going_on()) {
		tail = *(uint32_t *)(sq + params.sq_off.tail);
		entries[tail & 7] = (struct io_uring_sqe){.opcode = IORING_OP_READ,
							  .flags = IOSQE_ASYNC,
							  .fd = file,
							  .addr = (uintptr_t)buffer,
							  .len = sizeof(buffer)};
		((uint32_t *)(sq + params.sq_off.array))[tail & 7] = tail & 7;
		__atomic_store_n((uint32_t *)(sq + params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
		if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) < 0)
			exit(77);
		__atomic_store_n((uint32_t *)(cq + params.cq_off.head),
				 __atomic_load_n((uint32_t *)(cq + params.cq_off.tail), __ATOMIC_ACQUIRE),
				 __ATOMIC_RELEASE);
	}
}

/* What a child of pids() is. It says so by its name before it does anything. */
static _Noreturn void play(unsigned int part)
{
	static const char *const names[] = {"reuse-alpha", "reuse-omega", "reuse-alpha", "reuse-omega"};

	prctl(PR_SET_NAME, names[part]);
	if (part < 2)
		visit(arguments[part], 0.02);
	else
		execl(arguments[part], arguments[part], (char *)NULL);
	_exit(0);
}

static void pids(void)
{
	unsigned int i;
	pid_t pid = 0, child;

	for (i = 0; going_on(); i++) {
		struct clone_args how = {.exit_signal = SIGCHLD};

		if (pid)
			how.set_tid = (uintptr_t)&pid, how.set_tid_size = 1;
		child = (pid_t)syscall(SYS_clone3, &how, sizeof(how));
		if (!child)
			play(i % 4);
		if (child < 0 && errno != EEXIST)
			exit(77);
		pid = child < 0 ? 0 : child; /* somebody else has it: another one then */
		reap(0);
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{"forks", forks},     {"execs", execs},     {"remap", remap},           {"libraries", libraries},
		{"threads", threads}, {"signals", signals}, {"leaderless", leaderless}, {"jit", jit},
		{"uring", uring},     {"brief", brief},     {"bombard", bombard},       {"pids", pids},
		{"mmaps", mmaps},
	};
	size_t i;

	if (argc < 3)
		return 2;
	budget = atof(argv[2]);
	arguments = argv + 3;
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		if (!strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return 0;
		}
	}
	return 2;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that know how long they wait: each case prints `NAME SECONDS`, the time in which the threads in the function
 * NAME were not on a CPU: what passed, without what they used of the CPU.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP    __attribute__((noipa))
#define THREADS 4

static double seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Both clocks are read at one moment: a wait between them would count as the function's. */
static double not_running(void)
{
	double before, used, after;

	do {
		before = seconds(CLOCK_MONOTONIC);
		used = seconds(CLOCK_THREAD_CPUTIME_ID);
		after = seconds(CLOCK_MONOTONIC);
	} while (after - before > 20e-6);
	return before - used;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double waited[THREADS];
static pthread_barrier_t together;
static volatile unsigned long sink;

KEEP static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	asm volatile("");
}

KEEP static void hold_lock(void)
{
	usleep(3000);
	pthread_mutex_unlock(&lock);
	asm volatile("");
}

static void *convoy(void *argument)
{
	double *sum = argument, before;
	int i;

	pthread_barrier_wait(&together);
	for (i = 0; i < 100; i++) {
		before = not_running();
		take_lock();
		*sum += not_running() - before;
		hold_lock();
	}
	return NULL;
}

static int pipes[2];

KEEP static void read_pipe(void)
{
	char byte;

	while (read(pipes[0], &byte, 1) == 1)
		asm volatile("");
}

static void *write_pipe(void *unused)
{
	int i;

	for (i = 0; i < 100; i++) {
		usleep(10000);
		if (write(pipes[1], "x", 1) != 1)
			abort();
	}
	close(pipes[1]);
	return unused;
}

KEEP static void touch(const volatile char *bytes, size_t size)
{
	size_t i;

	for (i = 0; i < size; i += 4096)
		sink += (unsigned long)bytes[i];
}

static long major_faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_majflt;
}

static void cold_file(const char *path, size_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	char *block = malloc(size), *bytes;
	double before;

	memset(block, 'x', size);
	if (fd < 0 || write(fd, block, size) != (ssize_t)size || fsync(fd) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		exit(1);
	bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED || madvise(bytes, size, MADV_RANDOM))
		exit(1);
	before = not_running();
	touch(bytes, size);
	printf("touch %.6f\nfaults %ld\n", not_running() - before, major_faults());
	unlink(path);
}

static int faults;

/* Gives each page that is asked for, 5 ms later. */
static void *give_pages(void *unused)
{
	struct uffd_msg message;

	while (read(faults, &message, sizeof(message)) == sizeof(message)) {
		struct uffdio_zeropage page = {.range = {message.arg.pagefault.address & ~4095ull, 4096}};

		usleep(5000);
		if (ioctl(faults, UFFDIO_ZEROPAGE, &page))
			exit(1);
	}
	return unused;
}

static void late_pages(size_t size)
{
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};
	pthread_t thread;
	double before;
	char *bytes;

	bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	range.range.start = (unsigned long)bytes;
	range.range.len = size;
	if (bytes == MAP_FAILED || faults < 0 || ioctl(faults, UFFDIO_API, &api) ||
	    ioctl(faults, UFFDIO_REGISTER, &range) || pthread_create(&thread, NULL, give_pages, NULL))
		exit(3);
	before = not_running();
	touch(bytes, size);
	printf("touch %.6f\n", not_running() - before);
}

static int there[2], back[2];

/* Two threads that wait for each other, one of them much longer. */
KEEP static void wait_short(void)
{
	char byte;

	if (read(back[0], &byte, 1) != 1)
		exit(1);
	asm volatile("");
}

KEEP static void wait_long(void)
{
	char byte;

	if (read(there[0], &byte, 1) != 1)
		pthread_exit(NULL);
	asm volatile("");
}

static double answering;

KEEP static void *answer(void *unused)
{
	double before = not_running();
	int i;

	for (i = 0;; i++) {
		answering = not_running() - before;
		wait_long();
		if (write(back[1], "x", 1) != 1)
			exit(1);
	}
	return unused;
}

KEEP static void ping_pong(double length)
{
	double before = not_running(), end = seconds(CLOCK_MONOTONIC) + length;
	unsigned long turns = 0, i;
	pthread_t thread;
	cpu_set_t one;

	/* The CPU is never idle meanwhile: see the cold file in offcpu.t. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one) || pipe(there) || pipe(back) ||
	    pthread_create(&thread, NULL, answer, NULL))
		exit(1);
	for (; seconds(CLOCK_MONOTONIC) < end; turns++) {
		for (i = 0; i < 20000; i++)
			sink += i;
		if (write(there[1], "x", 1) != 1)
			exit(1);
		wait_short();
	}
	printf("ping_pong %.6f\n", not_running() - before);
	close(there[1]);
	pthread_join(thread, NULL);
	printf("answer %.6f\nturns %lu\n", answering, turns);
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	double before, sum = 0;
	int i;

	if (argc > 1 && !strcmp(argv[1], "lock")) {
		pthread_barrier_init(&together, NULL, THREADS);
		for (i = 0; i < THREADS; i++)
			pthread_create(&threads[i], NULL, convoy, &waited[i]);
		for (i = 0; i < THREADS; i++, sum += waited[i - 1])
			pthread_join(threads[i], NULL);
		printf("take_lock %.6f\n", sum);
	} else if (argc > 1 && !strcmp(argv[1], "pipe")) {
		if (pipe(pipes))
			return 1;
		pthread_create(&threads[0], NULL, write_pipe, NULL);
		before = not_running();
		read_pipe();
		printf("read_pipe %.6f\n", not_running() - before);
		pthread_join(threads[0], NULL);
	} else if (argc > 2 && !strcmp(argv[1], "file")) {
		cold_file(argv[2], 16u << 20);
	} else if (argc > 1 && !strcmp(argv[1], "faults")) {
		late_pages(100 * 4096);
	} else if (argc > 2 && !strcmp(argv[1], "turns")) {
		ping_pong(atof(argv[2]));
	} else {
		return 2;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two threads on each CPU that take turns by pipes, with some work in each turn: `switches WORK SECONDS` prints how
 * many times a second they have all left their CPU.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

struct pair {
	int there[2], back[2];
	int cpu;
};

static unsigned long work;
static volatile int over;

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void take_turns(int from, int to)
{
	char byte = 0;

	while (read(from, &byte, 1) == 1 && !over) {
		for (unsigned long i = 0; i < work; i++)
			asm volatile("");
		if (write(to, &byte, 1) != 1)
			break;
	}
	close(to);
}

static void *first(void *argument)
{
	struct pair *pair = argument;

	pin(pair->cpu);
	if (write(pair->there[1], "", 1) == 1)
		take_turns(pair->back[0], pair->there[1]);
	return NULL;
}

static void *second(void *argument)
{
	struct pair *pair = argument;

	pin(pair->cpu);
	take_turns(pair->there[0], pair->back[1]);
	return NULL;
}

static unsigned long switches(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return (unsigned long)(usage.ru_nvcsw + usage.ru_nivcsw);
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), i;
	struct pair *pairs = calloc((size_t)cpus, sizeof(*pairs));
	pthread_t thread;
	unsigned long before;
	double began;

	if (argc < 3 || !pairs)
		return 2;
	work = strtoul(argv[1], NULL, 10);
	for (i = 0; i < cpus; i++) {
		pairs[i].cpu = (int)i;
		if (pipe(pairs[i].there) || pipe(pairs[i].back) || pthread_create(&thread, NULL, second, &pairs[i]) ||
		    pthread_create(&thread, NULL, first, &pairs[i]))
			return 1;
	}
	puts("ready"); /* and begins when it is told to */
	fflush(stdout);
	if (getchar() == EOF)
		return 1;
	before = switches();
	began = now();
	usleep((useconds_t)(atof(argv[2]) * 1e6));
	printf("%.0f\n", (double)(switches() - before) / (now() - began));
	over = 1;
	return 0;
}

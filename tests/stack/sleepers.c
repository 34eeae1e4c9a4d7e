// SPDX-License-Identifier: GPL-2.0-or-later
/* sleepers THREADS DEPTH: threads that sleep in known functions, DEPTH calls deep, and two that never do. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile unsigned long turns;
static int depth, pipe_ends[2];

__attribute__((noinline)) void sleep_here(void)
{
	char byte;

	while (read(pipe_ends[0], &byte, 1) < 0)
		;
	turns++; /* no tail call */
}

__attribute__((noinline)) void descend(int more)
{
	if (more)
		descend(more - 1);
	else
		sleep_here();
	turns++;
}

__attribute__((noinline)) void *sleeper(void *unused)
{
	(void)unused;
	descend(depth);
	return NULL;
}

__attribute__((noinline)) void spin_here(void)
{
	for (;;)
		turns++;
}

__attribute__((noinline)) void *spinner(void *unused)
{
	(void)unused;
	spin_here();
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1, i;
	pthread_t thread;

	depth = argc > 2 ? atoi(argv[2]) : 0;
	if (pipe(pipe_ends))
		return 1;
	for (i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, sleeper, NULL))
			return 1;
	for (i = 0; i < 2; i++)
		if (pthread_create(&thread, NULL, spinner, NULL))
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

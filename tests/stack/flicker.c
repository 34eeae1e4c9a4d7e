// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * flicker THREADS: threads that change their stacks all the time, and sleep in between for a moment. Each stack is of
 * one family of functions, with frames of one size: one that mixes two was never there.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define DEPTH 30

static volatile unsigned long turns;

static void doze(unsigned int *seed)
{
	const struct timespec time = {.tv_nsec = 100000 + rand_r(seed) % 1000000};

	nanosleep(&time, NULL);
}

#define FAMILY(name, words)                                                                                            \
	__attribute__((noinline)) void name(unsigned int *seed, int more)                                              \
	{                                                                                                              \
		volatile long room[words];                                                                             \
                                                                                                                       \
		room[0] = more;                                                                                        \
		if (room[0])                                                                                           \
			name(seed, more - 1);                                                                          \
		else                                                                                                   \
			doze(seed);                                                                                    \
		turns++;                                                                                               \
	}

FAMILY(family_a, 1)
FAMILY(family_b, 5)
FAMILY(family_c, 11)
FAMILY(family_d, 23)

__attribute__((noinline)) void *flicker(void *context)
{
	static void (*const families[])(unsigned int *, int) = {family_a, family_b, family_c, family_d};
	unsigned int seed = (unsigned int)(unsigned long)context;

	for (;;)
		families[rand_r(&seed) % 4](&seed, DEPTH);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 1 ? atol(argv[1]) : 1, i;
	pthread_t thread;

	for (i = 0; i < threads; i++)
		if (pthread_create(&thread, NULL, flicker, (void *)(i + 1)))
			return 1;
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

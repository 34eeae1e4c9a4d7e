// SPDX-License-Identifier: GPL-2.0-or-later
// wander DEPTH: ever new stacks of some DEPTH calls, for ever: each call is to one of two functions, by chance, and the
// innermost 64 come and go. Built without frame pointers. Says "ready".
#include <stdio.h>
#include <stdlib.h>

enum { WANDERS = 64, WORK = 200 };

static int deepest;
static volatile unsigned long done;

static void left(int depth);
static void right(int depth);

static unsigned long chance(void)
{
	static unsigned long state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

static inline __attribute__((always_inline)) void wander(int depth)
{
	unsigned long dice;
	int i;

	for (;;) {
		for (i = 0; i < WORK; i++)
			done++;
		dice = chance();
		if (depth == deepest || (depth > deepest - WANDERS && !(dice & 3)))
			return;
		(dice & 4 ? left : right)(depth + 1);
	}
}

__attribute__((noinline)) static void left(int depth)
{
	wander(depth);
	done += 2;
}

__attribute__((noinline)) static void right(int depth)
{
	wander(depth);
	done += 3;
}

int main(int argc, char **argv)
{
	deepest = argc > 1 ? atoi(argv[1]) : 1000;
	puts("ready");
	fflush(stdout);
	for (;;)
		left(1);
}

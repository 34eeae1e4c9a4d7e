// SPDX-License-Identifier: GPL-2.0-or-later
/* A library whose code is the same whatever NAME is: only the name of its function differs. */
#include <time.h>

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline)) void NAME(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

void spin(double seconds)
{
	double end = cpu_time() + seconds;

	while (cpu_time() < end)
		NAME();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * deep FRAMES SECONDS: a recursion of so many frames of dive(), without frame pointers, whose innermost one computes
 * for so many seconds of CPU time, and not less than is computed in that time by an emulated machine that has a CPU for
 * itself: a guest whose host is busy has less for the same time, and so does strata in it. main() computes first: what
 * comes before its unwind tables are ready is finished from a copy of the top of its stack only, so the first samples
 * must not be deep ones.
 */
#include <stdlib.h>
#include <time.h>

#define FIRST 0.3
#define ROUNDS_PER_SECOND 1800

static volatile unsigned long sink;

static double cpu_time(void)
{
	struct timespec time;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void compute(double seconds)
{
	double end = cpu_time() + seconds;
	int rounds;

	for (rounds = 0; rounds < seconds * ROUNDS_PER_SECOND || cpu_time() < end; rounds++)
		for (int i = 0; i < 100000; i++)
			sink = sink * 31 + 1;
}

__attribute__((noinline)) static void grind(double seconds)
{
	compute(seconds);
	sink++; /* no tail call */
}

__attribute__((noinline)) static unsigned long dive(unsigned long left, double seconds)
{
	if (left > 1)
		return dive(left - 1, seconds) + sink;
	grind(seconds);
	return sink;
}

int main(int argc, char **argv)
{
	compute(FIRST);
	return argc < 3 || !dive(strtoul(argv[1], NULL, 0), atof(argv[2]));
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* time: the time of a clock of clock_gettime() as one number, in nanoseconds or seconds. */
#ifndef STRATA_BASE_TIME_H
#define STRATA_BASE_TIME_H

#include <stdint.h>
#include <time.h>

static inline uint64_t time_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

static inline double time_s(clockid_t clock)
{
	return (double)time_ns(clock) / 1e9;
}

#endif

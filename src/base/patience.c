// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/patience.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>

#include "base/process_stat.h"

#define LOOK_MS 100 /* how often it is looked whether the child gets on */

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool is_interrupted(void)
{
	sigset_t pending;

	return !sigpending(&pending) && (sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1 ||
					 sigismember(&pending, SIGHUP) == 1);
}

int patience_wait(pid_t child, int fd, double seconds)
{
	struct pollfd ready = {.fd = fd, .events = POLLIN};
	unsigned long before = 0, ticks;
	double since = now_s();
	char state;

	while (poll(&ready, 1, LOOK_MS) <= 0) {
		if (is_interrupted())
			return -EINTR;
		ticks = process_stat_ticks(child, &state);
		/* One that could run but gets no CPU is not one that waits. */
		if (ticks != before || state == 'R')
			since = now_s();
		else if (now_s() > since + seconds)
			return -ETIMEDOUT;
		before = ticks;
	}
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/patience.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>

#include "base/process_stat.h"
#include "base/time.h"

#define LOOK_MS 100 /* how often it is looked whether the child gets on */

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
	double since = time_s(CLOCK_MONOTONIC);
	char state;

	while (poll(&ready, 1, LOOK_MS) <= 0) {
		if (is_interrupted())
			return -EINTR;
		ticks = process_stat_ticks(child, &state);
		/* One that could run but gets no CPU is not one that waits. */
		if (ticks != before || state == 'R')
			since = time_s(CLOCK_MONOTONIC);
		else if (time_s(CLOCK_MONOTONIC) > since + seconds)
			return -ETIMEDOUT;
		before = ticks;
	}
	return 0;
}

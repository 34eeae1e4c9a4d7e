// SPDX-License-Identifier: GPL-2.0-or-later
#include "stack/freeze.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/time.h"

#define RELEASE_NS 1000000000ull
#define PAUSE_US   200

bool freeze_hold(struct freeze *freeze, pid_t tid, bool ran)
{
	if (vec_reserve(&freeze->held, 1) || ptrace(PTRACE_SEIZE, tid, NULL, NULL))
		return false;
	freeze->held.at[freeze->held.count++] = (struct held_thread){tid, ran};
	return !ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
}

const struct held_thread *freeze_find(const struct freeze *freeze, pid_t tid)
{
	size_t i;

	for (i = 0; i < freeze->held.count; i++)
		if (freeze->held.at[i].tid == tid)
			return &freeze->held.at[i];
	return NULL;
}

/* False when it has not stopped yet. */
static bool release(pid_t tid)
{
	int status = 0;
	pid_t got = waitpid(tid, &status, __WALL | WNOHANG);
	long signal = 0;

	if (!got)
		return false;
	/* A signal that was about to be delivered came first: it goes on its way. */
	if (got == tid && WIFSTOPPED(status) && status >> 16 == 0)
		signal = WSTOPSIG(status);
	ptrace(PTRACE_DETACH, tid, NULL, signal);
	return true;
}

size_t freeze_release(struct freeze *freeze)
{
	size_t i, kept = 0;

	for (i = 0; i < freeze->held.count; i++)
		if (!release(freeze->held.at[i].tid))
			freeze->held.at[kept++] = freeze->held.at[i];
	freeze->held.count = kept;
	return kept;
}

void freeze_deinit(struct freeze *freeze)
{
	uint64_t until = time_ns(CLOCK_MONOTONIC) + RELEASE_NS;

	while (freeze_release(freeze) && time_ns(CLOCK_MONOTONIC) < until)
		usleep(PAUSE_US);
	vec_free(&freeze->held);
}

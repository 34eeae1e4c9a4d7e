// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/signals.h"

#include <errno.h>
#include <sys/signalfd.h>
#include <unistd.h>

int signals_take(const int *list, struct signals *ret)
{
	sigset_t mask;

	ret->fd = -1;
	sigemptyset(&mask);
	for (; *list; list++)
		sigaddset(&mask, *list);
	if (sigprocmask(SIG_BLOCK, &mask, &ret->before))
		return -errno;
	ret->fd = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
	return ret->fd < 0 ? -errno : 0;
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP, 0};

int signals_take_ends(struct signals *ret)
{
	return signals_take(ends, ret);
}

bool signals_next(struct signals *signals)
{
	struct signalfd_siginfo taken;

	return signals->fd >= 0 && read(signals->fd, &taken, sizeof(taken)) > 0;
}

bool signals_forget(struct signals *signals)
{
	bool any = false;

	while (signals_next(signals))
		any = true;
	return any;
}

void signals_give_back(struct signals *signals)
{
	if (signals->fd < 0)
		return;
	close(signals->fd);
	signals->fd = -1;
	sigprocmask(SIG_SETMASK, &signals->before, NULL);
}

/* Gives these signals one disposition where they have the other. Async-signal-safe. */
static void replace(void (*from)(int), void (*to)(int))
{
	const int *number;

	for (number = ends; *number; number++) {
		struct sigaction action;

		if (sigaction(*number, NULL, &action) || action.sa_handler != from)
			continue;
		action = (struct sigaction){.sa_handler = to, .sa_flags = SA_RESTART};
		sigaction(*number, &action, NULL);
	}
}

static void absorb(int number)
{
	(void)number;
	replace(absorb, SIG_DFL);
}

void signals_give_back_but_one(struct signals *signals)
{
	signals_forget(signals);
	replace(SIG_DFL, absorb);
	signals_give_back(signals);
}

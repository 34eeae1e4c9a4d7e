/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals: receives signals through a descriptor to be polled, instead of their effect on the process.
 *
 * A struct signals owns its descriptor and remembers the previous mask. Not thread-safe.
 */
#ifndef STRATA_BASE_SIGNALS_H
#define STRATA_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when a signal has arrived; -1: none are received */
	sigset_t before;
};

/* From now on the signals of `list`, which ends with 0, arrive through ret->fd. 0 or a negative errno. */
int signals_take(const int *list, struct signals *ret);

/* SIGINT, SIGTERM and SIGHUP: these ask a command to end. */
int signals_take_ends(struct signals *ret);

/* Takes a signal from the queue; false if there is none. */
bool signals_next(struct signals *signals);

/* Takes all signals from the queue. Whether there were any. */
bool signals_forget(struct signals *signals);

/*
 * From now on they have their ordinary effect; those still in the queue have it at once. May be called twice, and with
 * fd -1.
 */
void signals_give_back(struct signals *signals);

/*
 * The same of SIGINT, SIGTERM and SIGHUP, for a command that is about to end by itself: the first of them has no
 * effect, as what it asks for is under way already. Those in the queue are dropped. What was ignored before stays so.
 */
void signals_give_back_but_one(struct signals *signals);

#endif

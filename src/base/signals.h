/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * signals: takes signals as a descriptor to be polled, in place of their effect on the process.
 *
 * A struct signals owns its descriptor and knows the mask of before. Not thread-safe.
 */
#ifndef STRATA_BASE_SIGNALS_H
#define STRATA_BASE_SIGNALS_H

#include <signal.h>
#include <stdbool.h>

struct signals {
	int fd; /* readable when one has come; -1: none are taken */
	sigset_t before;
};

/* From now on those of `list`, which ends with 0, come through ret->fd. 0 or a negative errno. */
int signals_take(const int *list, struct signals *ret);

/* SIGINT, SIGTERM and SIGHUP: what asks a command to come to its end. */
int signals_take_ends(struct signals *ret);

/* Takes one that has come off the queue; false when there is none. */
bool signals_next(struct signals *signals);

/* Takes all that have come off the queue. Whether there were any. */
bool signals_forget(struct signals *signals);

/*
 * From now on they do what they do to any program; those still in the queue at once. May be called twice, and with
 * fd -1.
 */
void signals_give_back(struct signals *signals);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * session: an engine and its targets: a command, some processes, or everything; and what every client of the engine
 * needs around them: signals, the limit of open files, priority, waiting.
 *
 *   session_open ─► session_start ─► { session_wait } ─► engine_stop ─► session_close
 *
 * A session changes its process: SIGINT, SIGTERM and SIGHUP arrive through a signalfd until session_close() or
 * signals_give_back(), the limit of open files is raised, and so is the priority. The command gets back what was
 * before. One thread, one session at a time.
 */
#ifndef STRATA_ENGINE_SESSION_H
#define STRATA_ENGINE_SESSION_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/signals.h"
#include "base/vec.h"
#include "engine/engine.h"
#include "proc/command.h"

struct session {
	const struct engine_targets *targets;
	struct engine *engine;
	struct signals signals;
	struct command_origin origin; /* the state of this process before */
	struct command command;
	bool has_command;
	double began;             /* sampling, CLOCK_MONOTONIC seconds */
	VEC(struct pollfd) polls; /* signals, the engine's, the client's, then what must end: command or targets */
	size_t first_target;
};

/*
 * Opens the engine and finds its targets, which are borrowed until session_close(); nothing is sampled yet. `input` is
 * one more descriptor to wait for; -1: none. `options->nice` is filled in. 0, or a negative errno and a diag;
 * session_close() is needed in any case.
 */
int session_open(const struct engine_targets *targets, const struct engine_options *options, int input,
		 struct session *ret, struct diag *diag);

/* Begins to sample, and lets the command run. 0, or a negative errno and a diag. */
int session_start(struct session *session, struct diag *diag);

enum session_event {
	SESSION_NOTHING, /* the engine may have handled something; call it again */
	SESSION_INPUT,   /* `input` can be read, or a signal has interrupted the wait */
	SESSION_DUE,     /* the time has come */
	SESSION_GONE,    /* the command, or every process that was asked for, has ended */
	SESSION_SIGNAL   /* SIGINT, SIGTERM or SIGHUP */
};

/*
 * Waits for the next event, until a time (CLOCK_MONOTONIC seconds; 0: none), and handles what has arrived:
 * engine_poll(). 0, or the negative errno that ends the recording; what was sampled is kept.
 */
int session_wait(struct session *session, double until, enum session_event *ret);

/* Ends the command, if it runs. Its exit status in the shell's convention (128 + signal); 0 without one. */
int session_finish_command(struct session *session);

/* Closes the engine, and gives signals back. */
void session_close(struct session *session);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/session.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/time.h"

/*
 * A nice value. A new process's mappings must be read before it runs its first Python code, and the ring before it is
 * full: what little strata has to do, it does at once.
 */
#define PRIORITY -15

/* Each file that is mapped somewhere stays open, and each CPU has its events. */
static void raise_descriptor_limit(struct session *session)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit); /* cannot fail */
	session->origin.files = limit;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static int take_signals(struct session *session, struct diag *diag)
{
	int err = signals_take_ends(&session->signals);

	session->origin.mask = session->signals.before;
	return err ? diag_fail(diag, -err, "session.signals", "signals cannot be taken: %s", strerror(-err)) : 0;
}

static int add_poll(struct session *session, int fd)
{
	return vec_push(&session->polls, (struct pollfd){.fd = fd, .events = POLLIN});
}

static int prepare_polls(struct session *session, int input)
{
	int own[ENGINE_DESCRIPTORS];
	size_t i;
	int err = add_poll(session, session->signals.fd);

	if (!err)
		err = add_poll(session, input); /* poll() leaves out what is negative */
	engine_descriptors(session->engine, own);
	for (i = 0; !err && i < ENGINE_DESCRIPTORS; i++)
		err = add_poll(session, own[i]);
	session->first_target = session->polls.count;
	if (!err && session->has_command)
		err = add_poll(session, session->command.pidfd);
	for (i = 0; !err && i < session->targets->pid_count; i++)
		err = add_poll(session, (int)syscall(SYS_pidfd_open, session->targets->pids[i], 0));
	return err;
}

static int choose_targets(struct session *session, struct diag *diag)
{
	const struct engine_targets *targets = session->targets;
	unsigned int children = targets->children ? ENGINE_CHILDREN : 0;
	size_t i;
	int err = 0;

	if (session->has_command && !targets->all)
		err = engine_watch(session->engine, session->command.pid, ENGINE_BEFORE_EXEC | ENGINE_CHILDREN);
	for (i = 0; i < targets->pid_count && !err; i++) {
		err = engine_watch(session->engine, targets->pids[i], children);
		if (err == -ESRCH)
			return diag_fail(diag, ESRCH, "session.pid", "no process %d: it is gone", targets->pids[i]);
	}
	if (!err && targets->children) {
		err = engine_ready(session->engine, diag);
		if (err)
			return err;
		err = engine_watch_descendants(session->engine, targets->pids, targets->pid_count);
	}
	if (!err && targets->all)
		err = engine_watch_all(session->engine);
	return err ? diag_fail(diag, -err, "session.targets", "the processes cannot be watched: %s", strerror(-err))
		   : 0;
}

int session_open(const struct engine_targets *targets, const struct engine_options *options, int input,
		 struct session *ret, struct diag *diag)
{
	struct engine_options engine = *options;
	int err;

	*ret = (struct session){.targets = targets, .signals.fd = -1};
	engine.nice = PRIORITY;
	raise_descriptor_limit(ret);
	err = take_signals(ret, diag);
	if (!err)
		err = engine_open(&engine, &ret->engine, diag);
	if (!err && targets->command) {
		err = command_prepare(targets->command, &ret->origin, &ret->command, diag);
		ret->has_command = !err;
	}
	setpriority(PRIO_PROCESS, 0, PRIORITY); /* after the command was forked; as well as we can */
	if (!err)
		err = choose_targets(ret, diag);
	if (!err && prepare_polls(ret, input))
		err = diag_fail(diag, ENOMEM, "session.memory", "out of memory");
	return err;
}

int session_start(struct session *session, struct diag *diag)
{
	int err = engine_start(session->engine, diag);

	session->began = time_s(CLOCK_MONOTONIC);
	if (!err && session->has_command)
		err = command_start(&session->command, session->targets->command[0], diag);
	return err;
}

/* True when the command, or every process that was asked for, has ended. */
static bool targets_gone(struct session *session)
{
	size_t i, living = 0;

	if (session->first_target == session->polls.count)
		return false;
	for (i = session->first_target; i < session->polls.count; i++) {
		struct pollfd *target = &session->polls.at[i];

		if (target->revents || target->fd < 0) {
			if (target->fd >= 0 && !session->has_command)
				close(target->fd);
			target->fd = -1; /* poll() leaves it out */
		} else {
			living++;
		}
	}
	return !living;
}

int session_wait(struct session *session, double until, enum session_event *ret)
{
	int timeout = engine_timeout_ms(session->engine), count, err;

	if (until) {
		double left = until - time_s(CLOCK_MONOTONIC);

		*ret = SESSION_DUE;
		if (left <= 0)
			return 0;
		if (left * 1e3 < timeout)
			timeout = (int)(left * 1e3) + 1;
	}
	count = poll(session->polls.at, session->polls.count, timeout);
	if (count < 0 && errno != EINTR)
		return -errno;
	*ret = SESSION_SIGNAL;
	/* Taken off the queue: left there, it would end the process when signals are given back. */
	if (count > 0 && session->polls.at[0].revents && signals_next(&session->signals))
		return 0;
	err = engine_poll(session->engine);
	*ret = count < 0 || session->polls.at[1].revents ? SESSION_INPUT : SESSION_NOTHING;
	if (count >= 0 && targets_gone(session))
		*ret = SESSION_GONE;
	return err;
}

int session_finish_command(struct session *session)
{
	return session->has_command ? command_finish(&session->command) : 0;
}

void session_close(struct session *session)
{
	size_t i;

	for (i = session->first_target; !session->has_command && session->first_target && i < session->polls.count; i++)
		if (session->polls.at[i].fd >= 0)
			close(session->polls.at[i].fd);
	vec_free(&session->polls);
	engine_close(session->engine);
	signals_give_back(&session->signals);
	session->engine = NULL;
	session->first_target = 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: waiting for a child that may itself wait for ever, for a file system that does not answer.
 *
 * Time alone does not tell one that hangs from one that is slow on a busy machine. So what counts is the time in which
 * the child did nothing but sleep: no CPU time, and not ready to run either.
 */
#ifndef STRATA_BASE_PATIENCE_H
#define STRATA_BASE_PATIENCE_H

#include <sys/types.h>

/*
 * Waits until `fd` can be read or has come to its end: 0. -ETIMEDOUT when the child has only waited for `seconds` at a
 * stretch, -EINTR when SIGINT, SIGTERM or SIGHUP is pending: for callers that block them.
 */
int patience_wait(pid_t child, int fd, double seconds);

#endif

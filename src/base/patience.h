/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patience: waits for a child that may hang, because a file system does not answer.
 *
 * Time alone cannot distinguish a child that hangs from one that is slow on a busy machine. So only the time counts in
 * which the child did nothing but sleep: it used no CPU time, and was not ready to run.
 */
#ifndef STRATA_BASE_PATIENCE_H
#define STRATA_BASE_PATIENCE_H

#include <sys/types.h>

/*
 * Waits until `fd` can be read or has reached its end: 0. -ETIMEDOUT if the child has only slept for `seconds` at a
 * stretch; -EINTR if SIGINT, SIGTERM or SIGHUP is pending, for callers that block them.
 */
int patience_wait(pid_t child, int fd, double seconds);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attempt: what may wait for ever, done by a child.
 *
 * Whoever asks a file system that hangs (FUSE, NFS) waits, often so that not even SIGKILL helps, and a program that
 * waits like that does not end. A child that does can be left behind. base/foreign does the same for reading, by
 * processes that are asked again and again; this is for what is done once, with all that the program has in memory.
 */
#ifndef STRATA_BASE_ATTEMPT_H
#define STRATA_BASE_ATTEMPT_H

#include "base/diag.h"

/*
 * Calls work() in a child and gives what it returned, with its diag; what else it changed in memory is the child's.
 * When the child has only waited for `patience_s` at a stretch (base/patience.h): -ETIMEDOUT, and a diag that names
 * `what`. -EINTR when a signal that the caller blocks came meanwhile. Without a child to be had, work() is called here.
 */
int attempt(double patience_s, const char *what, int (*work)(void *context, struct diag *diag), void *context,
	    struct diag *diag);

/*
 * The same for a work() that gives a new descriptor or a negative errno, and needs no descriptor but `keep`: the child
 * has closed all others. The descriptor, here; -ETIMEDOUT and -EINTR as patience_wait() has them; or another negative
 * errno.
 */
int attempt_descriptor(double patience_s, int keep, int (*work)(void *context), void *context);

#endif

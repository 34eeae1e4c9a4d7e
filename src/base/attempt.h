/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * attempt: a child process does work that may hang.
 *
 * A process that accesses a file system that hangs (FUSE, NFS) waits, often so that not even SIGKILL ends it. If strata
 * did this itself, it could not end. A child that hangs can be left behind. base/foreign does the same for reading,
 * with processes that serve many requests. This is for work that is done once, with all that the program has in memory:
 *
 * - Output files are checked, and regular ones written, and a command is looked up in the path. A child that has only
 *   waited for 5 seconds (60 while a result is written) is left behind. The result then goes to $TMPDIR; other results
 *   are not affected.
 * - The uprobe of a script: a reader reads the file and matches its symbols, but then the kernel opens it itself, in a
 *   call without a time limit. Where the file system may hang, a child makes that call and passes the link or event
 *   back (attempt_descriptor()).
 *
 * A command can hang in its exec although it was found before. Every 100 ms strata checks whether it makes progress
 * (base/patience.h), and whether Ctrl-C was pressed. These children hold no descriptor of strata's programs and events,
 * so nothing stays attached when one is left behind. A command that not even SIGKILL ends is reported with its pid.
 */
#ifndef STRATA_BASE_ATTEMPT_H
#define STRATA_BASE_ATTEMPT_H

#include "base/diag.h"

/*
 * Calls work() in a child. Returns its result and its diag; other changes that it makes to memory are lost. -ETIMEDOUT,
 * with a diag that names `what`: the child has only waited for `patience_s` seconds without a break (base/patience.h).
 * -EINTR: a signal that the caller blocks came meanwhile. If no child can be forked, work() is called in this process.
 */
int attempt(double patience_s, const char *what, int (*work)(void *context, struct diag *diag), void *context,
	    struct diag *diag);

/*
 * The same for a work() that returns a new descriptor or a negative errno, and needs no descriptor except `keep`: the
 * child closes all others. Returns the descriptor, as one of this process; -ETIMEDOUT and -EINTR as for
 * patience_wait(); or another negative errno.
 */
int attempt_descriptor(double patience_s, int keep, int (*work)(void *context), void *context);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diag: the message that belongs to an error.
 *
 * A function that can fail for a reason worth reporting takes a `struct diag *` from its caller, returns a negative
 * errno, and leaves one line in the diag: what failed, why, and what to do about it. Libraries do not print errors and
 * do not exit; src/cli does (tests/style/map.t has the exceptions). The caller owns the struct, which holds no memory
 * of its own. A NULL diag is allowed everywhere and drops the message.
 */
#ifndef STRATA_BASE_DIAG_H
#define STRATA_BASE_DIAG_H

#include <stdarg.h>

#define DIAG_TEXT_MAX 1024

struct diag {
	const char *tag;          /* static string naming the diagnostic, e.g. "elf.truncated"; NULL when empty */
	char text[DIAG_TEXT_MAX]; /* one line without a newline, always terminated */
};

/* Empties the diag. */
void diag_clear(struct diag *diag);

/*
 * Records a failure and returns `-errnum` (errnum is a positive errno), so that a caller can write
 * `return diag_fail(diag, EINVAL, "elf.magic", "%s: not an ELF file", path);`.
 * If the errno is EMFILE or ENOMEM and this process has such a limit, it is added to the text (base/limits.h).
 * Control characters in the formatted text are replaced by '?': the message may contain hostile names.
 */
int diag_fail(struct diag *diag, int errnum, const char *tag, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

/* Adds " (ulimit -X is N)" to a failure's text: the limits of this process that lead to this errno, if it has any. */
void diag_add_limits(struct diag *diag, int errnum);

/* Prepends "CONTEXT: " to the text of a failure already recorded. */
void diag_prefix(struct diag *diag, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

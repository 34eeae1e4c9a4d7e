/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pattern: compiles regular expressions (POSIX, extended) that a user has typed. */
#ifndef STRATA_BASE_PATTERN_H
#define STRATA_BASE_PATTERN_H

#include <regex.h>

#include "base/diag.h"

/*
 * Compiles one, for regexec() without the places of what it finds; the caller frees it with regfree(). -EINVAL and a
 * diag: it is none, or one that glibc could take memory and time without bound for.
 */
int pattern_compile(const char *text, regex_t *ret, struct diag *diag);

#endif

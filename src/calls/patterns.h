/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * patterns: --match and --from as automatons, by which the kernel part decides which calls are sent (lang/rt/calls.h).
 * They say what fnmatch() and function_is_named() say of the same names.
 */
#ifndef STRATA_CALLS_PATTERNS_H
#define STRATA_CALLS_PATTERNS_H

#include <stdbool.h>

#include "lang/rt/calls.h"

/* A pattern of glob(7). False: it is too long, or has a part that is not handled; then nothing is changed. */
bool pattern_add(struct rt_calls_patterns *patterns, unsigned int which, const char *glob);

/* Does the text match? As the kernel part finds out. */
bool pattern_matches(const struct rt_calls_patterns *patterns, unsigned int which, const char *text);

/* `from`: NULL, if only `match` counts. False: this cannot be decided by patterns. */
bool patterns_of_calls(const char *match, const char *from, struct rt_calls_wanted *ret);

#endif

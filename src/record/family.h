/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * family: the descendants of the recorded processes. Either they are recorded, too, or the summary says which of them
 * used CPU time meanwhile: a wrapper (timeout, sudo, sh -c) uses none itself.
 */
#ifndef STRATA_RECORD_FAMILY_H
#define STRATA_RECORD_FAMILY_H

#include <stddef.h>
#include <sys/types.h>

#include "base/vec.h"
#include "proc/descendants.h"

struct relative {
	struct descendant last; /* as it was seen last */
	uint64_t before;        /* its ticks when the recording began; 0: it was not there */
};

struct family {
	const pid_t *pids;
	size_t count;
	VEC(struct relative) relatives;
	double looked, cost; /* CLOCK_MONOTONIC seconds: when it was looked last, and what that took */
};

void family_deinit(struct family *family);

/* Notes the descendants and their CPU time; the first time, what they had used before. */
void family_look(struct family *family);

/* The same if it is due: once a second, and for at most a hundredth of the time. */
void family_look_again(struct family *family);

/* Those that used CPU time since the first look, as text, such as "python3 (pid 123) 2.1 s"; "" when none did. */
void family_tell(const struct family *family, char *ret, size_t size);

#endif

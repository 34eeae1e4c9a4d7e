/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * doctor: what this machine allows: privileges, the kernel's BPF, perf events, names, limits. Each finding was looked
 * up or tried here and now, and never deduced from a version. Nothing is changed: whatever is made for a try (maps,
 * programs, events that never run) is closed again. Works without any privilege, in less than half a second.
 */
#ifndef STRATA_DOCTOR_DOCTOR_H
#define STRATA_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/diag.h"

enum doctor_mark {
	DOCTOR_OK,
	DOCTOR_INFO,    /* good to know; neither good nor bad */
	DOCTOR_LIMITED, /* missing, or less than there could be; recordings are still complete, or nearly so */
	DOCTOR_MISSING, /* `strata record` does not work, or not for everything, without it */
	DOCTOR_UNTRIED, /* could not be tried, because something else is missing */
	DOCTOR_MARKS
};

struct doctor_finding {
	const char *group, *name; /* static; a name is unique */
	enum doctor_mark mark;
	char found[256];       /* printable, one line */
	const char *why, *how; /* why it matters, and how to get it; static; `how` may be NULL */
};

struct doctor_options {
	const char *root; /* what precedes /proc and /sys where files are read: "" but in tests */
	bool files_only;  /* try nothing of this kernel, for tests */
};

struct doctor_report {
	struct doctor_finding *findings; /* by group */
	size_t count;
	size_t marks[DOCTOR_MARKS]; /* how many of each */
};

/* "ok", "info", "limited", "missing", "untried". */
const char *doctor_mark_name(enum doctor_mark mark);

/* 0 and *ret, to be released with doctor_report_deinit(); or -ENOMEM with a diag. */
int doctor_examine(const struct doctor_options *options, struct doctor_report *ret, struct diag *diag);
void doctor_report_deinit(struct doctor_report *report);

#endif

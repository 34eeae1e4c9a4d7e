/* SPDX-License-Identifier: GPL-2.0-or-later */
/* parts: what the groups of checks share; for src/doctor only. Each group is one file with a table of rows. */
#ifndef STRATA_DOCTOR_PARTS_H
#define STRATA_DOCTOR_PARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"
#include "doctor/doctor.h"

/* An examination under way. */
struct examination {
	const struct doctor_options *options;
	uint64_t capabilities; /* the effective set */
	bool may_load;         /* BPF programs can be loaded: set by the group "bpf" */
	VEC(struct doctor_finding) findings;
	bool out_of_memory;
};

/* One row. `probe` fills in mark and words; it may change why and how, which come from the row. */
struct check {
	const char *name;
	void (*probe)(struct examination *examination, struct doctor_finding *finding);
	const char *why, *how;
};

void examine_checks(struct examination *examination, const char *group, const struct check *checks, size_t count);
void examine_finding(struct examination *examination, const struct doctor_finding *finding);

/* Sets mark and words. */
void found(struct doctor_finding *finding, enum doctor_mark mark, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The beginning of a file, as a string; bytes read, or a negative errno with an empty string. */
ssize_t examine_read(const struct examination *examination, const char *path, char *buffer, size_t size);

/* A file for reading; NULL and errno when it cannot be opened. */
FILE *examine_open(const struct examination *examination, const char *path);

/* A file that holds a number. 0 or a negative errno. */
int examine_number(const struct examination *examination, const char *path, long *ret);

/* Whether this capability (linux/capability.h) is effective. */
bool examine_has(const struct examination *examination, unsigned int capability);

/* The groups. */
void examine_privileges(struct examination *examination);
void examine_bpf(struct examination *examination);
void examine_events(struct examination *examination);
void examine_machine(struct examination *examination);
void examine_protections(struct examination *examination);

#endif

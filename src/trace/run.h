/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: what the files of a running trace share: load.c (loading), trace.c (from start to end), command.c, sites.c
 * (records), map_values.c, measure.c.
 */
#ifndef STRATA_TRACE_RUN_H
#define STRATA_TRACE_RUN_H

#include <bpf/libbpf.h>
#include <limits.h>
#include <poll.h>

#include "base/signals.h"
#include "lang/dialect/dialect.h"
#include "lang/provider/provider.h"
#include "proc/command.h"
#include "trace/hold.h"
#include "trace/packets.h"
#include "trace/stacks.h"
#include "trace/trace.h"

struct later;

struct trace_command {
	struct command child;
	char *const *argv;
	struct hold hold;
	struct diag failed;     /* an exec that failed before the command was to start; no tag: none did */
	char program[PATH_MAX]; /* the program that it already executes, to find out which one it is; "": none yet */
};

/* Lets the command exec. `arrived`: see hold.h; NULL: it is not held. */
int trace_command_start(struct trace_command *command, void (*arrived)(void *context), void *context,
			struct diag *diag);

/* A watchpoint: its descriptors are those from `first` to before `end` of the attachment's. */
struct watchpoint {
	uint64_t address;
	size_t first, end;
};

struct run {
	const struct compilation *compilation;
	const struct compiler *compiler;
	const struct compiler *latest; /* with the sites of Pythons that started later; else the same */
	const struct trace_options *options;
	struct trace_result *result;
	struct bpf_object *object;
	struct ring_buffer *ring;
	struct names *names;
	struct foreign_files *files; /* NULL: neither stacks nor Pythons that start later */
	struct stacks *stacks;       /* NULL: the script uses none */
	struct packets *packets;     /* NULL: the script writes none */
	struct later *later;         /* NULL: no Python is waited for */
	struct printer printer;
	const struct dialect_print *print; /* the dialect's */
	struct attachment attachment;
	size_t unattached; /* places that could not be attached to, and missing_probes lets that be */
	VEC(struct watchpoint) watchpoints;
	struct signals signals;
	struct signals children;     /* SIGCHLD: the command stands still; not taken: it is not held */
	struct signals user_signals; /* those that self probes are about */
	VEC(struct pollfd) polls;
	bool finished;                 /* exit() was called, or a signal came */
	bool ending;                   /* the last records are taken, until `deadline` */
	bool draining;                 /* records are thrown away, and counted */
	uint8_t *room;                 /* for the arguments of a record */
	struct print_format **formats; /* of the sites; NULL: was not needed yet */
	uint64_t taken, rested;        /* records of sites so far, and when the last rest began */
	uint64_t thrown;
	uint64_t deadline, looked; /* CLOCK_MONOTONIC ns; when signals were looked for */
	uint64_t written;          /* CLOCK_MONOTONIC ns: when the output was written */
	unsigned int errors;       /* that the script printed by errorf() */
	int err;
};

/* trace.c */
/* The descriptor of a unit's program. */
int run_program(const struct run *run, size_t unit);
/* Takes all records that are there. */
void run_drain(struct run *run);
void run_set_state(const struct run *run, enum rt_state which, uint64_t value);

/* measure.c: the actions of bench:NAME or of test:NAME, as the options' mode says. A test that fails is status 1. */
int run_measured(struct run *run, struct diag *diag);

/* sites.c: one record of the ring. */
int run_record(void *context, void *data, size_t size);
/* Runs a shell command, with its output as a message of this type. */
void run_system(struct run *run, const char *command);

/* map_values.c */
extern const struct print_deeds run_deeds;
/* `empty`: a map without keys is shown as zero when nothing was assigned yet. */
void run_print_map(struct run *run, const struct symbol *map, bool empty, uint64_t top, uint64_t div,
		   const uint8_t *key);
void run_clear_map(struct run *run, const struct symbol *map);
void run_zero_map(struct run *run, const struct symbol *map);
void run_print_all_maps(struct run *run);

#endif

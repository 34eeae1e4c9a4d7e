/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * trace: runs a compiled script: loads its programs, attaches them, prints what they send, and prints the maps at the
 * end.
 *
 * trace_run() owns what it sets up, and has released all of it when it returns. Nothing stays attached however it ends,
 * because everything is held by descriptors. SIGINT, SIGTERM and SIGHUP end the tracing through a signalfd. Called once
 * per process, from one thread.
 */
#ifndef STRATA_TRACE_TRACE_H
#define STRATA_TRACE_TRACE_H

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/diag.h"
#include "lang/compile.h"

/* A command that waits before it calls exec, so that the script can be compiled for it and attached first. */
struct trace_command;

/* argv is NULL-terminated and borrowed. */
int trace_command_create(char *const *argv, struct trace_command **ret, struct diag *diag);
pid_t trace_command_pid(const struct trace_command *command);
/*
 * The file of the program `name` that the command runs, if argv[0] is a script that executes it: the command is run
 * until that program begins. NULL: it is not argv[0]'s name, or the command has ended without running it, or runs too
 * long without it, which is a failure.
 */
const char *trace_command_program(struct trace_command *command, const char *name);
/* Why it could not be executed, or did not execute that program, if trace_command_program() found that out: a negative
 * errno and a diag; else 0. */
int trace_command_failed(const struct trace_command *command, struct diag *diag);
/*
 * Ends it if it still runs; its status in the shell's convention. `left`: its pid if it hangs in the kernel, and cannot
 * be ended; else 0.
 */
int trace_command_destroy(struct trace_command *command, pid_t *left);

enum trace_mode {
	TRACE_RUN,
	TRACE_BENCH, /* measures the actions of bench:NAME */
	TRACE_TEST   /* runs those of test:NAME once, and tells which of them fail */
};

struct trace_options {
	FILE *out; /* what the script prints */
	char *out_buffer; /* of whole_lines_begin(out); may be NULL */
	bool json;
	bool no_debuginfod; /* neither ask its servers at the end, nor use what they gave before */
	bool quiet;   /* nothing but what the script prints */
	bool verbose; /* the verifier's log, when it refuses a program */
	enum trace_mode mode;
	bool dry_run;           /* loads and attaches nothing */
	pid_t pid;              /* -p: tracing ends with it; 0: none */
	const pid_t *stacks_of; /* processes whose stacks are to be ready before their first event */
	uint32_t stacks_of_count;
	struct trace_command *command; /* -c; NULL: none */
};

struct trace_result {
	int status; /* of exit(N) */
	bool has_exit;
};

int trace_run(const struct compilation *compilation, const struct trace_options *options, struct trace_result *ret,
	      struct diag *diag);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * command: the subcommands. commands.c holds the table; each command is one file cmd_NAME.c. Only src/cli prints
 * and decides about exit statuses.
 */
#ifndef STRATA_CLI_COMMAND_H
#define STRATA_CLI_COMMAND_H

#include <stdio.h>

#include "base/diag.h"
#include "cli/options.h"

enum cli_status {
	CLI_DONE = 0,
	CLI_FAILED = 1, /* the work failed */
	CLI_USAGE = 2,  /* the command line is wrong */
};

struct command {
	const char *name;
	const char *called;               /* as it is typed: "strata NAME" */
	const char *summary;              /* one line, for strata --help */
	const char *usage;                /* what follows how it is called */
	const struct option_row *options; /* for --help */
	void (*more_help)(FILE *out);     /* what --help says behind the options; may be NULL */
	int (*run)(const struct command *self, int argc, char **argv); /* argv[0] is the name; an exit status */
};

/* The command of this name, or NULL. */
const struct command *command_find(const char *name);

/* Help on strata, and on one command. */
void commands_help(FILE *out);
void command_help(FILE *out, const struct command *command);

/* Prints "strata: TEXT" to stderr and returns the status. */
int cli_fail(enum cli_status status, const struct diag *diag);

/*
 * The end of a command's output: closes `out`, or flushes stdout. `status`, or, with a message, CLI_FAILED in place of
 * CLI_DONE when not all of it could be written. `name`: the file's; NULL: standard output.
 */
int cli_close(FILE *out, const char *name, int status);

/* Flushes stdout: CLI_DONE, or CLI_FAILED with a message when not all of it could be written. */
int cli_flush(void);

/* Prints a command's help to stdout, for --help; the exit status. */
int cli_help(const struct command *command);

/* The commands, each in its own file. */
extern const struct command command_record;
extern const struct command command_top;
extern const struct command command_trace;
extern const struct command command_calls;
extern const struct command command_stack;
extern const struct command command_diff;
extern const struct command command_list;
extern const struct command command_inspect;
extern const struct command command_doctor;

/* Not in the table: what strata is when it is started under that name. */
extern const struct command command_bpftrace, command_dtrace, command_stap;

#endif

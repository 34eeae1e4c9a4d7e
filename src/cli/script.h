/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * script: what all commands that run a script share, whatever its language: strata trace, and the links named after
 * other tools.
 */
#ifndef STRATA_CLI_SCRIPT_H
#define STRATA_CLI_SCRIPT_H

#include "cli/command.h"
#include "trace/trace.h"

struct script {
	const char *name, *source; /* as messages name it, and its text */
	size_t size;
	struct compile_options options; /* `pid` and what depends on -c are set here */
	struct trace_options trace;
	struct compile_dump dump;
	const char *command; /* of -c, or NULL */
	char **argv;         /* the same as words; NULL: there is none */
	bool always_starts;  /* its process is there, and is killed, also if nothing but compiling is wanted */
	/* Set by script_run(): */
	bool reached_run;    /* it was compiled, and running was tried */
	bool has_run;        /* it ran to its end, and so did its command */
	int command_status;  /* exit status of the command, if the script let it end */
	bool ignores_status; /* the command's own status does not count */
	/* How messages look; both may be NULL. */
	void (*complain)(const struct script *script, const struct report *report);
	int (*fail)(const struct script *script, enum cli_status status, const struct diag *diag);
	const void *context;
};

/* Appends a text and a newline to *source, which stays terminated; the caller frees it. 0 or -ENOMEM. */
int script_append(char **source, size_t *size, const char *text, size_t length);

/*
 * A command as a shell would split it: blanks, quotes, backslashes; nothing is expanded. NULL: it has no word, or
 * memory is short. Released with script_free_command(); NULL is fine there.
 */
char **script_split_command(const char *text);
void script_free_command(char **words);

/* Compiles it, runs it, and waits for its command. An exit status. */
int script_run(struct script *script, struct diag *diag);

#endif

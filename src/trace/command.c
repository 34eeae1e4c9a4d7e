// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "trace/run.h"

#define SCRIPT_S 10 /* for a script to execute the program that it stands for */

int trace_command_create(char *const *argv, struct trace_command **ret, struct diag *diag)
{
	struct trace_command *command = calloc(1, sizeof(*command));
	struct command_origin origin;
	int err;

	if (!command)
		return diag_fail(diag, ENOMEM, "trace.memory", "out of memory");
	sigprocmask(SIG_SETMASK, NULL, &origin.mask);
	getrlimit(RLIMIT_NOFILE, &origin.files);
	command->argv = argv;
	err = command_prepare(argv, &origin, &command->child, diag);
	if (err)
		free(command);
	else
		*ret = command;
	return err;
}

pid_t trace_command_pid(const struct trace_command *command)
{
	return command->child.pid;
}

const char *trace_command_program(struct trace_command *command, const char *name)
{
	int err;

	if (strcmp(path_basename(command->argv[0]), name))
		return NULL;
	if (*command->program || command->child.gate < 0)
		return *command->program ? command->program : NULL;
	if (hold_begin(&command->hold, command->child.pid) ||
	    command_start(&command->child, command->argv[0], &command->failed))
		return NULL;
	err = hold_until(&command->hold, name, SCRIPT_S, command->program, sizeof(command->program));
	if (err)
		*command->program = '\0';
	if (err == -ETIMEDOUT)
		diag_fail(&command->failed, ETIMEDOUT, "command.script",
			  "%s, a script, has not executed a program of this name in %d s: give the program's path to "
			  "the probe",
			  command->argv[0], SCRIPT_S);
	return *command->program ? command->program : NULL;
}

int trace_command_start(struct trace_command *command, void (*arrived)(void *context), void *context, struct diag *diag)
{
	if (command->child.gate < 0) {
		if (arrived)
			hold_continue(&command->hold, arrived, context);
		else
			hold_end(&command->hold);
		return 0;
	}
	/* It runs unheld where it may not be traced. */
	if (arrived)
		hold_begin(&command->hold, command->child.pid);
	return command_start(&command->child, command->argv[0], diag);
}

int trace_command_failed(const struct trace_command *command, struct diag *diag)
{
	if (!command->failed.tag)
		return 0;
	*diag = command->failed;
	return -ECHILD;
}

int trace_command_destroy(struct trace_command *command, pid_t *left)
{
	int status;

	hold_end(&command->hold);
	status = command_finish(&command->child);
	*left = command->child.left ? command->child.pid : 0;
	free(command);
	return status;
}

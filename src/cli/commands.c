// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/command.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

static const struct command *const commands[] = {
	&command_record, &command_top,  &command_trace,   &command_calls,  &command_stack,
	&command_diff,   &command_list, &command_inspect, &command_doctor,
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

const struct command *command_find(const char *name)
{
	size_t i;

	for (i = 0; i < COMMAND_COUNT; i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

void commands_help(FILE *out)
{
	size_t i;

	fputs("usage: strata COMMAND [OPTIONS]\n"
	      "       strata help COMMAND\n"
	      "       strata --version\n\n"
	      "Kernel, native and Python stacks of everything that runs on this machine.\n\n",
	      out);
	for (i = 0; i < COMMAND_COUNT; i++)
		fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
}

void command_help(FILE *out, const struct command *command)
{
	fprintf(out, "usage: %s %s\n\n%s %s.\n\n", command->called, command->usage, command->called, command->summary);
	options_print(out, command->options);
	if (command->more_help)
		command->more_help(out);
}

int cli_fail(enum cli_status status, const struct diag *diag)
{
	fprintf(stderr, "strata: %s\n", diag->text);
	return status;
}

int cli_close(FILE *out, const char *name, int status)
{
	struct diag diag = {};
	bool was_wrong = ferror(out);
	int err = fflush(out) ? errno : 0;

	if (out != stdout && fclose(out) && !err)
		err = errno;
	if (err)
		diag_fail(&diag, err, "cli.output", "%s: %s", name ? name : "standard output", strerror(err));
	else if (was_wrong) /* earlier, and why is no longer known */
		diag_fail(&diag, EIO, "cli.output", "%s: not everything could be written",
			  name ? name : "standard output");
	else
		return status;
	cli_fail(CLI_FAILED, &diag);
	return status ? status : CLI_FAILED;
}

int cli_flush(void)
{
	return cli_close(stdout, NULL, CLI_DONE);
}

int cli_help(const struct command *command)
{
	command_help(stdout, command);
	return cli_flush();
}

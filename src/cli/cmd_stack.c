// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "stack/stack.h"

enum { OPTION_JSON = OPTION_LONG_ONLY, OPTION_FREEZE, OPTION_LOCALS, OPTION_TASKS };

static const struct option_row options[] = {
	{OPTION_FREEZE, "freeze", NULL,
	 "hold running threads for some milliseconds, so that all\nstacks are of one moment"},
	{OPTION_JSON, "json", NULL, "write one JSON object for each process, on a line of its own"},
	{OPTION_LOCALS, "locals", NULL, "show the local variables of Python's frames, and their values"},
	{OPTION_TASKS, "tasks", NULL, "show asyncio's tasks, and what each waits for"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	VEC(int) pids;
	bool json, freeze, locals, tasks, help;
};

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	(void)value;
	(void)diag;
	request->json |= id == OPTION_JSON;
	request->freeze |= id == OPTION_FREEZE;
	request->locals |= id == OPTION_LOCALS;
	request->tasks |= id == OPTION_TASKS;
	request->help |= id == 'h';
	return request->help;
}

static int take_pid(struct request *request, const char *text, struct diag *diag)
{
	char *end;
	long pid;
	size_t i;

	errno = 0;
	pid = strtol(text, &end, 10);
	if (*end || end == text || errno || pid <= 0 || pid > INT_MAX)
		return diag_fail(diag, EINVAL, "cli.pid", "%s: not a process id", text);
	for (i = 0; i < request->pids.count; i++)
		if (request->pids.at[i] == pid)
			return 0;
	return vec_push(&request->pids, (int)pid) ? diag_fail(diag, ENOMEM, "cli.memory", "out of memory") : 0;
}

/* Options may stand behind a process id as well. */
static int parse(struct request *request, int argc, char **argv, struct diag *diag)
{
	int at = 0, err;

	while (at < argc) {
		argv[at] = argv[0];
		err = options_parse(options, command_stack.called, argc - at, argv + at, take_option, request, diag);
		if (err <= 0)
			return err;
		at += err;
		if (at == argc)
			break;
		err = take_pid(request, argv[at], diag);
		if (err)
			return err;
	}
	if (!request->pids.count)
		return diag_fail(diag, EINVAL, "cli.target", "whose stacks? Give a process id");
	return 0;
}

static int take(const struct request *request)
{
	const char *no_color = getenv("NO_COLOR");
	bool color = isatty(STDOUT_FILENO) && !(no_color && *no_color);
	struct stack_options how = {.pids = request->pids.at,
				    .count = request->pids.count,
				    .freeze = request->freeze,
				    .locals = request->locals,
				    .tasks = request->tasks};
	struct stacks *stacks = NULL;
	struct foreign_files *files = NULL;
	struct diag diag = {};
	size_t i;
	int err = check_capabilities(&diag) ?: check_namespace(&diag);

	for (i = 0; !err && i < request->pids.count; i++)
		err = check_process(request->pids.at[i], &diag);
	if (!err)
		err = foreign_files_create(0, &files, &diag);
	how.files = files;
	if (!err)
		err = stack_take(&how, &stacks, &diag);
	foreign_files_destroy(files);
	if (err)
		return cli_fail(CLI_FAILED, &diag);
	for (i = 0; i < stacks->count; i++) {
		if (request->json) {
			stack_write_json(stdout, &stacks->processes[i]);
			continue;
		}
		fputs(i ? "\n" : "", stdout);
		stack_write_text(stdout, &stacks->processes[i], color);
	}
	stack_destroy(stacks);
	return cli_flush();
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	struct diag diag = {};
	int status;

	if (parse(&request, argc, argv, &diag) < 0)
		status = cli_fail(CLI_USAGE, &diag);
	else if (request.help)
		status = cli_help(self);
	else
		status = take(&request);
	vec_free(&request.pids);
	return status;
}

const struct command command_stack = {
	.name = "stack",
	.called = "strata stack",
	.summary = "shows every thread's whole stack now, and what it waits for",
	.usage = "PID... [--freeze] [--json] [--locals] [--tasks]",
	.options = options,
	.run = run,
};

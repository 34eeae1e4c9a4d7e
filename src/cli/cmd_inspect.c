// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "inspect/inspect.h"

enum { OPTION_JSON = OPTION_LONG_ONLY, OPTION_NO_CACHE };

static const struct option_row options[] = {
	{OPTION_JSON, "json", NULL, "write one JSON object"},
	{OPTION_NO_CACHE, "no-cache", NULL, "find everything again, and keep nothing"},
	{'h', "help", NULL, "this text"},
	{},
};

struct request {
	const char *target;
	bool json, no_cache, help;
};

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct request *request = context;

	(void)value;
	(void)diag;
	switch (id) {
	case OPTION_JSON:
		request->json = true;
		return 0;
	case OPTION_NO_CACHE:
		request->no_cache = true;
		return 0;
	default:
		request->help = true;
		return 1;
	}
}

/* Options may stand behind the target as well. */
static int parse(struct request *request, int argc, char **argv, struct diag *diag)
{
	int at = options_parse(options, command_inspect.called, argc, argv, take_option, request, diag), behind;

	if (at <= 0)
		return at;
	if (at == argc || !*argv[at])
		return diag_fail(diag, EINVAL, "cli.target", "nothing to inspect: give a process id or a file");
	request->target = argv[at];
	argv[at] = argv[0];
	behind = options_parse(options, command_inspect.called, argc - at, argv + at, take_option, request, diag);
	if (behind > 0 && behind < argc - at)
		return diag_fail(diag, EINVAL, "cli.target", "%s and %s: give one target", request->target,
				 argv[at + behind]);
	return behind;
}

/* A process id is all digits; a file of such a name is ./NAME. False when it is too large for one. */
static bool is_pid(const char *target, int *ret)
{
	unsigned long value;

	if (target[strspn(target, "0123456789")])
		return false;
	errno = 0;
	value = strtoul(target, NULL, 10);
	*ret = errno || value > INT_MAX ? 0 : (int)value;
	return true;
}

static int inspect(const struct request *request)
{
	char *directory = request->no_cache ? NULL : cache_default_directory("strata");
	struct python_cache *cache = request->no_cache ? NULL : python_cache_create(directory);
	const char *no_color = getenv("NO_COLOR");
	struct inspection *inspection;
	struct diag diag = {};
	struct foreign_files *files = NULL;
	int pid = 0, err = foreign_files_create(0, &files, &diag);

	if (err)
		;
	else if (!is_pid(request->target, &pid))
		err = inspect_file(files, request->target, cache, &inspection, &diag);
	else if (pid <= 0)
		err = diag_fail(&diag, ESRCH, "cli.pid", "%s: no such process", request->target);
	else
		err = check_process(pid, &diag) ?: inspect_process(files, pid, cache, &inspection, &diag);
	foreign_files_destroy(files);
	python_cache_destroy(cache);
	free(directory);
	if (err)
		return cli_fail(CLI_FAILED, &diag);
	if (request->json)
		inspection_write_json(stdout, inspection);
	else
		inspection_write_text(stdout, inspection, isatty(STDOUT_FILENO) && !(no_color && *no_color));
	inspection_destroy(inspection);
	return cli_flush();
}

static int run(const struct command *self, int argc, char **argv)
{
	struct request request = {};
	struct diag diag = {};

	if (parse(&request, argc, argv, &diag) < 0)
		return cli_fail(CLI_USAGE, &diag);
	return request.help ? cli_help(self) : inspect(&request);
}

const struct command command_inspect = {
	.name = "inspect",
	.called = "strata inspect",
	.summary = "shows how each layer of a process or file was recognised, and what was not",
	.usage = "PID | FILE [--json]",
	.options = options,
	.run = run,
};

// SPDX-License-Identifier: GPL-2.0-or-later
/* strata list: what can be traced. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/checks.h"
#include "cli/command.h"
#include "cli/listing.h"
#include "lang/list.h"

enum { OPTION_DEBUGINFO = OPTION_LONG_ONLY };

#define PID_LIMIT (4 << 20) /* PID_MAX_LIMIT of the kernel's include/linux/threads.h */

char *source_read(const char *path, size_t *size, struct diag *diag)
{
	bool is_stdin = !strcmp(path, "-");
	int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	size_t room = 2u << 20;
	char *text = malloc(room);
	ssize_t got = -1;

	*size = 0;
	if (fd >= 0 && text)
		while (*size < room && (got = read(fd, text + *size, room - *size)) > 0)
			*size += (size_t)got;
	if (fd >= 0 && !is_stdin)
		close(fd);
	if (got >= 0)
		return text;
	diag_fail(diag, errno, "cli.source", "failed to open file '%s': %s", path, strerror(errno));
	free(text);
	return NULL;
}

const char *source_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(path, "-") ? "stdin" : slash ? slash + 1 : path;
}

int take_pid(const char *value, pid_t *ret, struct diag *diag)
{
	char *end;
	long pid = strtol(value, &end, 10);

	if (end == value)
		return diag_fail(diag, EINVAL, "cli.pid", "Failed to parse pid: invalid integer: %s", value);
	if (*end)
		return diag_fail(diag, EINVAL, "cli.pid", "Failed to parse pid: invalid trailing bytes: %s", value);
	if (pid <= 0 || pid > PID_LIMIT)
		return diag_fail(diag, EINVAL, "cli.pid", "Pid out of range: %s", value);
	*ret = (pid_t)pid;
	return 0;
}

int add_folders(char **list, const char *value, struct diag *diag)
{
	char *joined;

	if (asprintf(&joined, "%s%s%s", *list ? *list : "", *list ? ":" : "", value) < 0)
		return diag_fail(diag, ENOMEM, "cli.memory", "out of memory");
	free(*list);
	*list = joined;
	return 0;
}

/* `path`: its file; NULL: it is on the command line. */
static int list_source(const struct listing *listing, const char *path, const char *source, size_t size)
{
	struct compile_options options = listing->options;

	options.path = path;
	return lang_list_script(path ? source_name(path) : "stdin", source, size, &options, listing->verbose, stdout,
				stderr);
}

/* A script's file, or patterns. */
static int list_argument(const struct listing *listing, const char *argument, struct diag *diag)
{
	const struct compile_options options = {.pid = listing->options.pid,
						.debug_folders = listing->options.debug_folders};
	size_t length = strlen(argument), size;
	bool is_script = length > 3 && !strcmp(argument + length - 3, ".bt");
	char *source;
	int found;

	if (is_script && access(argument, R_OK)) {
		fprintf(stderr,
			"WARNING: It appears that '%s' is a filename but the file does not exist. Treating '%s' as a "
			"search pattern.\n",
			argument, argument);
		is_script = false;
	}
	if (!is_script)
		return lang_list(argument, &options, listing->verbose, stdout, stderr);
	source = source_read(argument, &size, diag);
	if (!source)
		return -EIO;
	found = list_source(listing, argument, source, size);
	free(source);
	return found;
}

int listing_print(const struct listing *listing, struct diag *diag)
{
	int found = 0, more;
	size_t i;

	if (listing->program)
		return list_source(listing, NULL, listing->program, strlen(listing->program));
	if (!listing->count)
		return list_argument(listing, "*", diag);
	for (i = 0; i < listing->count; i++) {
		more = list_argument(listing, listing->arguments[i], diag);
		if (more < 0)
			return more;
		found += more;
	}
	return found;
}

static const struct option_row rows[] = {
	{'e', "execute", "PROGRAM", "list the places that this program's probes match"},
	{OPTION_DEBUGINFO, "debuginfo", "DIR[:DIR]", "also look for separate debug files there"},
	{'p', "pid", "PID", "look for functions and markers in the files of this\nprocess"},
	{'v', "verbose", NULL, "also list types of arguments and fields of types"},
	{'h', "help", NULL, "this text"},
	{},
};

static int take_option(void *context, int id, const char *value, struct diag *diag)
{
	struct listing *listing = context;
	pid_t pid;
	int err;

	switch (id) {
	case 'e':
		listing->program = value;
		return 0;
	case OPTION_DEBUGINFO:
		err = add_folders(&listing->debug_folders, value, diag);
		listing->options.debug_folders = listing->debug_folders;
		return err;
	case 'p':
		err = take_pid(value, &pid, diag);
		if (!err)
			listing->options.pid = pid;
		return err;
	case 'v':
		listing->verbose = true;
		return 0;
	default:
		command_help(stdout, &command_list);
		return 1;
	}
}

/* Options may stand behind the patterns as well, which are moved together. As options_parse(). */
static int parse(struct listing *listing, const struct command *self, int argc, char **argv, struct diag *diag)
{
	int at = options_parse(self->options, self->called, argc, argv, take_option, listing, diag), more;

	listing->arguments = (const char *const *)argv + 1;
	while (at > 0 && at < argc) {
		char *argument = argv[at];

		argv[at] = argv[0];
		more = options_parse(self->options, self->called, argc - at, argv + at, take_option, listing, diag);
		if (more <= 0)
			return more;
		argv[1 + listing->count++] = argument;
		at += more;
	}
	return at;
}

static int run_list(const struct command *self, int argc, char **argv)
{
	struct listing listing = {};
	struct diag diag = {};
	int at = parse(&listing, self, argc, argv, &diag), found;

	if (at < 0)
		return cli_fail(CLI_USAGE, &diag);
	if (!at)
		return cli_flush();
	if (listing.options.pid && check_process(listing.options.pid, &diag))
		return cli_fail(CLI_FAILED, &diag);
	found = listing_print(&listing, &diag);
	free(listing.debug_folders);
	if (diag.tag)
		return cli_fail(CLI_FAILED, &diag);
	return found > 0 ? cli_flush() : CLI_FAILED;
}

const struct command command_list = {
	.name = "list",
	.called = "strata list",
	.summary = "lists what can be traced",
	.usage = "[OPTIONS] [PATTERN | FILE.bt]...",
	.options = rows,
	.run = run_list,
};

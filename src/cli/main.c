// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/large.h"
#include "cli/command.h"

static int no_such_command(const char *name)
{
	struct diag diag = {};

	diag_fail(&diag, EINVAL, "cli.command", "%s: no such command: see strata --help", name);
	return cli_fail(CLI_USAGE, &diag);
}

static int help(const char *name)
{
	const struct command *command = name ? command_find(name) : NULL;

	if (name && !command)
		return no_such_command(name);
	if (command)
		command_help(stdout, command);
	else
		commands_help(stdout);
	return cli_flush();
}

/*
 * A standard stream that was closed would become the next file that is opened, and messages would be written into it.
 * Opened for reading, so that writing still fails.
 */
static void hold_standard_streams(void)
{
	int fd;

	for (fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0)
			return;
}

static void ignore(int number)
{
	(void)number;
}

/*
 * A file that would grow beyond RLIMIT_FSIZE is an error of write(), with words, not a signal that ends strata without
 * any. A handler, because that does not reach the commands that strata starts: exec takes it away.
 */
static void survive_file_limit(void)
{
	const struct sigaction handled = {.sa_handler = ignore, .sa_flags = SA_RESTART};
	struct sigaction old;

	if (!sigaction(SIGXFSZ, NULL, &old) && old.sa_handler == SIG_DFL)
		sigaction(SIGXFSZ, &handled, NULL);
}

int main(int argc, char **argv)
{
	const struct command *command;
	const char *name;

	hold_standard_streams();
	survive_file_limit();
	large_begin();
	name = argc ? strrchr(argv[0], '/') : NULL;
	if (argc && !strcmp(name ? name + 1 : argv[0], command_bpftrace.name))
		return command_bpftrace.run(&command_bpftrace, argc, argv);
	if (argc && !strcmp(name ? name + 1 : argv[0], command_dtrace.name))
		return command_dtrace.run(&command_dtrace, argc, argv);
	if (argc && !strcmp(name ? name + 1 : argv[0], command_stap.name))
		return command_stap.run(&command_stap, argc, argv);
	if (argc < 2) {
		commands_help(stderr);
		return CLI_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return help(argv[2]);
	if (!strcmp(argv[1], "--version")) {
		puts("strata " STRATA_VERSION);
		return cli_flush();
	}
	command = command_find(argv[1]);
	if (!command)
		return no_such_command(argv[1]);
	return command->run(command, argc - 1, argv + 1);
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/script.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/checks.h"

char **script_split_command(const char *text)
{
	size_t room = strlen(text) + 2, count = 0;
	char **words = calloc(room, sizeof(*words)), *out = calloc(2, room), *to = out;
	const char *at = text;
	char quote = '\0';

	if (!words || !out) {
		free(words);
		free(out);
		return NULL;
	}
	while (*at) {
		while (*at == ' ' || *at == '\t' || *at == '\n')
			at++;
		if (!*at)
			break;
		words[count++] = to;
		for (; *at && (quote || (*at != ' ' && *at != '\t' && *at != '\n')); at++) {
			if (quote && *at == quote)
				quote = '\0';
			else if (!quote && (*at == '"' || *at == '\''))
				quote = *at;
			else if (*at == '\\' && quote != '\'' && at[1])
				*to++ = *++at;
			else
				*to++ = *at;
		}
		*to++ = '\0';
	}
	if (!count) {
		free(out);
		free(words);
		return NULL;
	}
	return words;
}

void script_free_command(char **words)
{
	if (words)
		free(words[0]);
	free(words);
}

static const char *program_of(void *context, const char *name)
{
	return trace_command_program(context, name);
}

static int fail(const struct script *script, enum cli_status status, const struct diag *diag)
{
	return script->fail ? script->fail(script, status, diag) : cli_fail(status, diag);
}

/* The command waits, so that the script can be compiled for it. */
static int prepare_command(struct script *script, char **argv, struct trace_command **child, struct diag *diag)
{
	int err = check_command(argv[0], diag);

	if (!err && (!script->trace.dry_run || script->always_starts))
		err = trace_command_create(argv, child, diag);
	script->trace.command = *child;
	script->options.pid = *child ? trace_command_pid(*child) : 0;
	script->options.program = *child ? program_of : NULL;
	script->options.program_context = *child;
	script->options.command_path = argv[0];
	return err;
}

static int compile_and_run(struct script *script, struct trace_command *child, struct trace_result *result,
			   struct diag *diag)
{
	struct compilation compilation;
	int err = lang_compile(script->name, script->source, script->size, &script->options, &script->dump,
			       &compilation, diag);

	if (child && trace_command_failed(child, diag))
		err = -ECHILD;
	else if (script->complain)
		script->complain(script, &compilation.report);
	else
		report_print(&compilation.report, stderr);
	script->reached_run = !err && !diag->tag;
	if (script->reached_run)
		err = trace_run(&compilation, &script->trace, result, diag);
	if (err && diag->tag)
		fail(script, CLI_FAILED, diag);
	compilation_deinit(&compilation);
	return err;
}

int script_append(char **source, size_t *size, const char *text, size_t length)
{
	char *grown = realloc(*source, *size + length + 2);

	if (!grown)
		return -ENOMEM;
	memcpy(grown + *size, text, length);
	*size += length;
	grown[(*size)++] = '\n';
	grown[*size] = '\0';
	*source = grown;
	return 0;
}

int script_run(struct script *script, struct diag *diag)
{
	struct trace_command *child = NULL;
	struct trace_result result = {};
	char **argv = script->argv;
	int err, ended = CLI_DONE;
	pid_t left = 0;

	own_namespace(&script->options.namespace_device, &script->options.namespace_inode);
	if (script->command) {
		argv = script_split_command(script->command);
		if (!argv) {
			diag_fail(diag, EINVAL, "cli.command", "-c: the command is empty");
			return fail(script, CLI_USAGE, diag);
		}
	}
	if (argv && prepare_command(script, argv, &child, diag)) {
		if (!script->argv)
			script_free_command(argv);
		return fail(script, CLI_FAILED, diag);
	}
	script->trace.pid = argv ? 0 : script->options.pid;
	err = compile_and_run(script, child, &result, diag);
	if (child)
		ended = trace_command_destroy(child, &left);
	if (!script->argv)
		script_free_command(argv);
	if (err)
		return CLI_FAILED;
	script->has_run = true;
	if (left)
		warn_left(stderr, left);
	if (result.has_exit)
		return result.status & 0xff;
	script->command_status = ended;
	return script->ignores_status ? CLI_DONE : ended;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "cli/targets.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "cli/checks.h"
#include "cli/options.h"
#include "engine/filter.h"

void targets_deinit(struct targets *targets)
{
	vec_free(&targets->pids);
}

int targets_add_pids(struct targets *targets, const char *list, struct diag *diag)
{
	const char *at = list, *end;
	unsigned long pid = 0;
	size_t i;

	for (;; at = end + 1) {
		end = strchrnul(at, ',');
		if (!options_number(at, (size_t)(end - at), 1, INT_MAX, &pid))
			return options_wrong('p', list, "not a list of process ids, such as 123,456", diag);
		for (i = 0; i < targets->pids.count && targets->pids.at[i] != (pid_t)pid; i++)
			;
		if (i == targets->pids.count && vec_push(&targets->pids, (pid_t)pid))
			return diag_fail(diag, ENOMEM, "cli.memory", "%s", strerror(ENOMEM));
		if (!*end)
			return 0;
	}
}

int targets_complete(struct targets *targets, int argc, char **argv, int at, struct diag *diag)
{
	if (at < argc)
		targets->command = argv + at;
	else if (argc > 1 && !strcmp(argv[argc - 1], "--"))
		return diag_fail(diag, EINVAL, "cli.target", "-- is not followed by a command");
	if (targets->command && targets->pids.count)
		return diag_fail(diag, EINVAL, "cli.target", "-p and the command %s: give one target",
				 *targets->command);
	if (targets->all && targets->pids.count)
		return diag_fail(diag, EINVAL, "cli.target", "-a and -p: give one target");
	if (targets->children && !targets->pids.count)
		return diag_fail(diag, EINVAL, "cli.target",
				 "--children: goes with -p; a command's children are sampled anyway");
	if (!targets->command && !targets->pids.count)
		targets->all = true;
	return 0;
}

int targets_check(const struct targets *targets, struct diag *diag)
{
	size_t i;
	int err = 0;

	for (i = 0; !err && i < targets->pids.count; i++)
		err = check_process(targets->pids.at[i], diag);
	return err || !targets->command ? err : check_command(*targets->command, diag);
}

void targets_text(const struct targets *targets, const struct filter *filter, char *ret, size_t size)
{
	size_t used = (size_t)snprintf(ret, size, "all processes"), i;

	if (!targets->all)
		used = 0;
	else if (targets->command && used < size)
		used += (size_t)snprintf(ret + used, size - used, " while ");
	for (i = 0; targets->command && targets->command[i] && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%s", i ? " " : "", targets->command[i]);
	for (i = 0; i < targets->pids.count && used < size; i++)
		used += (size_t)snprintf(ret + used, size - used, "%s%d", i ? ", " : "pid ", targets->pids.at[i]);
	if (filter && used < size)
		filter_text(filter, ret + used, size - used);
}

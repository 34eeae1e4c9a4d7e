/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filters: the options that choose threads: --cgroup, --container, --user, --comm, --cpu, --exclude. The same for every
 * command that samples: it puts FILTER_OPTIONS into its table, and its own numbers of options begin with
 * FILTER_OPTION_END.
 */
#ifndef STRATA_CLI_FILTERS_H
#define STRATA_CLI_FILTERS_H

#include "cli/options.h"
#include "engine/filter.h"

enum {
	FILTER_OPTION_CGROUP = OPTION_LONG_ONLY, /* in the order of enum filter_kind */
	FILTER_OPTION_CONTAINER,
	FILTER_OPTION_USER,
	FILTER_OPTION_COMM,
	FILTER_OPTION_CPU,
	FILTER_OPTION_EXCLUDE,
	FILTER_OPTION_END
};

/* clang-format off */
#define FILTER_OPTIONS \
	{FILTER_OPTION_CGROUP, "cgroup", "PATH", "only threads in this cgroup and those below it"}, \
	{FILTER_OPTION_CONTAINER, "container", "NAME|ID", "only threads in this container or pod"}, \
	{FILTER_OPTION_USER, "user", "NAME|UID", "only threads of this user"}, \
	{FILTER_OPTION_COMM, "comm", "REGEX", "only threads whose name has this extended regular\nexpression"}, \
	{FILTER_OPTION_CPU, "cpu", "LIST", "only on these CPUs, such as 0-3,8"}, \
	{FILTER_OPTION_EXCLUDE, "exclude", "KIND=VALUE", \
	 "not threads that one of these would choose, such as\nuser=root or comm=REGEX; all may be repeated"}
/* clang-format on */

/* Adds one of these options to *filter, which is created with the first one. 0 or a negative errno and a diag. */
int filters_take(struct filter **filter, int id, const char *value, struct diag *diag);

#endif

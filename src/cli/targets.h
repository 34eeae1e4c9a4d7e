/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * targets: what a command samples, from the command line: -p, --children, -a, or a command. All commands that sample
 * follow the same rules.
 */
#ifndef STRATA_CLI_TARGETS_H
#define STRATA_CLI_TARGETS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/diag.h"
#include "base/vec.h"

struct filter;

struct targets {
	VEC(pid_t) pids;
	bool all, children;
	char **command; /* argv's; NULL: none */
};

void targets_deinit(struct targets *targets);

/* The value of -p: "123,456". 0 or a negative errno and a diag; and so below. */
int targets_add_pids(struct targets *targets, const char *list, struct diag *diag);

/* To be called after the options; `at`: what options_parse() returned. Without any target everything is sampled. */
int targets_complete(struct targets *targets, int argc, char **argv, int at, struct diag *diag);

/* Are they there? */
int targets_check(const struct targets *targets, struct diag *diag);

/* As text: "all processes", "pid 1, 2", the command; then what the filter asks for. NULL: no filter. */
void targets_text(const struct targets *targets, const struct filter *filter, char *ret, size_t size);

#endif

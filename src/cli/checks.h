/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * checks: finds what would go wrong before any work is done. Each function returns 0, or a negative errno and a diag
 * that says what is wrong and what to do about it.
 */
#ifndef STRATA_CLI_CHECKS_H
#define STRATA_CLI_CHECKS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/diag.h"

/* A process that runs, not a thread of one. */
int check_process(pid_t pid, struct diag *diag);

/* A command that execvp() would find and may execute. */
int check_command(const char *name, struct diag *diag);

/* A sampling rate that this kernel allows. */
int check_frequency(unsigned int frequency, struct diag *diag);

/* The capabilities without which nothing can be sampled. */
int check_capabilities(struct diag *diag);

/* Of our pid namespace. False: it is the initial one. */
bool own_namespace(uint64_t *device, uint64_t *inode);

/* The pids that the kernel's part sees are those that /proc shows. */
int check_namespace(struct diag *diag);

/* Warns, in one line, of missing capabilities without which parts of stacks are lost or nameless. */
void warn_capabilities(FILE *out);

/* Warns that a command could not be ended. 0: it could. */
void warn_left(FILE *out, pid_t command);

#endif

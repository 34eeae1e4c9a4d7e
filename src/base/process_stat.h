/* SPDX-License-Identifier: GPL-2.0-or-later */
/* process_stat: whether a process makes progress, by /proc/PID/stat. Any thread. */
#ifndef STRATA_BASE_PROCESS_STAT_H
#define STRATA_BASE_PROCESS_STAT_H

#include <sys/types.h>

/*
 * The CPU time that a process has used, in clock ticks (proc(5): the 12th and 13th field after the name), and in *state
 * the letter of its state: 'R' runs, or could. 0 and '\0' if the process is gone.
 */
unsigned long process_stat_ticks(pid_t pid, char *state);

#endif

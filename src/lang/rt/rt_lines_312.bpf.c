// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lines of Python 3.12, in programs that need them: lines_step.h. What only 3.12 has, the verifier does not look at in
 * the programs of the others, and these have no map for it.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"
#include "lang/rt/python.h"

#define MARKS
#define LINES_THREADS rt_lines_312_threads
#define LINES_NONE    rt_lines_312_none
#define FIND_RUN      rt_lines_312_find

#include "lang/rt/lines_step.h"

__hidden __u64 rt_python_next_312(void *state, void *site)
{
	return step_line(state, site);
}

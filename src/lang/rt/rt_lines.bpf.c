// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines of Python 3.11 and from 3.13 on, in programs that need them: lines_step.h. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"
#include "lang/rt/python.h"

#define LINES_THREADS rt_lines_threads
#define LINES_NONE    rt_lines_none
#define FIND_RUN      rt_lines_find

#include "lang/rt/lines_step.h"

__hidden __u64 rt_python_next(void *state, void *site)
{
	return step_line(state, site);
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_python: the Python stack of a thread that does not run, read from its process's memory, by the kernel's own
 * walk, bpf/python.h, compiled for the host. Not thread-safe.
 */
#ifndef STRATA_KERNEL_LIVE_PYTHON_H
#define STRATA_KERNEL_LIVE_PYTHON_H

#include <stdbool.h>

#include "abi/events.h"
#include "abi/python.h"
#include "abi/tasks.h"
#include "proc/memory.h"

struct live_python;

/*
 * `take` gets an EVENT_CODE for each code object, once for each of its ids, as from the kernel's ring. NULL when memory
 * is short.
 */
struct live_python *live_python_create(void (*take)(void *context, const struct code_event *event, size_t size),
				       void *context);
void live_python_destroy(struct live_python *walker);

struct live_python_stack {
	const struct python_frame *frames; /* innermost first; valid until the next walk */
	uint32_t count;
	uint16_t loss; /* enum loss; LOSS_PY_NO_THREAD: the thread has no thread state */
	uint64_t id;   /* 0: there are no frames */
	bool current;  /* SAMPLE_CURRENT */
};

struct live_python_stack live_python_walk(struct live_python *walker, const struct py_layout *layout,
					  const struct py_process *process, const struct task_event *task,
					  process_cookie cookie, const struct memory *memory);

#endif

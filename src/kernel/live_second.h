/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * live_second: the second stack of a thread that does not run, read from its process's memory: the kernel part's own
 * walkers (bpf/second_stack.h), compiled for the host. Not thread-safe.
 */
#ifndef STRATA_KERNEL_LIVE_SECOND_H
#define STRATA_KERNEL_LIVE_SECOND_H

#include <stdbool.h>

#include "abi/events.h"
#include "abi/runtime.h"
#include "abi/tasks.h"
#include "proc/memory.h"

struct live_second;

/*
 * `take` gets an EVENT_CODE for each function, once per id, as in the kernel's ring. NULL when memory is short.
 */
struct live_second *live_second_create(void (*take)(void *context, const struct code_event *event, size_t size),
				       void *context);
void live_second_destroy(struct live_second *walker);

struct live_second_stack {
	const struct second_frame *frames; /* innermost first; valid until the next walk */
	const uint64_t *places;            /* address of each frame in the process; 0: it has none */
	uint32_t count;
	uint16_t loss; /* enum loss; LOSS_SECOND_NO_THREAD: the runtime does not know the thread */
	uint64_t id;   /* 0: there are no frames */
	bool current;  /* SAMPLE_CURRENT */
};

struct live_second_stack live_second_walk(struct live_second *walker, const struct runtime_layout *layout,
					  const struct runtime_process *process, const struct task_event *task,
					  process_cookie cookie, const struct memory *memory);

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/live_second.h"

#include <stdlib.h>
#include <string.h>

#include "base/table.h"
#include "bpf/native.h"
#include "bpf/second_stack.h"

struct live_second {
	struct walk_host host;
	struct scratch *scratch;
	const struct memory *memory;
	struct table sent; /* ids of functions */
	void (*take)(void *context, const struct code_event *event, size_t size);
	void *context;
};

static int read_live(void *context, void *dst, __u32 size, __u64 address)
{
	const struct live_second *walker = context;

	return memory_read(walker->memory, dst, size, address);
}

static int code_known(struct scratch *s, __u64 id)
{
	const struct live_second *walker = s->host->context;
	uint64_t found;

	return table_get(&walker->sent, id, &found);
}

static void code_send(struct scratch *s, __u32 table_bytes)
{
	struct live_second *walker = s->host->context;

	walker->take(walker->context, &s->code.header, CODE_EVENT_BRIEF + s->code.header.text_bytes + table_bytes);
	(void)!table_set(&walker->sent, s->code.header.id, 1); /* else it is sent again */
}

struct live_second *live_second_create(void (*take)(void *context, const struct code_event *event, size_t size),
				       void *context)
{
	struct live_second *walker = calloc(1, sizeof(*walker));

	if (walker)
		walker->scratch = calloc(1, sizeof(*walker->scratch)); /* mostly never touched */
	if (walker)
		walker->host.frames = calloc(SECOND_FRAMES_MAX, sizeof(*walker->host.frames));
	if (!walker || !walker->scratch || !walker->host.frames) {
		live_second_destroy(walker);
		return NULL;
	}
	walker->host.context = walker;
	walker->host.read = read_live;
	walker->scratch->host = &walker->host;
	walker->take = take;
	walker->context = context;
	return walker;
}

void live_second_destroy(struct live_second *walker)
{
	if (!walker)
		return;
	table_deinit(&walker->sent);
	free(walker->host.frames);
	free(walker->scratch);
	free(walker);
}

struct live_second_stack live_second_walk(struct live_second *walker, const struct runtime_layout *layout,
					  const struct runtime_process *process, const struct task_event *task,
					  process_cookie cookie, const struct memory *memory)
{
	struct scratch *s = walker->scratch;
	struct second_walk *walk = &s->second;
	struct live_second_stack stack;

	walker->memory = memory;
	memcpy(s->snapshot.header.registers, task->registers, sizeof(task->registers));
	walk->layout = *layout;
	walk->stack_pointer = task->registers[REG_SP];
	walk->thread_id = task->thread_pointer;
	walk->sequence++;
	walk->tgid = task->tgid;
	walk->hash = walk->hash_seed = cookie;
	walk_time_begin(s, 0, 0, 0);
	second_begin(s, process, 0);
	second_go_on(s, process);
	stack = (struct live_second_stack){.frames = s->second_stack.frames,
					   .places = walker->host.frames,
					   .count = walk->count,
					   .loss = (uint16_t)walk->loss};
	if (!walk->thread && !walk->loss)
		stack.loss = LOSS_SECOND_NO_THREAD;
	stack.id = second_stack_id(s);
	stack.current = walk->is_current;
	return stack;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/late_walk.h"

#include <stdlib.h>
#include <string.h>

#include "bpf/native.h"

struct late_walker {
	struct walk_host host;
	struct scratch *scratch;
	uint32_t generation; /* each walk has its own: the memo must not outlive the mappings */
	const struct snapshot_event *snapshot;
	const uint8_t *bytes;
	const struct memory *code;
	const struct memory *live; /* the process's, in place of a copy; else NULL */
};

static bool in_code(const struct late_walker *walker, uint64_t address)
{
	const struct native_walk *walk = &walker->scratch->native;
	uint32_t i;

	for (i = 0; i < walk->mapping_count; i++) {
		const struct mapping_entry *mapping = &walker->host.mappings[walk->mapping_first + i];

		if (address >= mapping->start && address < mapping->end)
			return true;
	}
	return false;
}

static int read_snapshot(void *context, void *dst, __u32 size, __u64 address)
{
	const struct late_walker *walker = context;
	const struct snapshot_event *snapshot = walker->snapshot;
	uint64_t at = snapshot_at(snapshot, address, size), page;

	if (walker->live)
		return memory_read(walker->live, dst, size, address);
	/* Nothing but instructions: what they were then, they are. */
	if (walker->code && at >= snapshot->stack_size && in_code(walker, address))
		return memory_read(walker->code, dst, size, address);
	if (address < snapshot->stack_start || size > snapshot->stack_size || at > snapshot->stack_size - size || !size)
		return -EFAULT;
	for (page = at / PAGE_BYTES; page <= (at + size - 1) / PAGE_BYTES; page++)
		if (page >= SNAPSHOT_PAGES || !(snapshot->pages >> page & 1))
			return -EFAULT;
	memcpy(dst, walker->bytes + at, size);
	return 0;
}

struct late_walker *late_walker_create(const struct tables *tables)
{
	struct late_walker *walker = calloc(1, sizeof(*walker));

	if (walker)
		walker->scratch = calloc(1, sizeof(*walker->scratch)); /* mostly never touched */
	if (!walker || !walker->scratch) {
		free(walker);
		return NULL;
	}
	tables_host(tables, &walker->host);
	walker->host.context = walker;
	walker->host.read = read_snapshot;
	walker->scratch->host = &walker->host;
	return walker;
}

void late_walker_fills(struct late_walker *walker, void (*fill)(void *context, uint32_t page), void *context)
{
	walker->host.fill = fill;
	walker->host.fill_context = context;
}

void late_walker_destroy(struct late_walker *walker)
{
	if (!walker)
		return;
	free(walker->scratch);
	free(walker);
}

static struct late_stack walk(struct late_walker *walker, const struct mapping_entry *mappings, uint32_t count,
			      uint32_t epoch, const struct snapshot_event *snapshot)
{
	const struct process_entry entry = {.generation = ++walker->generation, .mapping_count = count};
	struct scratch *s = walker->scratch;

	walker->host.mappings = mappings;
	walker->snapshot = snapshot;
	memcpy(s->native.registers, snapshot->registers, sizeof(s->native.registers));
	s->native.pc = snapshot->pc;
	native_take_registers(&s->native);
	s->task.uprobe_page = snapshot->uprobe_page;
	s->task.torn = snapshot->torn;
	s->native.hash = hash_mix(snapshot->cookie, epoch);
	native_walk(s, &entry);
	return (struct late_stack){.frames = (const uint64_t *)s->native_stack.frames,
				   .count = s->native.count,
				   .loss = (uint16_t)s->native.loss,
				   .id = native_stack_id(s),
				   .end = &s->native};
}

struct late_stack late_walk(struct late_walker *walker, const struct mapping_entry *mappings, uint32_t count,
			    uint32_t epoch, const struct snapshot_event *snapshot, const uint8_t *bytes,
			    const struct memory *code)
{
	struct late_stack stack;

	walker->bytes = bytes;
	walker->code = code;
	walker->live = NULL;
	walker->scratch->task.thread_pointer = 0;
	stack = walk(walker, mappings, count, epoch, snapshot);
	/* What could not be read is not the thread's memory: it is not in the copy. */
	if (stack.loss == LOSS_STACK_READ)
		stack.loss = LOSS_LATE;
	return stack;
}

struct late_stack live_walk(struct late_walker *walker, const struct mapping_entry *mappings, uint32_t count,
			    uint32_t epoch, const struct snapshot_event *registers, uint64_t thread_pointer,
			    const struct memory *memory)
{
	walker->live = memory;
	walker->scratch->task.thread_pointer = thread_pointer;
	return walk(walker, mappings, count, epoch, registers);
}

bool late_read(struct late_walker *walker, uint64_t address, uint64_t *ret)
{
	return !read_snapshot(walker, ret, sizeof(*ret), address);
}

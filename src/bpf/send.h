/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * send: what goes to user space through the ring: stacks and functions, each once, and copies of stacks. And counters.
 */
#ifndef STRATA_BPF_SEND_H
#define STRATA_BPF_SEND_H

#include "bpf/shim.h"

#include "abi/counters.h"
#include "abi/events.h"
#include "bpf/scratch.h"
#include "bpf/tables.h"
#include "bpf/uretprobe.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* set by the loader */
} events SEC(".maps");

/*
 * Ids of the stacks and code objects that user space has, each in the slot given by its low bits. A stack is sent again
 * if another id has displaced its own, or if user space has removed it. A lookup is one load and an insertion is one
 * store, so two CPUs may overwrite each other's ids.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SENT_SLOTS);
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, __u64);
} sent SEC(".maps");

/* By enum counter. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, COUNTER_COUNT);
	__type(key, __u32);
	__type(value, __u64);
} counters SEC(".maps");

static __always_inline void count(__u32 which, __u64 by)
{
	__u64 *counter = bpf_map_lookup_elem(&counters, &which);

	if (counter)
		*counter += by;
}

static __always_inline void note_worst(__u64 ns)
{
	__u32 which = COUNTER_WORST;
	__u64 *worst = bpf_map_lookup_elem(&counters, &which);

	if (worst && ns > *worst)
		*worst = ns;
}

/*
 * Decides whether to wake user space: for what cannot wait, or when a quarter of the ring is full. Otherwise user space
 * polls the ring by itself. Waking costs 10 us, an interrupt that this CPU sends to itself. So it is done only once
 * until user space has read something.
 */
static __always_inline __u64 wakeup(struct scratch *s, bool urgent)
{
	__u64 read;

	if (!urgent &&
	    bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) <= bpf_ringbuf_query(&events, BPF_RB_RING_SIZE) / 4)
		return BPF_RB_NO_WAKEUP;
	read = bpf_ringbuf_query(&events, BPF_RB_CONS_POS) + 1;
	if (s->woken == read)
		return BPF_RB_NO_WAKEUP;
	s->woken = read;
	return BPF_RB_FORCE_WAKEUP;
}

static __always_inline bool is_sent(__u64 id)
{
	__u32 slot = id & (SENT_SLOTS - 1);
	__u64 *sent_id = bpf_map_lookup_elem(&sent, &slot);

	return sent_id && *sent_id == id;
}

static __always_inline void mark_sent(__u64 id)
{
	__u32 slot = id & (SENT_SLOTS - 1);
	__u64 *sent_id = bpf_map_lookup_elem(&sent, &slot);

	if (sent_id)
		*sent_id = id;
}

static __always_inline int code_known(struct scratch *s, __u64 id)
{
	return is_sent(id);
}

/*
 * A page may be missing for a moment (copy on write). A function that could not be read completely is sent again with
 * the next sample.
 */
static __always_inline bool code_is_whole(const struct code_event *code)
{
	return code->is_named && code->table_size != CODE_TABLE_UNREAD &&
	       (code->table_copied == code->table_size || code->table_size > CODE_TABLE_MAX);
}

static __always_inline void code_send(struct scratch *s, __u32 table_bytes)
{
	__u64 size = CODE_EVENT_BRIEF + s->code.header.text_bytes + table_bytes;

	walk_opaque(size);
	if (size > sizeof(s->code))
		return;
	if (bpf_ringbuf_output(&events, &s->code, size,
			       wakeup(s, s->code.header.table_copied < s->code.header.table_size)))
		count(COUNTER_STACK_DROPPED, 1);
	else if (code_is_whole(&s->code.header))
		mark_sent(s->code.header.id);
	else
		s->unread = 1;
}

/* Sends a stack that user space does not have yet. `stack` starts with its header. */
static __always_inline void send_stack(void *stack, __u64 size, __u64 limit, __u64 id)
{
	if (is_sent(id))
		return;
	walk_opaque(size);
	if (size > limit)
		size = limit;
	if (bpf_ringbuf_output(&events, stack, size, BPF_RB_NO_WAKEUP)) /* the sample follows and wakes user space */
		count(COUNTER_STACK_DROPPED, 1);
	else
		mark_sent(id);
}

static __always_inline void fill_stack_header(struct stack_event *header, const struct sample_event *sample, __u32 type,
					      __u64 id, __u32 frames, __u32 loss)
{
	header->header.type = type;
	header->header.runtime = 0;
	header->id = id;
	header->time = sample->time;
	header->cookie = sample->cookie;
	header->tgid = sample->tgid;
	header->count = frames;
	header->loss = loss;
}

/*
 * Computes how many pages of the stack to copy. The stack's end is known for the main thread, and for stacks made by
 * libc, which have the thread's control block at their outer end. Trying a page beyond the end would cost a fault, 1.2
 * us. Of a stack larger than the copy the middle is left out, which usually lies in one large frame.
 */
static __always_inline void measure_stack(struct scratch *s)
{
	const struct mm_struct *mm = (const void *)s->task.mm;
	struct snapshot_event *event = &s->snapshot.header;
	__u64 first_stack = BPF_CORE_READ(mm, start_stack);
	__u64 start = event->stack_start, sp = event->registers[REG_SP];
	__u64 unknown = start + SNAPSHOT_WHOLE * PAGE_BYTES, last = unknown, pages = SNAPSHOT_PAGES;

	if (s->task.thread_pointer >= sp && s->task.thread_pointer < last)
		last = s->task.thread_pointer;
	if (first_stack >= sp && first_stack < last)
		last = first_stack;
	if (last != unknown)
		pages = (last - start) / PAGE_BYTES + 1;
	s->snapshot_hole = last == unknown ? SNAPSHOT_HOLE : SNAPSHOT_PAGES;
	event->skipped = pages > SNAPSHOT_PAGES ? (pages - SNAPSHOT_PAGES) * PAGE_BYTES : 0;
	s->snapshot_pages = pages;
}

/*
 * Copies page `i` of the stack. A page that was never touched is a hole; several in a row are taken as the stack's end.
 */
static __always_inline int snapshot_loop_step_in(struct scratch *s, __u32 i)
{
	struct snapshot_event *event = &s->snapshot.header;
	__u32 copied = event->stack_size / PAGE_BYTES;
	__u64 from = event->stack_start + i * PAGE_BYTES;

	walk_opaque(i);
	if (i >= SNAPSHOT_PAGES || i >= s->snapshot_pages || i > copied + s->snapshot_hole)
		return 1;
	if (i >= SNAPSHOT_HEAD)
		from += event->skipped;
	if (bpf_probe_read_user(s->snapshot.bytes + i * PAGE_BYTES, PAGE_BYTES, (void *)from))
		return 0;
	event->pages |= 1ull << i;
	event->stack_size = (i + 1) * PAGE_BYTES;
	return 0;
}
WALK_LOOP(snapshot_loop, SNAPSHOT_PAGES)

/* Sends the registers and the top of the stack: user space finishes the walk of this sample when it has the tables. */
static __noinline void send_snapshot(struct scratch *s)
{
	struct snapshot_event *event = &s->snapshot.header;
	__u64 size;

	event->header.type = EVENT_SNAPSHOT;
	event->sequence = s->sample.sequence;
	event->time = s->sample.time;
	event->cookie = s->sample.cookie;
	event->tgid = s->sample.tgid;
	event->tid = s->sample.tid;
	event->native_stack = s->sample.flags & SAMPLE_LATE ? 0 : s->sample.native_stack;
	event->epoch = s->process.epoch;
	event->stack_start = (event->registers[REG_SP] - ARCH_RED_ZONE) & ~(__u64)(PAGE_BYTES - 1);
	event->stack_size = 0;
	event->pages = 0;
	event->uprobe_page = s->task.uprobe_page;
	event->torn = s->task.torn;
	measure_stack(s);
	snapshot_loop(s);
	if (s->task.uprobe_page)
		uretprobe_mend_snapshot(SCRATCH_REF(s));
	size = sizeof(*event) + event->stack_size;
	walk_opaque(size);
	if (size > sizeof(s->snapshot))
		return;
	if (bpf_ringbuf_output(&events, &s->snapshot, size, wakeup(s, true)))
		count(COUNTER_STACK_DROPPED, 1);
}

#endif

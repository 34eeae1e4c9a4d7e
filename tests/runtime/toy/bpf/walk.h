/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The toy's walk: a thread by the list of threads, its frames by the list of frames. See bpf/second_stack.h. */
#ifndef STRATA_TEST_TOY_BPF_WALK_H
#define STRATA_TEST_TOY_BPF_WALK_H

#include "abi/loss.h"
#include "abi/runtime_id.h"
#include "bpf/functions.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"
#include "bpf/time.h"
#include "runtime/toy/abi.h"

static __always_inline int toy_end(struct toy_walk *walk, __u32 loss)
{
	walk->loss = loss;
	walk->done = 1;
	return 1;
}

/* Adds a string to the event's text. */
static __always_inline void toy_copy(struct scratch *s, __u64 address, __u64 size, struct code_string *ret)
{
	__u64 at = s->code.header.text_bytes;

	*ret = (struct code_string){.length = (__u32)size};
	walk_opaque(size);
	walk_opaque(at);
	if (!size || size > CODE_STRING_MAX || at > CODE_STRING_MAX ||
	    walk_read_user(s, s->code.header.text + at, size, address))
		return;
	ret->at = (__u32)at;
	s->code.header.text_bytes = (__u32)(at + size + 7) & ~7u;
	ret->kind = 1;
	ret->bytes = (__u16)size;
}

/* The id of the function in walk->function, which is sent when it is new. */
static __always_inline __u64 toy_function_id_in(struct scratch *s, __u64 address)
{
	struct toy_walk *walk = &s->toy;
	struct code_event *event = &s->code.header;
	__u64 id;

	if (walk_read_user(s, &walk->function, sizeof(walk->function), address))
		return 0;
	id = hash_mix(hash_mix(walk->hash_seed, address), walk->function.name);
	id = hash_mix(id, (__u64)walk->function.version << 32 | (__u32)walk->function.first_line);
	if (!id)
		id = 1;
	if (code_known(s, id))
		return id;
	event->header.type = EVENT_CODE;
	event->id = id;
	event->address = address;
	event->table_address = 0;
	event->tgid = walk->tgid;
	event->runtime = RUNTIME_ID_toy;
	event->version = TOY_VERSION;
	event->firstlineno = walk->function.first_line;
	event->table_size = event->table_copied = 0;
	event->qualname = (struct code_string){};
	event->text_bytes = 0;
	toy_copy(s, walk->function.name, walk->function.name_size, &event->name);
	toy_copy(s, walk->function.file, walk->function.file_size, &event->filename);
	event->is_named = event->name.kind && event->filename.kind;
	code_send(s, 0);
	return id;
}
WALK_GLOBAL(__u64, toy_function_id, __u64)

static __always_inline int toy_loop_step_in(struct scratch *s, __u32 i)
{
	struct toy_walk *walk = &s->toy;
	struct second_frame *out;
	__u32 index = walk->count;
	__u64 id;

	(void)i;
	if (walk_stops(s))
		return 1;
	if (!walk->at)
		return toy_end(walk, LOSS_NONE);
	if (index >= SECOND_FRAMES_MAX)
		return toy_end(walk, LOSS_SECOND_DEPTH);
	if (walk_read_user(s, &walk->frame, sizeof(walk->frame), walk->at))
		return toy_end(walk, LOSS_SECOND_READ);
	id = WALK_CALL(toy_function_id, s, walk->frame.function);
	if (!id)
		return toy_end(walk, LOSS_SECOND_READ);
	walk_opaque(index);
	out = &s->second_stack.frames[index & (SECOND_FRAMES_MAX - 1)];
	out->code = id;
	out->position = walk->frame.position;
	out->flags = walk->frame.is_entry ? SECOND_FRAME_ENTRY : 0;
	walk->hash = hash_mix(hash_mix(walk->hash, id), (__u64)(__u32)out->position << 8 | out->flags);
	walk->count++;
	walk->at = walk->frame.caller;
	return 0;
}
WALK_LOOP(toy_loop, SECOND_FRAMES_MAX)

static __always_inline int toy_thread_step_in(struct scratch *s, __u32 i)
{
	struct toy_walk *walk = &s->toy;

	(void)i;
	if (!walk->at || walk_read_user(s, &walk->looked_at, sizeof(walk->looked_at), walk->at))
		return 1;
	if (walk->looked_at.self == walk->thread_id) {
		walk->thread = walk->at;
		return 1;
	}
	walk->at = walk->looked_at.next;
	return 0;
}
WALK_LOOP(toy_thread, TOY_THREADS_MAX)

static __always_inline void toy_begin(struct scratch *s, const struct toy_process *process, __u64 known)
{
	struct toy_walk *walk = &s->toy;

	(void)known; /* the list is short */
	walk->count = walk->loss = walk->done = 0;
	walk->searched = walk->doubt = walk->is_current = 0;
	walk->told = 1;
	walk->thread = walk->at = 0;
	if (!walk_read_user(s, &walk->at, sizeof(walk->at), process->threads))
		toy_thread(s);
	walk->at = walk->looked_at.frame;
	walk->done = !walk->thread;
}

static __always_inline bool toy_go_on(struct scratch *s)
{
	struct toy_walk *walk = &s->toy;

	if (walk->done)
		return false;
	toy_loop(s);
	if (walk->done)
		return false;
	if (walk_pauses(s))
		return true;
	walk->loss = walk_is_over(s) ? LOSS_TIME_LIMIT : LOSS_SECOND_DEPTH;
	return false;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python walk: from the thread's PyThreadState, which thread.h finds, to its oldest Python frame.
 *
 * The frames.
 *
 *   3.6-3.10   tstate.frame ─► PyFrameObject.f_back ...            on the heap, one read each
 *   3.11, 3.12 tstate.cframe ─► current_frame ─► previous ...      on the thread's data stack, which grows upwards: a
 *   3.13+      tstate.current_frame ─► previous ...                window *below* the younger frame holds the older
 *                                                                  ones; 3.15's chains end with a frame of the thread
 *                                                                  state's own, tstate.base_frame
 *
 * A frame that is not near the window (a generator's frame lies in its generator, a shim on the C stack) is read
 * separately, and the window stays. Neither read touches a page that the frame itself does not touch.
 *
 * The code object. Its address does not identify it: code is freed, and another code object may take its place, even
 * with all its parts. So it is identified by a hash of all its words that never change (layout.code_stable) and, in
 * versions without serial numbers for code objects, of the beginning of its line table. That costs one or two reads per
 * code object of a sample, not per frame: a recursion pays once. A code object with a new id is sent at once, with
 * names and line table, while it cannot be freed: its frame runs on this very thread.
 */
#ifndef STRATA_RUNTIME_PYTHON_BPF_WALK_H
#define STRATA_RUNTIME_PYTHON_BPF_WALK_H

#include "abi/loss.h"
#include "runtime/python/abi.h"
#include "runtime/python/bpf/code.h"
#include "runtime/python/bpf/task.h"
#include "runtime/python/bpf/thread.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/time.h"

#define PYTHON_ENTRY_MARK 0x656e747279ull /* mixed into a stack's hash at each entry frame */
#define PYTHON_TURNS      32u             /* iterations of the loop, after which their cost is added for time.h: */
#define PYTHON_TURNS_NS   (15 * PYTHON_TURNS)

static __always_inline int python_end(struct python_walk *walk, __u32 loss)
{
	/* Frames that change while they are read belong to another thread, which is running. */
	if (loss && walk->unsure) {
		walk->frame = walk->outer;
		walk->outer = walk->count = walk->group = walk->unsure = walk->mark = walk->kept.count = 0;
		walk->hash = walk->hash_seed;
		return 0;
	}
	walk->loss = loss;
	walk->done = 1;
	return 1;
}

/* Reads a frame separately. A small frame may end at the end of its page; then only this part is read. 1, or -1. */
static __noinline int python_load_far(struct scratch *s, __u64 frame)
{
	__u64 size = PAGE_BYTES - (frame & (PAGE_BYTES - 1));

	if (!walk_read_user(s, s->python.far, PYTHON_FRAME_BYTES, frame))
		return 1;
	walk_opaque(size);
	if (size >= PYTHON_FRAME_BYTES)
		return -1;
	return walk_read_user(s, s->python.far, (__u32)size, frame) ? -1 : 1;
}

/* Reads the frame's bytes into the window (returns 0), or separately into walk->far (1). -1 if they cannot be read. */
static __always_inline int python_load_frame_in(struct scratch *s, __u64 frame)
{
	struct python_walk *walk = &s->python;
	__u64 end = frame + PYTHON_FRAME_BYTES, start, size, distance;

	distance = frame > walk->far_frame ? frame - walk->far_frame : walk->far_frame - frame;
	if (walk->window_end && distance > PYTHON_WINDOW &&
	    (frame > walk->window_end + PYTHON_WINDOW * 8 || frame + PYTHON_WINDOW * 8 < walk->window_start)) {
		walk->far_frame = frame;
		return python_load_far(s, frame);
	}
	start = end - PYTHON_WINDOW;
	if (start < (frame & ~(__u64)(PAGE_BYTES - 1)))
		start = frame & ~(__u64)(PAGE_BYTES - 1);
	start &= ~7ull;
	size = end - start;
	walk_opaque(size);
	if (size > PYTHON_WINDOW)
		size = PYTHON_WINDOW;
	walk->window_start = walk->window_end = 0;
	if (walk->layout.lasti != PY_LASTI_POINTER || walk_read_user(s, walk->window, (__u32)size, start))
		return python_load_far(s, frame);
	walk->window_start = start;
	walk->window_end = start + size;
	return 0;
}
WALK_GLOBAL(int, python_load_frame, __u64)

/*
 * The start of the bytecode into which a frame's instruction pointer points. A free-threaded 3.14 or 3.15 gives each
 * thread a copy: the code object points to { ssize_t size; char *entries[]; }, the frame says which entry
 * (runtime/python/abi.h).
 */
static __noinline __u64 python_bytecode(struct scratch *s, __u64 code, __s32 copy)
{
	const struct py_layout *layout = &s->python.layout;
	__u64 entries = 0, start = 0;

	if (layout->code_tlbc == PY_NO_OFFSET || copy <= 0)
		return code + layout->code_bytecode;
	if (walk_read_user(s, &entries, sizeof(entries), code + layout->code_tlbc) ||
	    walk_read_user(s, &start, sizeof(start), entries + 8 + 8ull * (__u32)copy))
		return code + layout->code_bytecode;
	return start;
}

/* Is an address in the thread state? The _PyCFrame there does not belong to a loop. */
static __always_inline int python_in_tstate(const struct python_walk *walk, __u64 at)
{
	return at - (walk->inner ? walk->inner : walk->thread) < PY_TSTATE_SPAN;
}

/*
 * May there be a _PyCFrame at an address of the stack? It points to a frame and to an older _PyCFrame. 1, 0, or -1: it
 * cannot be read.
 */
static __always_inline int python_is_cframe(struct scratch *s, __u64 at)
{
	struct python_walk *walk = &s->python;
	__u64 words[2] = {0, 0}, previous; /* current_frame, previous */

	if ((at & 7) || !python_on_stack(walk, at))
		return 0;
	if (walk_read_user(s, words, sizeof(words), at + walk->layout.cframe_current))
		return -1;
	previous = words[1];
	return words[0] && words[0] < PYTHON_USER_END && !(words[0] & 7) && !(previous & 7) &&
	       ((previous > at && python_on_stack(walk, previous)) || python_in_tstate(walk, previous));
}

/* Makes the address in a register walk->found, if there may be a _PyCFrame and it lies before the present one. */
static __always_inline int python_try_cframe_in(struct scratch *s, __u32 i)
{
	struct python_walk *walk = &s->python;
	__u64 at = s->snapshot.header.registers[i & (ARCH_REGISTERS - 1)];

	if (at > walk->tried && (!walk->found || at < walk->found) && python_is_cframe(s, at) > 0)
		walk->found = at;
	return 0;
}
WALK_GLOBAL(int, python_try_cframe, __u32)

/*
 * The next candidate for the _PyCFrame before the newest one, if that is not linked yet: those to which the thread's
 * registers point, upwards on the stack, and the one in the newest one's `previous`. PYTHON_NO_FRAME when all were
 * tried.
 */
static __always_inline __u64 python_cframe_before(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	int said = python_is_cframe(s, walk->previous);
	__u64 best = said > 0 && walk->previous > walk->tried ? walk->previous : 0;
	__u32 i;

	walk->found = best;
	for (i = 0; i < 16; i++)
		WALK_CALL(python_try_cframe, s, i);
	best = walk->found;
	if (!best && walk->previous != PYTHON_NO_FRAME &&
	    (!walk->stack_pointer || python_in_tstate(walk, walk->previous))) {
		best = walk->previous;
		walk->previous = PYTHON_NO_FRAME;
		return best;
	}
	/* The `previous` of a linked loop's _PyCFrame is the next one. */
	if ((!said && walk->previous != PYTHON_NO_FRAME) || (best && best < walk->previous))
		walk->doubt = 0;
	if (!best)
		return PYTHON_NO_FRAME;
	walk->tried = best;
	return best;
}

#define PYTHON_CFRAME_TRIES 4

/*
 * The chain leads nowhere. 3.11 and 3.12 make a new _PyCFrame the current one some instructions before they set its
 * current_frame (Python/ceval.c, _PyEval_EvalFrameDefault): until then it holds whatever was on the stack, perhaps a
 * frame of an earlier call, and the _PyCFrame before it says what runs. The link to that one may not be set yet, either
 * (gcc sets both by one store): then a register holds it. A candidate must be linked with the one before it, like any
 * other _PyCFrame.
 *
 * `unread`: the frame cannot be read, either: it is not linked, or its page is missing. All of this is one global
 * function, as calls may not be nested deeper than eight.
 */
static __always_inline int python_unlinked_in(struct scratch *s, __u32 unread)
{
	struct python_walk *walk = &s->python;

	if (unread)
		walk->doubt = walk->link != PYTHON_LINK_SURE;
	if (walk->link == PYTHON_LINK_SURE)
		return python_end(walk, LOSS_SECOND_READ);
	walk->count = walk->group = walk->kept.count = 0;
	walk->hash = walk->hash_seed;
	walk->cframe = walk->tries++ < PYTHON_CFRAME_TRIES ? python_cframe_before(s) : PYTHON_NO_FRAME;
	if (walk->cframe == PYTHON_NO_FRAME)
		return python_end(walk, LOSS_SECOND_UNLINKED);
	python_older_cframe(s);
	if (walk->base == PYTHON_NO_FRAME)
		return python_end(walk, LOSS_SECOND_UNLINKED);
	walk->link = PYTHON_LINK_OLDER;
	walk->frame = walk->base;
	walk->mark = 0;
	python_older_cframe(s);
	return 0;
}
WALK_GLOBAL(int, python_unlinked, __u32)

/*
 * A shim is not a frame of the program: it marks the next younger frame as the outermost one of an interpreter loop.
 * Two shims in a row are a loop without a frame: it is entering its first, or leaving its last one, whose locals are
 * being released (which can run more Python code). Such a loop gets an empty entry, so that loops and groups still pair
 * one to one.
 */
static __noinline int python_shim(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	__u32 at = walk->count - 1;

	if (walk->link != PYTHON_LINK_SURE && walk->frame != walk->base)
		return WALK_CALL(python_unlinked, s, 0);
	walk->link = PYTHON_LINK_SURE;
	if (!walk->group) {
		at = walk->count;
		if (at >= SECOND_FRAMES_MAX)
			return python_end(walk, LOSS_SECOND_DEPTH);
		walk->count++;
	}
	walk_opaque(at);
	at &= SECOND_FRAMES_MAX - 1;
	if (!walk->group) {
		s->second_stack.frames[at].code = 0;
		s->second_stack.frames[at].position = 0;
		s->second_stack.frames[at].flags = SECOND_FRAME_EMPTY;
		walk_note_frame(s, at, 0);
	}
	s->second_stack.frames[at].flags |= SECOND_FRAME_ENTRY;
	walk->hash = hash_mix(walk->hash, PYTHON_ENTRY_MARK + !walk->group);
	walk->group = 0;
	return 0;
}

/*
 * A frame lies between the top of the thread's data stack and its limit. Is it stale: popped but still current for some
 * instructions, or left behind by another call? Only if top and limit belong to the same chunk: while the thread moves
 * to another chunk (struct _stack_chunk of Include/cpython/pystate.h: previous, size, ...), they belong to two, and
 * anything may lie between them. 1 or 0.
 */
static __noinline int python_is_popped(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	__u64 size;

	return walk->stack_top > walk->stack_chunk && !walk_read_user(s, &size, 8, walk->stack_chunk + 8) &&
	       walk->stack_chunk + size == walk->stack_limit;
}

/*
 * Is a frame the outermost one of a loop? walk->frame is its previous frame; `stack` and `flag` are its fields of these
 * names.
 *
 * throw() into a generator that waits for another one makes its frame the current one without a loop
 * (Objects/genobject.c, _gen_throw). 3.11's is_entry is then that of the last time that it ran: what
 * _PyEval_EvalFrameDefault enters follows what the _PyCFrame before says. Before, a frame in a loop does not say where
 * its stack ends; the youngest may be about to enter its loop. From 3.12 on there are shims, and the frame counts to
 * the loop of the one that throws.
 */
static __noinline __u32 python_is_entry(struct scratch *s, __u64 stack, __u32 flag)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;

	if (layout->entry == PY_ENTRY_EVERY) {
		if (!walk->count || walk->tracing)
			return SECOND_FRAME_ENTRY;
		return (layout->lasti == PY_LASTI_UNITS ? (__s32)stack < 0 : !stack) ? SECOND_FRAME_ENTRY : 0;
	}
	if (layout->entry != PY_ENTRY_FLAG || !flag)
		return 0;
	if (!walk->cframes)
		return SECOND_FRAME_ENTRY;
	if (walk->frame != walk->base)
		return 0;
	walk->link = PYTHON_LINK_SURE;
	python_older_cframe(s);
	return SECOND_FRAME_ENTRY;
}

/* The end of a chain. Not 0 when the walk has ended. */
static __always_inline int python_chain_end(struct scratch *s)
{
	struct python_walk *walk = &s->python;

	/*
	 * The oldest frame is the first of a loop; if it is not, the chain is not linked: not yet, or for good. Neither
	 * is there an empty loop above others; and a _PyCFrame on the stack, which is a loop's, has a frame.
	 */
	if (walk->link != PYTHON_LINK_SURE &&
	    (walk->group || walk->base || (walk->link == PYTHON_LINK_NEWEST && python_on_stack(walk, walk->newest)))) {
		walk->cut |= walk->group;
		return WALK_CALL(python_unlinked, s, 0);
	}
	/*
	 * A loop's frames may be stale. They may also belong to a generator that yields: it clears the link to its
	 * caller one instruction before the caller becomes current. If there are no other frames, too much would be
	 * missing.
	 */
	walk->cut |= walk->cframes && python_on_stack(walk, walk->newest);
	if (walk->group || (walk->cut && !walk->count && !walk->outer))
		return python_end(walk, LOSS_SECOND_UNLINKED);
	if (!walk->outer)
		return python_end(walk, LOSS_NONE);
	walk->frame = walk->outer;
	walk->base_frame = walk->outer_base;
	walk->outer = walk->cframes = walk->unsure = walk->mark = 0;
	walk->link = PYTHON_LINK_SURE;
	return 0;
}

/* Adds the task, if it is not 0, whose outermost frame follows. */
static __always_inline void python_push_task(struct scratch *s, __u64 task)
{
	struct python_walk *walk = &s->python;
	__u32 at = walk->count;

	walk_opaque(at);
	if (!task || at >= SECOND_FRAMES_MAX)
		return;
	walk_note_frame(s, at, 0);
	s->second_stack.frames[at].code = task;
	s->second_stack.frames[at].position = 0;
	s->second_stack.frames[at].flags = walk->unsure | SECOND_FRAME_TASK;
	walk->hash = hash_mix(walk->hash, task);
	walk->count++;
}

/* Shims take iterations of the loop, too: at most one for each frame. */
#define PYTHON_LOOP_MAX (SECOND_FRAMES_MAX * 2)

/* Records the frame at walk->frame as number `index` and moves to the older one. Not 0 when the walk has ended. */
static __always_inline int python_step(struct scratch *s, __u32 index)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 frame = walk->frame, code, back, lasti, stack, id;
	struct second_frame *out;
	struct python_memo *memo;
	const __u8 *bytes = walk->window;
	__u32 at, mask = PYTHON_WINDOW * 2 - 1, flags;
	__u8 entry;
	__s32 copy;
	int apart = 0;

	if (!frame)
		return python_chain_end(s);
	if (frame & 7 || frame >= PYTHON_USER_END)
		return WALK_CALL(python_unlinked, s, 0);
	if (python_goes_round(walk, frame, index)) {
		if (walk->link == PYTHON_LINK_SURE)
			return python_end(walk, LOSS_NO_PROGRESS);
		walk->cut = 1;
		return WALK_CALL(python_unlinked, s, 0);
	}
	if (frame < walk->window_start || frame + PYTHON_FRAME_BYTES > walk->window_end)
		apart = WALK_CALL(python_load_frame, s, frame);
	if (apart < 0)
		return WALK_CALL(python_unlinked, s, 1);
	at = apart ? 0 : (__u32)(frame - walk->window_start);
	if (apart) {
		code = python_u64_at(walk->far, layout->frame_code, PYTHON_FRAME_BYTES * 2 - 1);
		back = python_u64_at(walk->far, layout->frame_back, PYTHON_FRAME_BYTES * 2 - 1);
		lasti = python_u64_at(walk->far, layout->frame_lasti, PYTHON_FRAME_BYTES * 2 - 1);
		stack = python_u64_at(walk->far, layout->frame_stack, PYTHON_FRAME_BYTES * 2 - 1);
		entry = python_u64_at(walk->far, layout->frame_entry, PYTHON_FRAME_BYTES * 2 - 1);
		copy = (__s32)python_u64_at(walk->far, layout->frame_tlbc_index, PYTHON_FRAME_BYTES * 2 - 1);
	} else {
		code = python_u64_at(bytes, at + layout->frame_code, mask);
		back = python_u64_at(bytes, at + layout->frame_back, mask);
		lasti = python_u64_at(bytes, at + layout->frame_lasti, mask);
		stack = python_u64_at(bytes, at + layout->frame_stack, mask);
		entry = python_u64_at(bytes, at + layout->frame_entry, mask);
		copy = (__s32)python_u64_at(bytes, at + layout->frame_tlbc_index, mask);
	}
	walk->frame = python_above_base(walk, back);

	if (layout->entry == PY_ENTRY_SHIM && entry >= layout->shim_owner)
		return python_shim(s);
	if (frame >= walk->stack_top && frame < walk->stack_limit && python_is_popped(s))
		return layout->entry == PY_ENTRY_FLAG && entry ? WALK_CALL(python_unlinked, s, 0) : 0;
	flags = python_is_entry(s, stack, entry) | walk->unsure;
	code &= ~(__u64)layout->code_tag_mask;
	memo = &walk->memo[(code >> 5) & (PYTHON_MEMO - 1)];
	if (memo->code == code && memo->sequence == walk->sequence) {
		id = memo->id;
	} else {
		id = WALK_CALL(python_code_id, s, code);
		if (!id)
			return WALK_CALL(python_unlinked, s, 1);
		memo->code = code;
		memo->sequence = walk->sequence;
		memo->id = id;
	}
	if (WALK_TASKS && walk->task_count)
		python_push_task(s, WALK_CALL(python_task, s, frame));
	index = walk->count;
	if (index >= SECOND_FRAMES_MAX)
		return python_end(walk, LOSS_SECOND_DEPTH);
	walk_opaque(index);
	out = &s->second_stack.frames[index & (SECOND_FRAMES_MAX - 1)];
	walk_note_frame(s, index & (SECOND_FRAMES_MAX - 1), frame);
	out->code = id;
	if (layout->lasti == PY_LASTI_POINTER)
		out->position = (__s32)(lasti - python_bytecode(s, code, copy));
	else
		out->position = (__s32)((__u32)lasti << (layout->lasti == PY_LASTI_UNITS));
	out->flags = flags;
	walk->hash = hash_mix(walk->hash, id);
	walk->hash = hash_mix(walk->hash, (__u64)(__u32)out->position << 8 | flags);
	walk->count++;
	walk->group = flags & SECOND_FRAME_ENTRY ? 0 : walk->group + 1;
	return 0;
}

static __always_inline int python_loop_step_in(struct scratch *s, __u32 i)
{
	struct python_walk *walk = &s->python;

	i += walk->turn;
	if (!(i & (PYTHON_TURNS - 1)))
		s->time.work += PYTHON_TURNS_NS;
	if (i >= PYTHON_LOOP_MAX || walk_stops(s)) {
		walk->turn = i;
		return 1;
	}
	if (!(i & (WALK_CUT_FRAMES - 1))) {
		walk->kept.count = walk->count;
		walk->kept.hash = walk->hash;
	}
	return python_step(s, i);
}
WALK_LOOP(python_loop, PYTHON_LOOP_MAX)

/*
 * Cuts the walk because its time is over. Frames that may be another thread's are left out, and so are a few that may
 * be stale (python_unlinked()), but not a long chain of frames.
 */
static __always_inline void python_out_of_time(struct python_walk *walk)
{
	walk->loss = LOSS_TIME_LIMIT;
	walk->done = 1;
	if (walk->kept.count) {
		walk->count = walk->kept.count;
		walk->hash = walk->kept.hash;
	}
	if (walk->unsure || (walk->link != PYTHON_LINK_SURE && !walk->kept.count))
		walk->count = 0;
}

/*
 * Begins a walk of the Python frames of the thread whose pthread_self() is s->python.thread_id; s->python.layout,
 * .sequence, .tgid and .hash (the process's cookie) are set by the caller, `cached` is a thread state that an earlier
 * sample found, or 0. Finds python.thread, the thread state (0: the thread has none). Not 0: there is no frame to walk.
 */
static __noinline int python_find(struct scratch *s, const struct python_process *process, __u64 cached)
{
	struct python_walk *walk = &s->python;
	__u64 current;

	walk->count = walk->turn = walk->kept.count = 0;
	walk->loss = LOSS_NONE;
	walk->done = 0;
	walk->window_start = walk->window_end = 0;
	walk->far_frame = 0;
	walk->group = walk->cut = walk->doubt = walk->unsure = 0;
	walk->outer = walk->thread = walk->inner = 0;
	walk->told = walk->noted = walk->searched = 0;
	walk->interp_head = process->interp_head;
	walk->current_tstate = process->current_tstate;
	current = python_read_current(s, process);
	walk->is_current = current != 0;
	if ((!current || current != cached) && python_find_states(s, process, current, cached))
		return 1;
	walk->mark = 0;
	if (WALK_TASKS)
		python_find_tasks(s, process);
	return !walk->thread;
}

static __always_inline void python_begin(struct scratch *s, const struct python_process *process, __u64 cached)
{
	s->python.done = python_find(s, process, cached);
	/* The thread's frames may be in a part that was not searched. */
	if (walk_is_over(s))
		python_out_of_time(&s->python);
}

/*
 * Goes on with a walk, to its end or as long as there is time: true when it pauses (walk_pauses()). Afterwards
 * s->second_stack.frames holds python.count frames, innermost first, and python.loss is LOSS_NONE when the oldest frame
 * was reached. python.doubt then says that the newest loop's frames were left out because they could not be read: only
 * a walk that may fault can tell whether they do not exist or their page is missing.
 */
static __always_inline bool python_go_on(struct scratch *s)
{
	struct python_walk *walk = &s->python;

	if (walk->done)
		return false;
	python_loop(s);
	if (walk->done)
		return false;
	if (walk_pauses(s))
		return true;
	if (walk_is_over(s))
		python_out_of_time(walk);
	else
		walk->loss = LOSS_SECOND_DEPTH;
	return false;
}

/* A whole walk. */
static __always_inline void python_walk(struct scratch *s, const struct python_process *process, __u64 cached)
{
	python_begin(s, process, cached);
	python_go_on(s);
}

#endif

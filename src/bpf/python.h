/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The Python walk: from the thread's PyThreadState to its oldest Python frame.
 *
 * The thread state. Python's own TLS variable is empty while a thread has released the GIL, and where it lies depends
 * on how the interpreter was built. Where one read is enough (src/python/thread_state.h) it is asked first, and so is
 * the pointer to the GIL's holder that versions up to 3.11 have: they tell which thread state runs now. The
 * interpreters' lists of threads always have every thread, and each thread state holds pthread_self(), which on x86-64
 * is the thread's FS base for glibc and musl alike. So the lists are walked once per thread, and the answer is kept by
 * thread id. Whatever gave it, a thread state is checked on each use to be this thread's.
 *
 * A thread that runs code in a sub-interpreter has several thread states: the one kept, which is the oldest
 * interpreter's, has the outermost frames, and another one the innermost (python_find_inner()), whether the thread has
 * released the GIL there or not. Of one interpreter within another within a third, the inner ones' frames are left out:
 * their loops then lack frames, which is a loss.
 *
 * The frames.
 *
 *   3.6-3.10   tstate.frame ─► PyFrameObject.f_back ...            on the heap, one read each
 *   3.11, 3.12 tstate.cframe ─► current_frame ─► previous ...      on the thread's data stack, which grows upwards: a
 *   3.13+      tstate.current_frame ─► previous ...                window *below* the younger frame holds the older
 * ones; 3.15's chains end with a frame of the thread state's own, tstate.base_frame
 *
 * A frame that is not near the window (a generator's frame lies in its generator, a shim on the C stack) is read
 * apart, and the window stays. Neither crosses into a page that the frame itself does not touch.
 *
 * The code object. Its address says little: code is freed, and the next one may take its place, even with all its
 * parts. So what identifies it is a hash of every word of it that never changes (layout.code_stable), and, where the
 * version gives code objects no serial number, of the beginning of its line table. That costs one or two reads a frame,
 * but only one for each code object of a sample: a recursion pays once. A code object whose id is new is sent at once,
 * names and line table, while it cannot go away: its frame runs on this very thread.
 */
#ifndef STRATA_BPF_PYTHON_H
#define STRATA_BPF_PYTHON_H

#include "abi/loss.h"
#include "abi/python.h"
#include "bpf/code.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/time.h"

#define PYTHON_ENTRY_MARK 0x656e747279ull /* mixed into a stack's hash at each entry frame */
#define PYTHON_NO_FRAME   1ull            /* not the address of any frame */
#define PYTHON_TURNS      32u             /* of the loop, after which they are counted for time.h: */
#define PYTHON_TURNS_NS   (15 * PYTHON_TURNS)

static __always_inline int python_end(struct python_walk *walk, __u32 loss)
{
	/* The frames of a thread that runs meanwhile change while they are read: then they are not this one's. */
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

static __always_inline __u64 python_u64_at(const __u8 *bytes, __u32 at, __u32 mask)
{
	walk_opaque(at);
	return walk_load_u64(bytes + (at & mask));
}

/*
 * Whether a chain goes round and round, in a thread's damaged memory or in what a loop has left behind: without this it
 * would be followed for thousands of turns, in an interrupt. By Brent: where it was at each power of two's turn is
 * kept.
 */
static __always_inline int python_goes_round(struct python_walk *walk, __u64 at, __u32 turn)
{
	if (at == walk->mark)
		return 1;
	if (!(turn & (turn - 1)))
		walk->mark = at;
	return 0;
}

/*
 * Moves to the next older _PyCFrame. Its current_frame is `base`: what the entry frame of the loop above calls its
 * previous one.
 */
static __always_inline void python_older_cframe(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	__u64 words[2] = {0, 0}; /* current_frame, previous */

	if (walk->cframe && walk_read_user(s, words, sizeof(words), walk->cframe + walk->layout.cframe_current))
		words[0] = PYTHON_NO_FRAME;
	walk->base = words[0];
	walk->cframe = words[1];
}

/*
 * Whether an address is on the thread's C stack. It ends below pthread_self(), but for the main thread's, which is at
 * the top of the address space.
 */
static __always_inline int python_on_stack(const struct python_walk *walk, __u64 address)
{
	return walk->stack_pointer && address >= walk->stack_pointer &&
	       (address < walk->thread_id || walk->thread_id < walk->stack_pointer);
}

/* The base frame, with which the chains of 3.15 end, is none. */
static __always_inline __u64 python_above_base(const struct python_walk *walk, __u64 frame)
{
	return frame == walk->base_frame ? 0 : frame;
}

/*
 * Reads the fields of a thread state that the walk needs; 0 when it belongs to the thread, or the thread runs on it.
 */
static __always_inline int python_read_tstate_in(struct scratch *s, __u64 tstate)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u32 first = layout->tstate_thread_id, last = layout->tstate_frame, size, mask = PYTHON_WINDOW - 1;
	__u64 frame;

	/* One read, no longer than from field to field: a thread state may be the last thing on its page. */
	if (first > last) {
		first = layout->tstate_frame;
		last = layout->tstate_thread_id;
	}
	if (layout->tstate_stack_top != PY_NO_OFFSET)
		last = layout->tstate_stack_top + 8u;
	size = last + 8 - first;
	walk_opaque(size);
	if (size > PYTHON_WINDOW || walk_read_user(s, walk->window, size, tstate + first))
		return -1;
	if (tstate != walk->inner &&
	    python_u64_at(walk->window, layout->tstate_thread_id - first, mask) != walk->thread_id &&
	    (layout->tstate_cframe == PY_NO_OFFSET ||
	     !python_on_stack(walk, python_u64_at(walk->window, layout->tstate_cframe - first, mask))))
		return -1;
	frame = python_u64_at(walk->window, layout->tstate_frame - first, mask);
	walk->base_frame = 0;
	if (layout->tstate_base_frame != PY_NO_OFFSET)
		walk->base_frame = python_u64_at(walk->window, layout->tstate_base_frame - first, mask);
	walk->stack_top = walk->stack_limit = 0;
	if (layout->tstate_stack_top != PY_NO_OFFSET) {
		walk->stack_chunk = python_u64_at(walk->window, layout->tstate_stack_top - 8 - first, mask);
		walk->stack_top = python_u64_at(walk->window, layout->tstate_stack_top - first, mask);
		walk->stack_limit = python_u64_at(walk->window, layout->tstate_stack_top + 8 - first, mask);
	}
	walk->tracing = 0;
	if (layout->tstate_tracing != PY_NO_OFFSET)
		walk->tracing = (__u32)python_u64_at(walk->window, layout->tstate_tracing - first, mask);
	walk->cframes = layout->cframe_current != PY_NO_OFFSET && frame;
	walk->link = walk->cframes ? PYTHON_LINK_NEWEST : PYTHON_LINK_SURE;
	if (walk->cframes) {
		walk->cframe = frame;
		python_older_cframe(s);
		frame = walk->base;
		if (frame == PYTHON_NO_FRAME)
			return -1;
		python_older_cframe(s);
	}
	walk->tstate = tstate;
	walk->frame = python_above_base(walk, frame);
	return 0;
}
WALK_GLOBAL(int, python_read_tstate, __u64)

/*
 * Whether walk->tstate, of another interpreter than the oldest, is what the thread runs on inside its outermost one,
 * and has frames.
 *
 *   3.10-3.12  Its _PyCFrame lies on the thread's stack, whoever made it.
 *   3.13+      It has the thread's name.
 *   3.6-3.9    It may be lent as well, and nothing in it says to whom. One with the thread's name is taken, else, if
 *              the outermost is the main interpreter's or none, the only one that has frames. They are marked as
 *              unsure: the merge knows how many there must be.
 */
static __always_inline void python_consider(struct scratch *s, __u64 thread_id)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u32 rank = thread_id == walk->thread_id ? PYTHON_OWN : PYTHON_LENT;
	int has_cframe = layout->tstate_cframe != PY_NO_OFFSET;
	__u64 runs = 0, base = 0;

	if (walk->tstate == walk->outermost || (!has_cframe && rank == PYTHON_LENT && layout->entry != PY_ENTRY_EVERY))
		return;
	if (walk_read_user(s, &runs, 8, walk->tstate + (has_cframe ? layout->tstate_cframe : layout->tstate_frame))) {
		s->unread = 1;
		return;
	}
	if (layout->tstate_base_frame != PY_NO_OFFSET) {
		if (walk_read_user(s, &base, 8, walk->tstate + layout->tstate_base_frame)) {
			s->unread = 1;
			return;
		}
		if (runs == base)
			return;
	}
	if (has_cframe)
		rank = python_on_stack(walk, runs) ? PYTHON_OWN : 0;
	if (!runs || !rank || rank < walk->rank)
		return;
	/* Two of a kind: which one runs is not known. */
	walk->found = rank == walk->rank ? 0 : walk->tstate;
	walk->rank = rank;
}

static __always_inline int python_find_loop_step_in(struct scratch *s, __u32 i)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 thread_id = 0, next = 0, interp = walk->interp;

	if (python_goes_round(walk, walk->tstate ? walk->tstate : interp, i) || (walk_stops(s) && walk_is_over(s))) {
		walk->tstate = walk->interp = 0;
		return 1;
	}
	if (!walk->tstate) { /* the end of one interpreter's list: on to the next interpreter */
		if (!interp)
			return 1;
		if (walk_read_user(s, &walk->tstate, 8, walk->interp + layout->interp_threads) ||
		    walk_read_user(s, &walk->interp, 8, walk->interp + layout->interp_next)) {
			walk->tstate = walk->interp = 0;
			s->unread |= walk->seeks_inner;
			return 1;
		}
		if (walk->seeks_inner && !walk->interp) { /* the oldest one's are not looked through */
			if (walk->rank == PYTHON_LENT && walk->outermost && walk->outermost_interp != interp)
				walk->found = 0;
			walk->tstate = 0;
			return 1;
		}
		return 0;
	}
	if (walk_read_user(s, &thread_id, 8, walk->tstate + layout->tstate_thread_id) ||
	    walk_read_user(s, &next, 8, walk->tstate + layout->tstate_next)) {
		walk->tstate = walk->interp = 0;
		s->unread |= walk->seeks_inner;
		return 1;
	}
	if (walk->seeks_inner)
		python_consider(s, thread_id);
	else if (thread_id == walk->thread_id)
		walk->found = walk->tstate;
	walk->tstate = next;
	return 0;
}
WALK_LOOP(python_find_loop, PYTHON_THREADS_MAX)

/* Looks through the thread lists: the address of what was found, or 0. */
static __noinline __u64 python_search(struct scratch *s, const struct py_process *process)
{
	struct python_walk *walk = &s->python;
	__u64 tstate = 0;

	walk->interp = 0;
	walk->tstate = 0;
	walk->mark = 1; /* nothing's address */
	walk->found = walk->rank = 0;
	if (process->interp_head) {
		if (walk_read_user(s, &walk->interp, 8, process->interp_head))
			return 0;
	} else if (process->current_tstate) {
		if (walk_read_user(s, &tstate, 8, process->current_tstate) || !tstate ||
		    walk_read_user(s, &walk->interp, 8, tstate + walk->layout.tstate_interp))
			return 0;
	}
	python_find_loop(s);
	return walk->found;
}

/*
 * The thread's thread state. When it has several, it is that of the oldest interpreter, the main one if it has one
 * there: the lists begin with the newest.
 */
static __always_inline __u64 python_find_thread(struct scratch *s, const struct py_process *process)
{
	s->python.seeks_inner = 0;
	return python_search(s, process);
}

/*
 * The one that has the thread's innermost frames, if that is not `outermost`. What could not be read meanwhile is
 * noted, for it may be away.
 */
static __always_inline __u64 python_find_inner(struct scratch *s, const struct py_process *process, __u64 outermost)
{
	struct python_walk *walk = &s->python;

	walk->outermost = outermost;
	walk->outermost_interp = 0;
	if (outermost && walk_read_user(s, &walk->outermost_interp, 8, outermost + walk->layout.tstate_interp)) {
		s->unread = 1;
		return 0;
	}
	walk->seeks_inner = 1;
	return python_search(s, process);
}

/* Reads a frame apart. A small one may end with its page; then there is no more than that. 1, or -1. */
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

/* Brings the frame's bytes into the window (0) or, apart from it, to walk->far (1). -1 when they cannot be read. */
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
 * Where the bytecode begins that a frame's instruction pointer points into. A free-threaded 3.14 or 3.15 gives each
 * thread a copy: the code object points to { ssize_t size; char *entries[]; }, the frame says which entry
 * (abi/python.h).
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

/*
 * The chain leads nowhere. 3.11 and 3.12 make a new _PyCFrame the current one some instructions before they set its
 * current_frame (Python/ceval.c, _PyEval_EvalFrameDefault): until then that is whatever was on the stack, a frame of
 * the past perhaps, and the _PyCFrame before it says what runs. Which one that is may not be set yet, either: then
 * there is nothing to go by.
 */
static __noinline int python_unlinked(struct scratch *s)
{
	struct python_walk *walk = &s->python;

	if (walk->link != PYTHON_LINK_SURE) {
		walk->count = walk->group = walk->kept.count = 0;
		walk->hash = walk->hash_seed;
	}
	if (walk->link != PYTHON_LINK_NEWEST || walk->base == PYTHON_NO_FRAME)
		return python_end(walk, LOSS_PY_READ);
	walk->link = PYTHON_LINK_OLDER;
	walk->frame = walk->base;
	walk->mark = 0;
	python_older_cframe(s);
	return 0;
}

/* Nor can it be read: it is not linked, or its page is away. */
static __noinline int python_unreadable(struct scratch *s)
{
	s->python.doubt = s->python.link != PYTHON_LINK_SURE;
	return python_unlinked(s);
}

/*
 * A shim is not a frame of the program's: it marks the younger one as the outermost of an interpreter loop. Two shims
 * in a row are a loop without a frame: it is entering its first, or leaving its last one, whose locals are being
 * released (which can run more Python code). Such a loop gets an empty entry, so that loops and groups still pair one
 * to one.
 */
static __noinline int python_shim(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	__u32 at = walk->count - 1;

	if (walk->link != PYTHON_LINK_SURE && walk->frame != walk->base)
		return python_unlinked(s);
	walk->link = PYTHON_LINK_SURE;
	if (!walk->group) {
		at = walk->count;
		if (at >= PYTHON_FRAMES_MAX)
			return python_end(walk, LOSS_PYTHON_DEPTH);
		walk->count++;
	}
	walk_opaque(at);
	at &= PYTHON_FRAMES_MAX - 1;
	if (!walk->group) {
		s->python_stack.frames[at].code = 0;
		s->python_stack.frames[at].lasti = 0;
		s->python_stack.frames[at].flags = PYTHON_FRAME_EMPTY;
	}
	s->python_stack.frames[at].flags |= PYTHON_FRAME_ENTRY;
	walk->hash = hash_mix(walk->hash, PYTHON_ENTRY_MARK + !walk->group);
	walk->group = 0;
	return 0;
}

/*
 * A frame lies between the top of the thread's data stack and its limit. Is it of the past: popped, but still the
 * current one for some instructions, or one that another call left behind? Only if the two belong together: while the
 * thread moves to another chunk (struct _stack_chunk of Include/cpython/pystate.h: previous, size, ...), they are of
 * two, and what lies between them may be anything. 1 or 0.
 */
static __noinline int python_is_popped(struct scratch *s)
{
	struct python_walk *walk = &s->python;
	__u64 size;

	return walk->stack_top > walk->stack_chunk && !walk_read_user(s, &size, 8, walk->stack_chunk + 8) &&
	       walk->stack_chunk + size == walk->stack_limit;
}

/*
 * Whether a frame is the outermost one of a loop; walk->frame is what it calls its previous frame, `stack` and `flag`
 * are its fields of these names.
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
			return PYTHON_FRAME_ENTRY;
		return (layout->lasti == PY_LASTI_UNITS ? (__s32)stack < 0 : !stack) ? PYTHON_FRAME_ENTRY : 0;
	}
	if (layout->entry != PY_ENTRY_FLAG || !flag)
		return 0;
	if (!walk->cframes)
		return PYTHON_FRAME_ENTRY;
	if (walk->frame != walk->base)
		return 0;
	walk->link = PYTHON_LINK_SURE;
	python_older_cframe(s);
	return PYTHON_FRAME_ENTRY;
}

/* The end of a chain. Not 0 when the walk has ended. */
static __always_inline int python_chain_end(struct scratch *s)
{
	struct python_walk *walk = &s->python;

	/*
	 * The oldest frame is the first of a loop; if it is not, the chain is not linked: not yet, or for good. Neither
	 * is there an empty loop above others.
	 */
	if (walk->link != PYTHON_LINK_SURE && (walk->group || walk->base)) {
		walk->cut |= walk->group;
		return python_unlinked(s);
	}
	/*
	 * A loop's frames may be of the past. They may also be a generator's that yields: it forgets who called it one
	 * instruction before that one is current. If there are no others, too much would be missing.
	 */
	if (walk->group || (walk->cut && !walk->count && !walk->outer))
		return python_end(walk, LOSS_PY_UNLINKED);
	if (!walk->outer)
		return python_end(walk, LOSS_NONE);
	walk->frame = walk->outer;
	walk->base_frame = walk->outer_base;
	walk->outer = walk->cframes = walk->unsure = walk->mark = 0;
	walk->link = PYTHON_LINK_SURE;
	return 0;
}

/* Shims take turns of the loop too: one for each frame at most. */
#define PYTHON_LOOP_MAX (PYTHON_FRAMES_MAX * 2)

/* Records the frame at walk->frame as number `index` and moves to the older one. Not 0 when the walk has ended. */
static __always_inline int python_step(struct scratch *s, __u32 index)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 frame = walk->frame, code, back, lasti, stack, id;
	struct python_frame *out;
	struct python_memo *memo;
	const __u8 *bytes = walk->window;
	__u32 at, mask = PYTHON_WINDOW * 2 - 1, flags;
	__u8 entry;
	__s32 copy;
	int apart = 0;

	if (!frame)
		return python_chain_end(s);
	if (frame & 7)
		return python_unlinked(s);
	if (python_goes_round(walk, frame, index)) {
		if (walk->link == PYTHON_LINK_SURE)
			return python_end(walk, LOSS_NO_PROGRESS);
		walk->cut = 1;
		return python_unlinked(s);
	}
	if (frame < walk->window_start || frame + PYTHON_FRAME_BYTES > walk->window_end)
		apart = WALK_CALL(python_load_frame, s, frame);
	if (apart < 0)
		return python_unreadable(s);
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
		return layout->entry == PY_ENTRY_FLAG && entry ? python_unlinked(s) : 0;
	flags = python_is_entry(s, stack, entry) | walk->unsure;
	code &= ~(__u64)layout->code_tag_mask;
	memo = &walk->memo[(code >> 5) & (PYTHON_MEMO - 1)];
	if (memo->code == code && memo->sequence == walk->sequence) {
		id = memo->id;
	} else {
		id = WALK_CALL(python_code_id, s, code);
		if (!id)
			return python_unreadable(s);
		memo->code = code;
		memo->sequence = walk->sequence;
		memo->id = id;
	}
	index = walk->count;
	if (index >= PYTHON_FRAMES_MAX)
		return python_end(walk, LOSS_PYTHON_DEPTH);
	walk_opaque(index);
	out = &s->python_stack.frames[index & (PYTHON_FRAMES_MAX - 1)];
	out->code = id;
	if (layout->lasti == PY_LASTI_POINTER)
		out->lasti = (__s32)(lasti - python_bytecode(s, code, copy));
	else
		out->lasti = (__s32)((__u32)lasti << (layout->lasti == PY_LASTI_UNITS));
	out->flags = flags;
	walk->hash = hash_mix(walk->hash, id);
	walk->hash = hash_mix(walk->hash, (__u64)(__u32)out->lasti << 8 | flags);
	walk->count++;
	walk->group = flags & PYTHON_FRAME_ENTRY ? 0 : walk->group + 1;
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
 * Cuts the walk where the time was over. What may be another thread's frames is left out, and so are some few that may
 * be of the past (python_unlinked()); a long chain of frames is not.
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
 * Where the thread's pointer to its current thread state is; 0 when that is not known. What is not filled in yet, or
 * was misunderstood, leads nowhere: a thread state is checked to be the thread's.
 */
static __noinline __u64 python_tls_address(struct scratch *s, const struct py_process *process)
{
	__u64 words[2] = {0, 0}, vector = 0, block = 0, base = s->python.thread_id + (__s64)process->tls_offset;

	if (process->tls_kind == PY_TLS_STATIC)
		return base;
	if (walk_read_user(s, words, sizeof(words), process->tls_slot))
		return 0;
	if (process->tls_kind == PY_TLS_WORD)
		return base + words[0];
	if (process->tls_kind == PY_TLS_DESC)
		return (__s64)words[1] < 0 ? base + words[1] : 0;
	if (!words[0] || words[0] > 0xffff ||
	    walk_read_user(s, &vector, 8, s->python.thread_id + process->tls_vector) ||
	    walk_read_user(s, &block, 8, vector + words[0] * process->tls_stride) || !block)
		return 0;
	return block + words[1] + (__s64)process->tls_offset;
}

/* The thread state that the thread runs on now; 0 when it has released the GIL, or that is not told by one read. */
static __always_inline __u64 python_read_current(struct scratch *s, const struct py_process *process)
{
	__u64 address = process->current_tstate, tstate = 0;

	if (process->tls_kind)
		address = python_tls_address(s, process);
	if (!address || walk_read_user(s, &tstate, 8, address) || !tstate || WALK_CALL(python_read_tstate, s, tstate))
		return 0;
	return tstate;
}

/*
 * Begins a walk of the Python frames of the thread whose pthread_self() is s->python.thread_id; s->python.layout,
 * .sequence, .tgid and .hash (the process's cookie) are set by the caller, `cached` is a thread state that an earlier
 * sample found, or 0. Finds python.tstate, the thread state (0: the thread has none). Not 0: there is no frame to walk.
 */
static __always_inline int python_find(struct scratch *s, const struct py_process *process, __u64 cached)
{
	struct python_walk *walk = &s->python;
	__u64 tstate, current, inner, outer, outer_base;

	walk->count = walk->turn = walk->kept.count = 0;
	walk->loss = LOSS_NONE;
	walk->done = 0;
	walk->window_start = walk->window_end = 0;
	walk->far_frame = 0;
	walk->group = walk->cut = walk->doubt = walk->unsure = 0;
	walk->outer = walk->tstate = walk->inner = 0;
	current = python_read_current(s, process);
	if (!current || current != cached) {
		/* One without frames may have been freed, while the thread's new one has some. */
		if (!cached || WALK_CALL(python_read_tstate, s, cached) || (!current && !walk->frame)) {
			tstate = python_find_thread(s, process);
			walk->tstate = 0;
			if (tstate && WALK_CALL(python_read_tstate, s, tstate))
				walk->tstate = 0;
		}
		tstate = walk->tstate;
		inner = 0;
		if (!current || current != tstate) {
			inner = python_find_inner(s, process, tstate);
			walk->tstate = tstate;
		}
		if (!inner && !tstate)
			inner = current;
		if (inner) {
			outer = tstate ? walk->frame : 0;
			outer_base = walk->base_frame;
			walk->inner = inner;
			if (WALK_CALL(python_read_tstate, s, inner))
				return 1;
			walk->outer = outer;
			walk->outer_base = outer_base;
			if (walk->layout.entry == PY_ENTRY_EVERY && walk->layout.tstate_cframe == PY_NO_OFFSET)
				walk->unsure = PYTHON_FRAME_UNSURE;
			if (tstate)
				walk->tstate = tstate;
		}
	}
	walk->mark = 0;
	return !walk->tstate;
}

static __always_inline void python_begin(struct scratch *s, const struct py_process *process, __u64 cached)
{
	s->python.done = python_find(s, process, cached);
	/* What was not looked through may be where the thread's frames are. */
	if (walk_is_over(s))
		python_out_of_time(&s->python);
}

/*
 * Goes on with a walk, to its end or as long as there is time: true when it pauses (walk_pauses()). Afterwards
 * s->python_stack.frames holds python.count frames, innermost first, and python.loss is LOSS_NONE when the oldest frame
 * was reached. python.doubt then says that the newest loop's frames were left out because they could not be read:
 * nobody but a walk that may fault can tell whether they are not there or away.
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
		walk->loss = LOSS_PYTHON_DEPTH;
	return false;
}

/* A whole walk. */
static __always_inline void python_walk(struct scratch *s, const struct py_process *process, __u64 cached)
{
	python_begin(s, process, cached);
	python_go_on(s);
}

#endif

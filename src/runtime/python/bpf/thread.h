/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The first part of the Python walk: finds the thread's PyThreadStates.
 *
 * A thread's own memory leads to them in a few reads, however many threads there are (thread_state.h of
 * src/runtime/python finds out where to read). There are three ways:
 *
 *   the current one  Python's thread-local variable, or up to 3.11 the pointer to the GIL's holder: what runs now.
 *                    Nothing while the thread has released the GIL.
 *   the pthread key  autoTSSkey, whether it has the GIL or not. Up to 3.11 it names the first thread state that the
 *                    thread had, from 3.12 on the last one that it was on. In 3.15 a thread-local variable is in its
 *                    place.
 *   the lists        of the interpreters' threads: they have all, but cost a read or two for each. Only where neither
 *                    of the others is known or tells. The result is kept by thread id.
 *
 * However a thread state was found, each use checks that it belongs to this thread: it holds pthread_self(), which on
 * x86-64 is the thread's FS base for both glibc and musl. Once the key has proved reliable in a process, a thread
 * without a value under it has no thread state, and no list is searched: native threads, and threads that are just
 * beginning or ending.
 *
 * A thread that runs code in a sub-interpreter has several thread states. The outermost frames belong to the one with
 * which it began, in the oldest interpreter; the innermost frames belong to the one on which it runs now. The latter is
 * the current one and, from 3.12 on, the one under the key; otherwise the lists of the other interpreters are searched
 * (python_find_inner()). If interpreters are nested three deep, frames of the inner ones are left out: their loops then
 * lack frames, which is a loss.
 *
 * The sub-interpreter's frames are walked first, then those of the thread's oldest interpreter. Up to 3.12 a
 * sub-interpreter's thread state may hold another thread's id, as any thread may run on it. From 3.10 to 3.12 it is
 * this thread's if its _PyCFrame lies on this thread's stack; up to 3.9 if the native stack has loops for its frames
 * (SECOND_FRAME_UNSURE, engine/merge.h). `bpf.thread_states` in --stats counts the steps through the lists.
 */
#ifndef STRATA_RUNTIME_PYTHON_BPF_THREAD_H
#define STRATA_RUNTIME_PYTHON_BPF_THREAD_H

#include "runtime/python/abi.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/tables.h"
#include "bpf/time.h"

#define PYTHON_NO_FRAME 1ull         /* not the address of any frame */
#define PYTHON_USER_END (1ull << 47) /* no address in user memory is as high */

static __always_inline __u64 python_u64_at(const __u8 *bytes, __u32 at, __u32 mask)
{
	walk_opaque(at);
	return walk_load_u64(bytes + (at & mask));
}

/*
 * Detects a cyclic chain, in damaged memory or in stale data that a loop has left behind. Otherwise it would be
 * followed for thousands of iterations, in an interrupt. Brent's algorithm: the position is remembered at each
 * iteration that is a power of two.
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
 * Moves to the next older _PyCFrame. Its current_frame becomes `base`: the `previous` that the entry frame of the loop
 * above must have.
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
 * Is an address on the thread's C stack? The stack ends below pthread_self(), except the main thread's, which is at the
 * top of the address space.
 */
static __always_inline int python_on_stack(const struct python_walk *walk, __u64 address)
{
	return walk->stack_pointer && address >= walk->stack_pointer && address < PYTHON_USER_END &&
	       (address < walk->thread_id || walk->thread_id < walk->stack_pointer);
}

/* The base frame, which ends the chains of 3.15, does not count as a frame. */
static __always_inline __u64 python_above_base(const struct python_walk *walk, __u64 frame)
{
	return frame == walk->base_frame ? 0 : frame;
}

/*
 * Reads the fields of a thread state that the walk needs; 0 when it belongs to the thread, or the thread runs on it:
 * then walk->thread is it, else 0.
 */
static __always_inline int python_read_tstate_in(struct scratch *s, __u64 tstate)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u32 first = layout->tstate_thread_id, last = layout->tstate_frame, size, mask = PYTHON_WINDOW - 1;
	__u64 frame;

	walk->thread = 0;
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
		walk->cframe = walk->newest = walk->tried = frame;
		walk->tries = 0;
		python_older_cframe(s);
		frame = walk->base;
		if (frame == PYTHON_NO_FRAME)
			return -1;
		walk->previous = walk->cframe;
		python_older_cframe(s);
	}
	walk->thread = tstate;
	walk->frame = python_above_base(walk, frame);
	return 0;
}
WALK_GLOBAL(int, python_read_tstate, __u64)

/*
 * Is walk->thread, of an interpreter other than the oldest, a thread state on which the thread runs inside its
 * outermost one, and does it have frames?
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

	if (walk->thread == walk->outermost || (!has_cframe && rank == PYTHON_LENT && layout->entry != PY_ENTRY_EVERY))
		return;
	if (walk_read_user(s, &runs, 8, walk->thread + (has_cframe ? layout->tstate_cframe : layout->tstate_frame))) {
		s->unread = 1;
		return;
	}
	if (layout->tstate_base_frame != PY_NO_OFFSET) {
		if (walk_read_user(s, &base, 8, walk->thread + layout->tstate_base_frame)) {
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
	/* Two of the same rank: it is not known which one runs. */
	walk->found = rank == walk->rank ? 0 : walk->thread;
	walk->rank = rank;
}

static __always_inline int python_find_loop_step_in(struct scratch *s, __u32 i)
{
	struct python_walk *walk = &s->python;
	const struct py_layout *layout = &walk->layout;
	__u64 thread_id = 0, next = 0, interp = walk->interp;

	if (python_goes_round(walk, walk->thread ? walk->thread : interp, i) || (walk_stops(s) && walk_is_over(s))) {
		walk->thread = walk->interp = 0;
		return 1;
	}
	if (!walk->thread) { /* the end of this interpreter's list: go to the next interpreter */
		if (!interp)
			return 1;
		if (walk_read_user(s, &walk->thread, 8, walk->interp + layout->interp_threads) ||
		    walk_read_user(s, &walk->interp, 8, walk->interp + layout->interp_next)) {
			walk->thread = walk->interp = 0;
			s->unread |= walk->seeks_inner;
			return 1;
		}
		if (walk->seeks_inner && !walk->interp) { /* the oldest interpreter's list is not searched */
			if (walk->rank == PYTHON_LENT && walk->outermost && walk->outermost_interp != interp)
				walk->found = 0;
			walk->thread = 0;
			return 1;
		}
		return 0;
	}
	if (walk_read_user(s, &thread_id, 8, walk->thread + layout->tstate_thread_id) ||
	    walk_read_user(s, &next, 8, walk->thread + layout->tstate_next)) {
		walk->thread = walk->interp = 0;
		s->unread |= walk->seeks_inner;
		return 1;
	}
	walk->searched++;
	if (walk->seeks_inner)
		python_consider(s, thread_id);
	else if (thread_id == walk->thread_id)
		walk->found = walk->thread;
	walk->thread = next;
	return 0;
}
WALK_LOOP(python_find_loop, PYTHON_THREADS_MAX)

/* Searches the thread lists. Returns the address of the thread state, or 0. */
static __always_inline __u64 python_search_in(struct scratch *s, __u32 seeks_inner)
{
	struct python_walk *walk = &s->python;
	__u64 tstate = 0;

	walk->seeks_inner = seeks_inner;
	walk->interp = 0;
	walk->thread = 0;
	walk->mark = 1; /* nothing's address */
	walk->found = walk->rank = 0;
	if (walk->interp_head) {
		if (walk_read_user(s, &walk->interp, 8, walk->interp_head))
			return 0;
	} else if (walk->current_tstate) {
		if (walk_read_user(s, &tstate, 8, walk->current_tstate) || !tstate ||
		    walk_read_user(s, &walk->interp, 8, tstate + walk->layout.tstate_interp))
			return 0;
	}
	python_find_loop(s);
	return walk->found;
}
WALK_GLOBAL(__u64, python_search, __u32)

/*
 * The thread's thread state. If it has several, the one of the oldest interpreter, which is the main interpreter if it
 * has one there: the lists begin with the newest.
 */
static __always_inline __u64 python_find_thread(struct scratch *s)
{
	return WALK_CALL(python_search, s, 0);
}

/*
 * The thread state with the thread's innermost frames, if it is not `outermost`. Failed reads are noted, because the
 * page may be missing only for a moment.
 */
static __always_inline __u64 python_find_inner(struct scratch *s, __u64 outermost)
{
	struct python_walk *walk = &s->python;

	walk->outermost = outermost;
	walk->outermost_interp = 0;
	if (outermost && walk_read_user(s, &walk->outermost_interp, 8, outermost + walk->layout.tstate_interp)) {
		s->unread = 1;
		return 0;
	}
	return WALK_CALL(python_search, s, 1);
}

/*
 * The address of the thread's pointer to its current thread state; 0 if it is not known. If the word that leads there
 * is not filled in yet, or was misunderstood, the result is useless but harmless: each thread state is checked to
 * belong to the thread.
 */
static __noinline __u64 python_tls_address(struct scratch *s, const struct python_process *process)
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

/* The thread state on which the thread runs now; 0 if it has released the GIL, or if one read cannot tell. */
static __always_inline __u64 python_read_current(struct scratch *s, const struct python_process *process)
{
	__u64 address = process->current_tstate, tstate = 0;

	if (process->tls_kind)
		address = python_tls_address(s, process);
	if (!address || walk_read_user(s, &tstate, 8, address) || !tstate || WALK_CALL(python_read_tstate, s, tstate))
		return 0;
	return tstate;
}

/*
 * The thread's value under Python's pthread key, or in the variable that replaces it; 0: none, and `keyless` says
 * whether that is certain.
 */
static __noinline __u64 python_key_value(struct scratch *s, const struct python_process *process)
{
	const struct py_keys *keys = &process->keys;
	__u64 at = s->python.thread_id, value = 0;
	__u32 key = 0;

	s->python.keyless = 0;
	if (process->bound_at) {
		at = python_tls_address(s, process);
		if (!at || walk_read_user(s, &value, 8, at + process->bound_at))
			return 0;
		s->python.keyless = !value && process->key_holds == RUNTIME_NOTED;
		return value;
	}
	if (!process->key || !keys->stride || walk_read_user(s, &key, sizeof(key), process->key) || key >= PY_KEYS_MAX)
		return 0;
	if (key < keys->direct) {
		at += (__s64)keys->direct_at + key * keys->stride;
	} else {
		at += (__s64)keys->blocks_at + 8 * (key >> (keys->block_shift & 31));
		if (walk_read_user(s, &value, 8, at))
			return 0;
		at = value + keys->value_at + (key & ((1u << (keys->block_shift & 31)) - 1)) * keys->stride;
		if (!value) {
			s->python.keyless = process->key_holds == RUNTIME_NOTED;
			return 0;
		}
	}
	if (walk_read_user(s, &value, 8, at))
		return 0;
	s->python.keyless = !value && process->key_holds == RUNTIME_NOTED;
	return value;
}

/* The thread state under the key, if it belongs to the thread. `known`: the one that was read last, which does. */
static __always_inline __u64 python_read_bound(struct scratch *s, const struct python_process *process, __u64 known)
{
	__u64 tstate = python_key_value(s, process);

	if (!tstate || (tstate != known && WALK_CALL(python_read_tstate, s, tstate)))
		return 0;
	s->python.noted = 1;
	return tstate;
}

/* Is a thread state's interpreter the oldest one? If `tstate` is 0: is there only one interpreter? */
static __noinline int python_is_oldest(struct scratch *s, __u64 from, __u32 field)
{
	__u64 interp = 0, next = 1;

	return !walk_read_user(s, &interp, 8, from + field) && interp &&
	       !walk_read_user(s, &next, 8, interp + s->python.layout.interp_next) && !next;
}

/* Does the process have only one interpreter? */
static __always_inline int python_is_alone(struct scratch *s, const struct python_process *process)
{
	return process->interp_head && python_is_oldest(s, process->interp_head, 0);
}

/*
 * The thread's outermost thread state, if neither the key nor the current one gives it: the one that was kept, or the
 * one in the lists. A kept one without frames may have been freed, while the thread has a new one with frames. 0: none;
 * otherwise it has been read.
 */
static __always_inline __u64 python_seek_first(struct scratch *s, const struct python_process *process, __u64 current,
					       __u64 cached)
{
	struct python_walk *walk = &s->python;
	__u64 tstate;

	if (cached && !WALK_CALL(python_read_tstate, s, cached) && (current || walk->frame))
		return cached;
	if (walk->keyless && python_is_alone(s, process))
		return 0;
	tstate = python_find_thread(s);
	walk->thread = 0;
	return tstate && !WALK_CALL(python_read_tstate, s, tstate) ? tstate : 0;
}

/*
 * Does the thread run on a thread state that holds its id, or whose _PyCFrame is on its stack? Up to 3.12 a thread
 * state may be used by another thread (abi.h), and up to 3.9 nothing in it says by which.
 */
static __always_inline int python_runs_on(struct scratch *s, __u64 tstate)
{
	const struct py_layout *layout = &s->python.layout;
	__u64 cframe = 0;

	if (layout->version >= PY_KEY_FOLLOWS)
		return 1; /* the thread's own memory said so */
	return layout->tstate_cframe != PY_NO_OFFSET &&
	       !walk_read_user(s, &cframe, 8, tstate + layout->tstate_cframe) && python_on_stack(&s->python, cframe);
}

/*
 * Finds and reads the thread's thread states. Then walk->thread is the outermost one, or 0; walk->frame is the youngest
 * frame of the innermost one; and if there are two, walk->outer is the youngest frame of the outermost one. `current`
 * and `cached` are 0 or thread states; 0, or -1 when there is none.
 */
static __always_inline int python_find_states(struct scratch *s, const struct python_process *process, __u64 current,
					      __u64 cached)
{
	struct python_walk *walk = &s->python;
	int follows = walk->layout.version >= PY_KEY_FOLLOWS;
	__u64 bound = 0, first, inner = 0;

	if (!follows || !current)
		bound = python_read_bound(s, process, current);
	if (follows && !current)
		current = bound;
	if (follows)
		bound = current && (current == cached || python_is_oldest(s, current, walk->layout.tstate_interp))
				? current
				: 0;
	walk->told = bound != 0;
	first = bound ? bound : python_seek_first(s, process, current, cached);
	if (!first || current != first) {
		if (current && python_runs_on(s, current))
			inner = current;
		else if (!python_is_alone(s, process))
			inner = python_find_inner(s, first);
	}
	if (!inner && !first)
		inner = current;
	if (first && walk->thread != first && WALK_CALL(python_read_tstate, s, first))
		return -1;
	if (inner) {
		walk->outer = first ? walk->frame : 0;
		walk->outer_base = walk->base_frame;
		walk->inner = inner;
		if (WALK_CALL(python_read_tstate, s, inner))
			return -1;
		if (walk->layout.entry == PY_ENTRY_EVERY && walk->layout.tstate_cframe == PY_NO_OFFSET)
			walk->unsure = SECOND_FRAME_UNSURE;
	}
	walk->thread = first ? first : inner;
	return walk->thread ? 0 : -1;
}

#endif

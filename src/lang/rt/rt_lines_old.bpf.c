// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * As lines_step.h, of 3.6 to 3.10, as sys.settrace's 'line' (maybe_call_line_trace() in Python/ceval.c):
 *
 *   3.10      the instruction has a line, and it is another one than that of the frame's instruction before it, or
 *             that is farther on (a jump back)
 *   up to 3.9 the instruction is the first one that the line table has for its line, or a jump back; when a generator
 *             goes on it has had no instruction before
 *
 * Which instruction a frame is at is in frame->f_lasti, which every instruction's code finds written. So it does not
 * matter if a place is hit twice for one: the second time it is the instruction that the frame is at. Only EXTENDED_ARG
 * and what it is part of are two hits of one, and JUMP_ABSOLUTE may jump to itself, which up to 3.9 is a line.
 *
 * While the interpreter itself traces lines, it calls a function of Python's in a frame whose f_lasti is that of the
 * instruction that comes next. When that function ends, the frame is at what it was at before.
 *
 * A run is what has the same line, side by side; up to 3.9 it ends also where the table says that a line begins.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"
#include "lang/rt/python.h"

#define LINES_THREADS rt_lines_old_threads
#define LINES_NONE    rt_lines_old_none

#include "lang/rt/lines.h"

#define TABLE_MAX 0x100000 /* entries that are looked at */
#define NONE      (-2) /* no instruction: before the first one */
#define PAIR      2
#define ENDLESS   0x7fffffff

/* A line table, as far as it was read. All are offsets in the bytecode. */
struct reading {
	__u64 code; /* which code object's; 0: none */
	__u64 table, size, next; /* the next entry */
	__s64 at;                /* what was passed */
	__s64 begin, run;        /* of the run that is being read: where it begins; its line, NO_LINE or NO_RUN */
	__s64 line;              /* as it runs */
	__s64 target;
	__u32 is_lnotab, pad;
	__u8 bytes[LINES_CHUNK];
};

struct thread {
	__u64 frame; /* in which it is, if that is known */
	__s64 last;  /* the frame's last instruction, or NONE */
	__s64 begin, end, line; /* the run that has it; end is 0: not looked for */
	/* A frame that a function was called in before its instruction was executed, and what was executed last. */
	__u64 traced;
	__s64 traced_last;
	__u64 raised;        /* a frame in which an exception was raised, and is not handled yet */
	__u32 is_extended;   /* the last hit was at EXTENDED_ARG */
	__u32 raised_behind; /* only if it does not go on right behind */
	struct reading reading;
};

/* The run is over, here. True: the target is in it. */
static __always_inline int close(struct reading *r, struct thread *t, __s64 end)
{
	t->line = r->run;
	t->begin = r->begin;
	t->end = end;
	r->begin = end;
	return r->run != NO_RUN && r->target < end;
}

/* The next entry. Returns 1 at the end: then the run is that of the target if t->end is behind it. */
static long turn(__u32 i, void *context)
{
	struct thread *t = ((struct place *)context)->t;
	struct reading *r = &t->reading;
	__u64 at = r->next & (LINES_CHUNK - PAIR);
	__s64 passed, line;
	int found = 0;

	if (r->next + PAIR > r->size) {
		close(r, t, r->is_lnotab ? ENDLESS : r->at);
		return 1;
	}
	if ((!i || !at) && !read_chunk(r->bytes, r->table, r->size, r->next)) {
		t->end = 0;
		return 1;
	}
	opaque(at);
	at &= LINES_CHUNK - PAIR;
	passed = r->bytes[at];
	line = (__s8)r->bytes[at + 1];
	r->next += PAIR;
	if (r->is_lnotab) {
		r->at += passed;
		if (!line)
			return 0;
		found = close(r, t, r->at);
		r->line += line;
		r->run = r->line;
		return found;
	}
	if (line != -128)
		r->line += line;
	if (!passed)
		return 0;
	line = line == -128 ? NO_LINE : r->line;
	if (line != r->run) {
		found = close(r, t, r->at);
		r->run = line;
	}
	r->at += passed;
	return found;
}

/* The run in which this instruction is. No static function: the verifier looks at it once, and not for each call. */
__noinline __u64 rt_lines_old_find(struct rt_python *p, struct thread *t, __s64 instruction)
{
	struct reading *r;
	struct place place = {.t = t};
	__u64 table;

	if (!p || !t)
		return 0;
	r = &t->reading;
	r->target = instruction;
	if (r->code != p->code || instruction < r->begin || r->run == NO_RUN) {
		table = word(p->code + p->code_linetable);
		r->code = p->code;
		r->table = table + p->bytes_data;
		r->size = word(table + p->bytes_size);
		r->next = 0;
		r->at = r->begin = 0;
		r->line = half(p->code + p->code_firstlineno);
		r->is_lnotab = p->version < 0x30a;
		r->run = r->is_lnotab ? r->line : NO_RUN;
	}
	t->end = 0;
	bpf_loop(TABLE_MAX, turn, &place, 0);
	if (instruction < t->begin || instruction >= t->end) {
		t->line = NO_LINE;
		t->begin = t->end = 0;
		r->code = 0;
	}
	return 0;
}

static __always_inline __s64 instruction_of(const struct rt_python *p, __u64 frame)
{
	__s64 at = half(frame + p->frame_lasti);

	return at < 0 ? NONE : p->version < 0x30a ? at : 2 * at;
}

/* The thread is in this frame, whose last instruction that is. */
static __always_inline void go_to(struct thread *t, __u64 frame, __s64 last)
{
	t->frame = frame;
	t->last = last;
	t->begin = t->end = 0;
	t->line = NO_LINE;
	t->is_extended = 0;
}

/* 1: it is executed again, and not only hit again. */
static __always_inline int is_again(const struct rt_python *p, const struct thread *t)
{
	return (p->site == SITE_LINE_JUMP || p->site == SITE_LINE_MORE) && !t->is_extended;
}

/*
 * 3.9: the handler of an exception begins a line, unless what raised it is the first instruction of its line, or in
 * the first line of the table. 1: with this instruction, the handler's first one.
 */
static __always_inline int is_told(struct rt_python *p, struct thread *t, __s64 at)
{
	if (t->raised_behind && at == t->last + PY_LINE_UNIT)
		return 0;
	if (t->last < 0)
		return 1;
	if (t->last < t->begin || t->last >= t->end) {
		p->code = code_of(p);
		rt_lines_old_find(p, t, t->last);
	}
	return t->begin > 0 && t->last != t->begin;
}

/* 1: a line begins with the instruction that the frame is at. */
static __always_inline int step(struct rt_python *p, struct thread *t)
{
	__s64 at = instruction_of(p, p->frame), last, before;
	int is_lnotab = p->version < 0x30a, again, is_handler = 0;

	if (t->frame != p->frame)
		go_to(t, p->frame, at - PY_LINE_UNIT);
	last = t->last;
	if (t->raised == p->frame && at != last) {
		is_handler = is_told(p, t, at);
		t->raised = 0;
	}
	if (at == last && !(is_lnotab && is_again(p, t)))
		return 0;
	if (at < t->begin || at >= t->end) {
		p->code = code_of(p);
		if (!is_lnotab && !t->end && last >= 0)
			rt_lines_old_find(p, t, last);
		before = t->line;
		if (at < t->begin || at >= t->end)
			rt_lines_old_find(p, t, at);
	} else {
		before = t->line;
	}
	t->last = at;
	again = is_handler || (last >= 0 && at < last);
	if (is_lnotab)
		return at == t->begin || again;
	return t->line >= 0 && (t->line != before || again);
}

/* RT_PYTHON_LINE: a line begins; or 0. */
__hidden __u64 rt_python_next_old(void *state, void *site)
{
	struct rt_python *p = state;
	struct thread *t;
	__u64 frame;
	int found;

	begin_site(p, site);
	t = thread_of(p);
	if (!t)
		return 0;
	if (p->site == SITE_RAISE) {
		t->raised = p->frame;
		t->raised_behind = 0;
		return 0;
	}
	if (p->site == SITE_CALL) {
		if (t->raised == p->frame)
			t->raised = 0;
		frame = word(p->frame + p->frame_back);
		if (frame && frame == t->frame && instruction_of(p, frame) != t->last) {
			t->traced = frame;
			t->traced_last = t->last;
		}
		go_to(t, p->frame, p->version < 0x30a ? NONE : instruction_of(p, p->frame));
		return 0;
	}
	if (p->site == SITE_LEAVE) {
		frame = word(p->frame + p->frame_back);
		go_to(t, frame, frame ? instruction_of(p, frame) : NONE);
		if (frame && frame == t->traced) {
			t->last = t->traced_last;
			t->traced = 0;
		}
		return 0;
	}
	found = step(p, t);
	t->is_extended = p->site == SITE_LINE_MORE;
	if (p->site == SITE_LINE_RAISE || p->site == SITE_LINE_MAY_RAISE) {
		t->raised = p->frame;
		t->raised_behind = p->site == SITE_LINE_MAY_RAISE;
	}
	if (!found)
		return 0;
	/* Within a run it was not read. */
	p->code = code_of(p);
	p->position = (__u64)(__s64)half(p->frame + p->frame_lasti);
	p->kind = RT_PYTHON_LINE;
	p->line.line = t->line;
	return RT_PYTHON_LINE;
}

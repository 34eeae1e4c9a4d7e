/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines_step: lines of Python 3.11 and later (python:line without a marker): a hit at each instruction of Python's. Is
 * it the first one of a line? BPF only: step_line(), for rt_lines.bpf.c, and with MARKS for rt_lines_312.bpf.c.
 *
 * 3.12 to 3.15, as sys.monitoring's LINE (_Py_call_instrumentation_line() in Python/instrumentation.c): if it has a
 * line, and another one than the instruction of the frame before it, or if that is the RESUME by which the function
 * begins. The instructions that end a loop or an `await` begin no line, nor do those before RESUME.
 *
 * 3.12: when a function returns that it called without C, what was before is in the cache of the call, which has no
 * line. So the instruction begins the line again, if it is one that a jump or an exception goes to (python_marks.h).
 *
 * 3.11, as sys.settrace's 'line' (maybe_call_line_trace() in Python/ceval.c): if it has a line, and another one than
 * the frame's instruction before it, or that is farther on (a jump back). It joins two instructions, of which each may
 * begin a line, into one, as 3.12 does. There the program runs twice at a hit: then for the second instruction.
 *
 * A run is what lies side by side in the line table and has the same line, or none. Of each thread it is kept in which
 * frame it is, and in which run. Within the run nothing has to be read. Behind it the table is read on from there,
 * before it from its beginning. When a frame ends, the one below it has the instruction that called; so has a frame to
 * which an exception comes. A frame that nothing is known of (probes came while it ran, a greenlet was switched to) was
 * at the instruction before.
 */
#ifndef STRATA_LANG_RT_LINES_STEP_H
#define STRATA_LANG_RT_LINES_STEP_H

#include "lang/rt/lines.h"
#ifdef MARKS
#include "lang/rt/python_marks.h"
#endif

#define TABLE_MAX  0x100000 /* bytes that are looked at */
#define KIND_NONE  15 /* of an entry: it has no line */
#define KIND_SHIFT 3

extern __hidden __u64 rt_count(__u64 which);

/* A line table, as far as it was read. All are offsets in the bytecode. */
struct reading {
	__u64 code; /* which code object's; 0: none */
	__u64 table, size, next; /* the next byte */
	__u64 entry;             /* where the entry begins that is being read */
	__u64 begin;             /* where the run begins that is being read */
	__s64 run;               /* its line, NO_LINE or NO_RUN */
	__u64 target;
	struct py_line line;
	__u32 is_open, has_none; /* an entry is being read; it has no line */
	__u8 bytes[LINES_CHUNK];
};

struct thread {
	__u64 frame; /* in which it is, if that is known */
	__u64 last;  /* where the frame's last instruction is; 0: the run is known */
	__u64 ended; /* a frame that has ended, from which a function that traces may still be called */
	__u64 begin, end; /* of the run, as addresses */
	__s64 line;       /* of the run, or NO_LINE */
	struct reading reading;
#ifdef MARKS
	__u64 returned; /* where the frame was when a function that it called without C was over; else 0 */
	struct mark_scan scan;
#else
	__u64 at; /* of 3.11: where its last instruction is */
#endif
};

/* The entry that was read is over. True: it is not of the run in which the target is; that ends before it. */
static __always_inline int close(struct reading *r, struct thread *t)
{
	__s64 line = r->has_none ? NO_LINE : r->line.line;
	int found;

	r->is_open = 0;
	if (line == r->run)
		return 0;
	found = r->entry > r->target && r->run != NO_RUN;
	t->line = r->run;
	t->begin = r->begin;
	t->end = r->entry;
	r->run = line;
	r->begin = r->entry;
	return found;
}

/* Returns 1 at the end: then the run is that of the target if t->end is behind it. */
static long turn(__u32 i, void *context)
{
	struct thread *t = ((struct place *)context)->t;
	struct reading *r = &t->reading;
	__u64 at = r->next & (LINES_CHUNK - 1);
	__u8 byte;

	if (r->next >= r->size) {
		/* The last run ends with the table. */
		if (r->is_open && close(r, t))
			return 1;
		t->line = r->run;
		t->begin = r->begin;
		t->end = r->line.end;
		return 1;
	}
	if ((!i || !at) && !read_chunk(r->bytes, r->table, r->size, r->next)) {
		t->end = 0;
		return 1;
	}
	opaque(at);
	byte = r->bytes[at & (LINES_CHUNK - 1)];
	if (byte & PY_LINE_ENTRY) {
		if (r->is_open && close(r, t))
			return 1;
		r->entry = r->line.end;
		r->is_open = 1;
		r->has_none = (byte >> KIND_SHIFT & 0xf) == KIND_NONE;
	}
	r->next++;
	if (py_line_step(&r->line, ~0ull, byte)) {
		/* The table is damaged. */
		t->end = 0;
		return 1;
	}
	return 0;
}

/*
 * The run in which the instruction at this address is: line, begin and end; without one there it is empty. No static
 * function, so that the verifier looks at it once, and not for each call; FIND_RUN is its name in the program.
 */
__noinline __u64 FIND_RUN(struct rt_python *p, struct thread *t, __u64 address)
{
	struct place place = {.t = t};
	__u64 base, table;
	struct reading *r;

	if (!p || !t)
		return 0;
	base = bytecode_of(p);
	r = &t->reading;
	r->target = address - base;
	if (r->code != p->code || r->target < r->begin || r->run == NO_RUN) {
		table = word(p->code + p->code_linetable);
		r->code = p->code;
		r->table = table + p->bytes_data;
		r->size = word(table + p->bytes_size);
		r->next = r->entry = r->begin = 0;
		r->run = NO_RUN;
		r->is_open = r->has_none = 0;
		py_line_begin(&r->line, (__u16)p->version, half(p->code + p->code_firstlineno));
	}
	t->end = 0;
	bpf_loop(TABLE_MAX, turn, &place, 0);
	if (r->target < t->begin || r->target >= t->end) {
		t->line = NO_LINE;
		t->begin = t->end = 0;
		r->code = 0;
		return 0;
	}
	t->begin += base;
	t->end += base;
	return 0;
}

/* The frame's last instruction is there. `returned`: so it was when a function was over; else 0. */
static __always_inline void note_instruction(struct thread *t, __u64 address, __u64 returned)
{
#ifdef MARKS
	t->returned = returned;
#else
	t->at = address;
#endif
}

static __always_inline __u64 returned_of(const struct thread *t)
{
#ifdef MARKS
	return t->returned;
#else
	return 0;
#endif
}

/* The thread is in this frame, whose last instruction that is. */
static __always_inline void go_to(struct thread *t, __u64 frame, __u64 last)
{
	t->frame = frame;
	t->last = last;
	t->begin = t->end = 0;
	t->line = NO_LINE;
	note_instruction(t, last, 0);
}

/* The function's frame below this one; 0: there is none. */
static __always_inline __u64 below(const struct rt_python *p, __u64 frame)
{
	frame = word(frame + p->frame_back);
	if (frame && p->frame_owner != NO_OFFSET && (__u8)half(frame + p->frame_owner) == p->shim_owner)
		frame = word(frame + p->frame_back);
	return frame;
}

/* 3.12, in a frame, behind prev_instr: return_offset, how much farther it goes on after a return. */
#define RETURN_BEHIND 12

static __always_inline void leave(const struct rt_python *p, struct thread *t)
{
	__u64 frame = below(p, p->frame);

	if (frame && frame == t->ended)
		frame = below(p, frame);
	t->ended = p->frame;
	go_to(t, frame, frame ? word(frame + p->frame_lasti) : 0);
#ifdef MARKS
	/* Called by C. */
	if (!frame || frame != word(p->frame + p->frame_back))
		return;
	if (p->site == SITE_LINE_END)
		t->last += (__u16)half(frame + p->frame_lasti + RETURN_BEHIND) * PY_LINE_UNIT;
	note_instruction(t, t->last, t->last);
#endif
}

static __always_inline int is_right(struct rt_python *p)
{
	__u32 right = 0, i;
	__u8 opcode = 0;

	if (bpf_probe_read_user(&opcode, sizeof(opcode), (void *)p->instruction))
		return 0;
#ifdef MARKS
	/* While lines are traced by the interpreter, too, others stand there. In 3.12 it is known in place of which. */
	if (opcode != (__u8)p->opcodes) {
		__u64 base;

		p->code = code_of(p);
		base = bytecode_of(p);
		opcode = mark_original(word(base - CODE_MONITORING_BEFORE), p->instruction - base, opcode);
	}
#endif
	for (i = 0; i < 8 && !right; i++)
		right = opcode == (__u8)(p->opcodes >> 8 * i);
	return (int)right;
}

/*
 * The last instruction of the frame as what comes next is compared with. RESUME begins no line and has none: what is
 * behind the first one begins one, and what is behind a yield's is compared with the yield, right before it.
 */
static __always_inline __u64 before_resume(const struct rt_python *p, __u64 last)
{
	__u8 bytes[2] = {0, 0};
	__u32 i, found = 0;

	if (bpf_probe_read_user(bytes, sizeof(bytes), (void *)last))
		return 0;
	for (i = 0; i < 4; i++)
		found |= bytes[0] == (__u8)(p->begins >> 8 * i);
	if (p->version == 0x30b && bytes[1] & 3)
		return last;
	return !found ? last : bytes[1] & 3 ? last - PY_LINE_UNIT : 0;
}

static __always_inline int is_begin(const struct rt_python *p)
{
	__u32 i, found = 0;
	__u8 opcode = 0;

	bpf_probe_read_user(&opcode, sizeof(opcode), (void *)p->instruction);
	for (i = 0; i < 4; i++)
		found |= opcode == (__u8)(p->begins >> 8 * i);
	return (int)found;
}

enum { RETURN_GENERATOR_311 = 75, MAKE_CELL_311 = 135, COPY_FREE_VARS_311 = 149 };

/* 3.11, at DO_TRACING: does the frame still say what was executed before? Then the thread is in it. */
static __always_inline int has_begun(struct rt_python *p, struct thread *t)
{
	__u64 last = word(p->frame + p->frame_lasti);
	__u8 opcode = 0;

	p->code = code_of(p);
	if (last == p->instruction || last < bytecode_of(p) ||
	    bpf_probe_read_user(&opcode, sizeof(opcode), (void *)last) || opcode == RETURN_GENERATOR_311 ||
	    opcode == MAKE_CELL_311 || opcode == COPY_FREE_VARS_311)
		return 0;
	go_to(t, p->frame, last);
	return 1;
}

/* A RESUME of this operand, of 3.15's generator expressions, is before what makes the generator, and not its own. */
#define RESUME_MAKES 4

static __always_inline void begin(const struct rt_python *p, struct thread *t)
{
	__u8 bytes[2] = {0, 0};

	if (t->ended == p->frame)
		t->ended = 0;
	go_to(t, p->frame, p->instruction);
	if (p->version < 0x30f)
		return;
	bpf_probe_read_user(bytes, sizeof(bytes), (void *)p->instruction);
	if ((bytes[1] & 7) != RESUME_MAKES)
		return;
	/* Up to RETURN_GENERATOR there are no lines. */
	t->last = 0;
	t->end = ~0ull;
}

#define SEND_311 123

/* 3.11: is it a jump back, but not one to wait for what a generator waits for? */
static __always_inline int is_back(const struct rt_python *p, const struct thread *t)
{
#ifndef MARKS
	__u8 opcode = 0;

	if (p->version == 0x30b && p->instruction < t->at)
		return !bpf_probe_read_user(&opcode, sizeof(opcode), (void *)p->instruction) && opcode != SEND_311;
#endif
	return 0;
}

/* 3.12: a jump or an exception goes to the instruction, and what was before it is part of a call. */
static __always_inline int is_marked(const struct rt_python *p, struct thread *t, __u64 returned)
{
#ifdef MARKS
	return returned && is_marked_behind_call(p, &t->scan, returned);
#else
	return 0;
#endif
}

/* 1: a line begins with the instruction. */
static __always_inline int step(struct rt_python *p, struct thread *t)
{
	__u64 returned;
	__s64 before;
	int back;

	if (t->frame != p->frame)
		go_to(t, p->frame, p->instruction - PY_LINE_UNIT);
	returned = returned_of(t);
	back = is_back(p, t);
	note_instruction(t, p->instruction, 0);
	if (p->instruction >= t->begin && p->instruction < t->end)
		return back && t->line >= 0;
	p->code = code_of(p);
	if (t->last && !returned)
		t->last = before_resume(p, t->last);
	if (t->last) {
		FIND_RUN(p, t, t->last);
		t->last = 0;
	}
	before = t->line;
	if (p->instruction < t->begin || p->instruction >= t->end)
		FIND_RUN(p, t, p->instruction);
	else if (!returned)
		return back && t->line >= 0;
	if (t->line < 0 || t->line != before || back)
		return t->line >= 0;
	return is_marked(p, t, returned);
}

/* RT_PYTHON_LINE: a line begins; or 0. */
static __always_inline __u64 step_line(struct rt_python *p, const struct rt_python_site *site)
{
	struct thread *t;
	int found = 0;

	begin_site(p, site);
	p->instruction = site_word(p, site->instruction, site->instruction_add);
	p->flag = site_word(p, site->flag, site->flag_add);
	if (p->flags & RT_PYTHON_INSTRUCTION_MEMORY)
		p->instruction = word(p->instruction);
	if (p->flags & RT_PYTHON_INSTRUCTION_OF_FRAME)
		p->instruction += word(p->frame + p->frame_lasti);
	if (p->flags & RT_PYTHON_FLAG_MEMORY)
		p->flag = word(p->flag);
	if (p->site == SITE_JIT) {
		rt_count(RT_COUNTER_PYTHON_JIT);
		return 0;
	}
	if ((p->flags & RT_PYTHON_CHECK) && !is_right(p))
		return 0;
	/* The opcode was that of both, before it. */
	if (p->site == SITE_LINE_JOINED)
		p->instruction += PY_LINE_UNIT;
	t = thread_of(p);
	if (!t)
		return 0;
	switch (p->site) {
	case SITE_LINE_TRACED:
		/* What is before RESUME, and that, are none. */
		if (is_begin(p) || (t->frame != p->frame && !has_begun(p, t)))
			return 0;
		break;
	case SITE_LINE_BEGIN:
		begin(p, t);
		return 0;
	case SITE_LINE_HEAD:
		return 0;
	case SITE_LINE_MADE:
		leave(p, t);
		return 0;
	case SITE_UNWIND:
		leave(p, t);
		return 0;
	case SITE_THROW:
		if (!(__u32)p->flag)
			return 0;
		/* What it was at is a RESUME; in 3.11 what is before that. */
		if (t->ended == p->frame)
			t->ended = 0;
		go_to(t, p->frame, p->version < 0x30d ? word(p->frame + p->frame_lasti) : 0);
		return 0;
	case SITE_RAISE:
		if (t->frame != p->frame)
			go_to(t, p->frame, word(p->frame + p->frame_lasti));
		return 0;
	case SITE_LINE_POP:
		/* The first one of a generator. */
		if (t->frame != p->frame)
			return 0;
		break;
	default:
		break;
	}
	found = step(p, t) && p->site != SITE_LINE_PART;
	if (found) {
		/* Within a run it was not read. */
		if (p->version == 0x30b)
			p->code = code_of(p);
		p->position = p->instruction;
		p->kind = RT_PYTHON_LINE;
		p->line.line = t->line;
	}
	if (p->site == SITE_LINE_END || p->site == SITE_LINE_YIELD)
		leave(p, t);
	return found ? RT_PYTHON_LINE : 0;
}

#endif

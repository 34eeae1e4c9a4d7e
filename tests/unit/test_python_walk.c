// SPDX-License-Identifier: GPL-2.0-or-later
/* The Python walker (src/runtime/python/bpf/walk.h, code.h), compiled for the host, on interpreters of every layout
 * made by hand. */
#include "fake_python.h"
#include "tap.h"

static const struct second_frame *frames_of(const struct fake_python *fake)
{
	return fake->s->second_stack.frames;
}

/* The walk could not read what it needed, or, where that may be a loop that is not linked yet, is in doubt. */
static bool unreadable(const struct fake_python *fake)
{
	return fake->s->python.loss == LOSS_SECOND_READ ||
	       (fake->layout.cframe_current != PY_NO_OFFSET && fake->s->python.doubt);
}

static const char *text_of(const struct fake_python *fake, int slot)
{
	static char text[CODE_STRING_MAX + 1];
	const struct code_event *event = &fake->s->code.header;
	const struct code_string *string = slot == 0 ? &event->name : slot == 1 ? &event->qualname : &event->filename;

	memcpy(text, event->text + string->at, string->bytes);
	text[string->bytes] = '\0';
	return text;
}

/*
 * Five frames in two runs of the interpreter loop, (f0 f1) (f2 f3 f4), youngest first; f3 is a generator's, whose frame
 * lies on the heap. Where the version has shims, they lie on the C stack.
 */
static void test_layout(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	bool pointer = layout->lasti == PY_LASTI_POINTER, shims = layout->entry == PY_ENTRY_SHIM, right = true;
	__u64 at[5], code[5], shim[2] = {FAKE_C_STACK + 0x1000, FAKE_C_STACK + 0x9000}, tstate;
	__u32 text_bytes;
	int i;

	for (i = 0; i < 5; i++) {
		at[i] = pointer && i != 3 ? FAKE_DATA_STACK + 0x1800 - 0x78ull * i : fake_alloc(fake, 0x200);
		code[i] = fake_code(fake, i == 2 ? "two" : "other", 10 + i, 100 + i);
	}
	for (i = 0; i < 5; i++) {
		bool entry = layout->entry == PY_ENTRY_EVERY || i == 1 || i == 4;
		__u64 back = i < 4 ? at[i + 1] : fake_base(fake);

		if (entry && shims) {
			fake_shim(fake, shim[i == 4], back);
			back = shim[i == 4];
		}
		fake_frame(fake, at[i], code[i], back, i == 0 ? -2 : 20 * i, entry);
	}
	tstate = fake_running(fake, at[0]);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.loss, LOSS_NONE, "%s: complete", name);
	is_int(fake->s->python.count, 5, "%s: five frames", name);
	is_int(fake->s->python.thread, tstate, "%s: the thread state", name);
	for (i = 0; i < 5; i++) {
		bool entry = layout->entry == PY_ENTRY_EVERY || i == 1 || i == 4;
		int lasti = i == 0 ? (layout->lasti == PY_LASTI_UNITS ? -4 : -2) : 20 * i;

		right &= frames_of(fake)[i].flags == (entry ? SECOND_FRAME_ENTRY : 0u);
		right &= frames_of(fake)[i].position == lasti;
		right &= frames_of(fake)[i].code && frames_of(fake)[i].code == fake->sent[i];
	}
	ok(right, "%s: their codes, instructions and entries", name);
	is_int(fake->sent_count, 5, "%s: each code object was sent once", name);
	ok(fake->s->code.header.firstlineno == 14 && fake->s->code.header.version == layout->version &&
		   fake->s->code.header.tgid == 4711 && fake->s->code.header.address == code[4],
	   "%s: the facts of a code object", name);
	is_str(text_of(fake, 0), "other", "%s: its name", name);
	is_str(text_of(fake, 1), layout->code_qualname == PY_NO_OFFSET ? "" : "other", "%s: its qualified name", name);
	is_str(text_of(fake, 2), "/usr/lib/fake.py", "%s: its file", name);
	text_bytes = fake->s->code.header.text_bytes;
	ok(fake->s->code.header.table_size == 5 && !memcmp(fake->s->code.header.text + text_bytes, "other", 5),
	   "%s: its lines", name);
	is_int(text_bytes, layout->code_qualname == PY_NO_OFFSET ? 24 : 32, "%s: no more bytes than that", name);
	fake_python_walk(fake, tstate);
	ok(fake->sent_count == 5 && fake->s->python.count == 5, "%s: and no second time", name);
	fake_python_destroy(fake);
}

/*
 * A thread state that runs nothing: it has no frame, or only its base frame. What a sample kept of it does not hide
 * the thread's new one, which took its place in the list.
 */
static void test_no_frames(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 at = fake_alloc(fake, 512), interp = fake_interpreter(fake), old, newer;

	old = fake_tstate(fake, interp, FAKE_THREAD, 0);
	fake_python_walk(fake, 0);
	ok(fake->s->python.thread == old && !fake->s->python.count && !fake->s->python.loss,
	   "%s: a thread state without frames", name);
	fake_frame(fake, at, fake_code(fake, "f", 1, 1), fake_root(fake), 2, true);
	fake_put64(&fake->memory, interp + layout->interp_threads, 0);
	newer = fake_tstate(fake, interp, FAKE_THREAD, at);
	fake_python_walk(fake, old);
	ok(fake->s->python.thread == newer && fake->s->python.count == 1 &&
		   frames_of(fake)[0].flags == SECOND_FRAME_ENTRY && !fake->s->python.loss,
	   "%s: and the one that came after it", name);
	fake_python_destroy(fake);
}

/* Free-threaded 3.14 and later: the instruction pointer may point into the thread's own copy of the bytecode. */
static void test_own_bytecode(const struct py_layout *layout)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 code = fake_code(fake, "f", 1, 1), copies = fake_alloc(fake, 64), at = FAKE_DATA_STACK;

	fake_put64(&fake->memory, code + fake->layout.code_tlbc, copies);
	fake_put64(&fake->memory, copies, 3);
	fake_put64(&fake->memory, copies + 8 + 16, 0x30000000);
	fake_frame(fake, at, code, fake_root(fake), 0, true);
	fake_put(&fake->memory, at + fake->layout.frame_tlbc_index, 2, 4);
	fake_put64(&fake->memory, at + fake->layout.frame_lasti, 0x30000000 + 24);
	fake_running(fake, at);
	fake_python_walk(fake, 0);
	is_int(frames_of(fake)[0].position, 24, "an instruction of the thread's own bytecode");
	fake_put64(&fake->memory, code + fake->layout.code_tlbc, 0xdead0000);
	fake_put64(&fake->memory, at + fake->layout.frame_lasti, code + fake->layout.code_bytecode + 6);
	fake_python_walk(fake, 0);
	is_int(frames_of(fake)[0].position, 6, "which cannot be read");
	fake_python_destroy(fake);
}

static void test_threads(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030c));
	__u64 code = fake_code(fake, "f", 1, 1), interp[3], tstate[3][4], other;
	__u32 reads;
	int i, k;

	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	for (i = 0; i < 3; i++) {
		interp[i] = fake_interpreter(fake);
		for (k = 0; k < 4; k++)
			tstate[i][k] = fake_tstate(fake, interp[i], 1000 + 10 * i + k, 0);
	}
	fake_python_walk(fake, 0);
	ok(!fake->s->python.thread && !fake->s->python.count, "a thread without a thread state");
	for (i = 0; i < 3; i++) {
		for (k = 0; k < 4; k++) {
			__u64 id = tstate[i][k] + fake->layout.tstate_thread_id;

			fake_put64(&fake->memory, id, FAKE_THREAD);
			fake_set_frame(fake, tstate[i][k], FAKE_DATA_STACK);
			fake_python_walk(fake, 0);
			ok(fake->s->python.thread == tstate[i][k] && fake->s->python.count == 1,
			   "interpreter %d, thread state %d", i, k);
			fake_put64(&fake->memory, id, 1000 + 10 * i + k);
		}
	}
	fake_put64(&fake->memory, tstate[1][1] + fake->layout.tstate_thread_id, FAKE_THREAD);
	fake_python_walk(fake, 0);
	reads = fake->memory.reads;
	fake_python_walk(fake, tstate[1][1]);
	ok(fake->s->python.thread == tstate[1][1] && fake->memory.reads + 2 * 12 <= reads, "the cached thread state");
	fake_python_walk(fake, tstate[0][1]);
	is_int(fake->s->python.thread, tstate[1][1], "a cached one that is another thread's now");
	fake_python_walk(fake, 0xdead0000);
	is_int(fake->s->python.thread, tstate[1][1], "a cached one that is gone");
	other = fake_alloc(fake, 512);
	fake_put64(&fake->memory, other + fake->layout.tstate_thread_id, FAKE_THREAD);
	fake_put64(&fake->memory, other + fake->layout.tstate_frame, 0xdead0000);
	fake_python_walk(fake, other);
	is_int(fake->s->python.thread, tstate[1][1], "one whose _PyCFrame is gone");
	/* Freed, with the thread's id still in it, and without frames: PyGILState_Release and Ensure in a thread of C.
	 */
	other = fake_alloc(fake, 512);
	fake_put64(&fake->memory, other + fake->layout.tstate_thread_id, FAKE_THREAD);
	fake_python_walk(fake, other);
	ok(fake->s->python.thread == tstate[1][1] && fake->s->python.count == 1,
	   "a cached one that was freed does not hide the new one");
	fake_set_frame(fake, tstate[1][1], 0);
	fake_python_walk(fake, tstate[1][1]);
	ok(fake->s->python.thread == tstate[1][1] && !fake->s->python.count && fake->s->python.loss == LOSS_NONE,
	   "a thread that runs no Python now");
	fake_put64(&fake->memory, interp[0] + fake->layout.interp_next, interp[2]);
	fake_put64(&fake->memory, tstate[1][1] + fake->layout.tstate_thread_id, 5);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, 0, "a ring of interpreters ends");
	fake_put64(&fake->memory, tstate[2][0] + fake->layout.tstate_next, 0xdead0000);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, 0, "an unreadable thread state ends the search");
	fake_put64(&fake->memory, fake->head, 0xdead0000);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, 0, "an unreadable interpreter, too");
	fake->process.interp_head = 0xdead0000;
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, 0, "no interpreter list");
	fake_python_destroy(fake);

	fake = fake_python_create(fake_layout(0x0306));
	other = fake_tstate(fake, fake_interpreter(fake), 1, 0);
	fake_frame(fake, fake_alloc(fake, 512), fake_code(fake, "f", 1, 1), 0, 2, true);
	fake->process = (struct python_process){.current_tstate = FAKE_HEAP + 0x1000};
	fake->heap = FAKE_HEAP + 0x10000;
	fake_put64(&fake->memory, FAKE_HEAP + 0x1000, other);
	fake_put64(&fake->memory, other + fake->layout.tstate_thread_id, FAKE_THREAD);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, other, "3.6 without a list: through the current thread state");
	fake_put64(&fake->memory, FAKE_HEAP + 0x1000, 0);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.thread, 0, "which is NULL while the GIL is free");
	fake_python_destroy(fake);
}

/* Structures at the very edge of what can be read. */
static void test_edges(const struct py_layout *layout, const char *name)
{
	const __u64 page = 0x50000000;
	struct fake_python *fake = fake_python_create(layout);
	__u64 interp = fake_interpreter(fake), code = fake_code(fake, "f", 1, 1), tstate, at;
	bool doubtful = layout->cframe_current != PY_NO_OFFSET && layout->entry == PY_ENTRY_SHIM;
	__u32 size = 0, i;
	const __u32 ends[] = {layout->frame_code + 8u, layout->frame_back + 8u, layout->frame_lasti + 8u,
			      layout->entry == PY_ENTRY_EVERY ? 0 : layout->frame_entry + 1u,
			      layout->frame_tlbc_index == PY_NO_OFFSET ? 0 : layout->frame_tlbc_index + 4u};

	for (i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		size = ends[i] > size ? ends[i] : size;
	size = (size + 7) & ~7u;
	fake_map(&fake->memory, page, 0x1000);
	fake_frame(fake, page, code, fake_root(fake), 2, true);
	tstate = fake_tstate(fake, interp, FAKE_THREAD, page);
	fake_python_walk(fake, tstate);
	ok(fake->s->python.loss == LOSS_NONE && fake->s->python.count == 1, "%s: a frame at the start of memory", name);
	is_int(fake->memory.failed, 0, "%s: nothing below it is tried", name);
	at = page + 0x1000 - size;
	fake_frame(fake, at, code, page, 2, layout->entry != PY_ENTRY_FLAG);
	fake_set_frame(fake, tstate, at);
	fake_python_walk(fake, tstate);
	ok(fake->s->python.loss == LOSS_NONE && fake->s->python.count == 2, "%s: a small frame at its end", name);
	fake_frame(fake, at, code, 0xdead0000, 2, true);
	fake_set_frame(fake, tstate, at);
	fake_python_walk(fake, tstate);
	is_int(fake->s->python.count, doubtful ? 0 : 1, "%s: an older frame that is gone", name);
	ok(unreadable(fake), "%s: and is not passed over in silence", name);
	fake_set_frame(fake, tstate, at + 4);
	fake_python_walk(fake, tstate);
	is_int(fake->s->python.count, 0, "%s: a frame at an odd address", name);
	is_int(fake->s->python.loss, layout->cframe_current == PY_NO_OFFSET ? LOSS_SECOND_READ : LOSS_NONE,
	       "%s: which only a loop that is not linked can have", name);
	fake_set_frame(fake, tstate, page);

	/* A thread state is shorter than what a page may hold. */
	size = (layout->tstate_frame > layout->tstate_thread_id ? layout->tstate_frame : layout->tstate_thread_id) + 8u;
	if (layout->tstate_stack_top != PY_NO_OFFSET)
		size = layout->tstate_stack_top + 16u;
	memcpy(fake_bytes(&fake->memory, page + 0x1000 - size, size), fake_bytes(&fake->memory, tstate, size), size);
	fake_put64(&fake->memory, interp + layout->interp_threads, page + 0x1000 - size);
	fake_python_walk(fake, 0);
	ok(fake->s->python.thread == page + 0x1000 - size && fake->s->python.count == 1,
	   "%s: a thread state at the end of memory", name);
	fake_python_destroy(fake);
}

static void finds_none(struct fake_python *fake, const char *what)
{
	fake_python_walk(fake, 0);
	ok(!fake->s->python.thread && fake->memory.reads < 40, "3.%d: %s, %" PRIu64 " reads",
	   fake->layout.version & 0xff, what, fake->memory.reads);
}

/* Chains that come back to where they were. With a _PyCFrame they may be of the past, and others are looked for. */
static void test_loops(int version, __u32 loss)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	__u64 code = fake_code(fake, "f", 1, 1), a = FAKE_DATA_STACK + 0x1000, b = a + 0x100, tstate, interp, round[5];
	int i, v = version & 0xff;

	tstate = fake_running(fake, a);
	fake_frame(fake, a, code, a, 0, false);
	fake_python_walk(fake, tstate);
	is_int(fake->s->python.loss, loss, "3.%d: a frame that is its own caller", v);
	fake_frame(fake, a, code, b, 0, false);
	fake_frame(fake, b, code, a, 0, false);
	fake_python_walk(fake, tstate);
	is_int(fake->s->python.loss, loss, "3.%d: two that call each other", v);
	ok(fake->memory.reads < 40, "3.%d: are read %" PRIu64 " times", v, fake->memory.reads);
	fake_shim(fake, a, b);
	fake_shim(fake, b, a);
	fake_set_frame(fake, tstate, a);
	fake_python_walk(fake, tstate);
	ok(fake->s->python.loss == LOSS_NO_PROGRESS && fake->s->python.count < 8,
	   "3.%d: two shims: loops without frames", v);
	for (i = 0; i < 5; i++)
		round[i] = FAKE_DATA_STACK + 0x100ull * (__u64)i;
	for (i = 0; i < 5; i++)
		fake_frame(fake, round[i], code, round[(i + 1) % 5], 0, false);
	fake_frame(fake, a, code, round[0], 0, false);
	fake_frame(fake, b, code, a, 0, false);
	fake_set_frame(fake, tstate, b);
	fake_python_walk(fake, tstate);
	ok(fake->s->python.loss == loss && fake->s->python.count < 20, "3.%d: two that lead to five", v);

	/* Of thread states, none of them this thread's, and of interpreters without any. */
	interp = fake_get64(fake, tstate + fake->layout.tstate_interp);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_thread_id, 1);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_next, tstate);
	finds_none(fake, "a thread state that is its own next");
	fake_put64(&fake->memory, interp + fake->layout.interp_threads, 0);
	fake_put64(&fake->memory, interp + fake->layout.interp_next, interp);
	finds_none(fake, "an interpreter that is its own next");
	fake_python_destroy(fake);
}

/* Loops that have no frame yet, or none any more: at the youngest end, in the middle, at the oldest. */
static void test_empty_loops(int version)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	const __u32 empty = SECOND_FRAME_ENTRY | SECOND_FRAME_EMPTY,
		    flags[] = {empty, 0, SECOND_FRAME_ENTRY, empty, SECOND_FRAME_ENTRY, empty};
	__u64 code = fake_code(fake, "f", 1, 1), shims = FAKE_C_STACK + 0x1000, frames = FAKE_DATA_STACK, hash;
	int i, wrong = 0;

	fake_shim(fake, shims + 0x800, fake_base(fake));
	fake_shim(fake, shims + 0x600, shims + 0x800);
	fake_frame(fake, frames, code, shims + 0x600, 2, true);
	fake_shim(fake, shims + 0x400, frames);
	fake_shim(fake, shims + 0x200, shims + 0x400);
	fake_frame(fake, frames + 0x100, code, shims + 0x200, 4, true);
	fake_frame(fake, frames + 0x200, code, frames + 0x100, 6, false);
	fake_shim(fake, shims, frames + 0x200);
	fake_running(fake, shims);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, 6, "3.%d: three frames, three loops without", version & 0xff);
	for (i = 0; i < 6; i++) {
		wrong += frames_of(fake)[i].flags != flags[i];
		wrong += !frames_of(fake)[i].code != (flags[i] == empty);
	}
	is_int(wrong, 0, "3.%d: in their places", version & 0xff);
	hash = fake->s->python.hash;
	fake_set_frame(fake, fake->s->python.thread, frames + 0x200);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 5 && fake->s->python.hash != hash, "3.%d: which make another stack",
	   version & 0xff);
	fake_python_destroy(fake);
}

static void fake_data_stack(struct fake_python *fake, __u64 tstate, __u64 chunk, __u64 top, __u64 limit)
{
	__u64 at = tstate + fake->layout.tstate_stack_top;

	fake_put64(&fake->memory, at - 8, chunk);
	fake_put64(&fake->memory, at, top);
	fake_put64(&fake->memory, at + 8, limit);
}

/* 3.11 and 3.12: the newest _PyCFrame before its current_frame is set, and with what was left there. */
static void test_unlinked(int version)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	bool shims = fake->layout.entry == PY_ENTRY_SHIM;
	__u64 code = fake_code(fake, "f", 1, 1), root = fake_root(fake), at = FAKE_DATA_STACK + 0x40, past, tstate,
	      shim, chunk, older;
	int v = version & 0xff;

	fake_frame(fake, at, code, root, 2, true);
	fake_frame(fake, at + 0x100, code, at, 4, false);
	tstate = fake_running(fake, at + 0x100);
	older = fake_get64(fake, tstate + fake->layout.tstate_frame);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, fake_cframe(fake, 0xdead0000, older));
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 2 && fake->s->python.loss == LOSS_NONE && fake->s->python.doubt,
	   "3.%d: nonsense is left there", v);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, fake_cframe(fake, 0, older));
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_NONE && fake->s->python.count == 2 && !fake->s->python.doubt,
	   "3.%d: nothing is left there", v);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame,
		   fake_cframe(fake, at + 0x700, fake_cframe(fake, at + 0x800, 0)));
	fake_frame(fake, at + 0x700, code, at, 8, false);
	fake_frame(fake, at + 0x800, code, 0, 8, false);
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_SECOND_UNLINKED && !fake->s->python.count, "3.%d: nor is the one below said",
	   v);

	/* A frame of a call that is over: complete, but somebody else called it. */
	past = at + 0x400;
	shim = FAKE_C_STACK + 0x2000;
	if (shims)
		fake_shim(fake, shim, at);
	fake_frame(fake, past, code, shims ? shim : at, 6, true);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, fake_cframe(fake, past, older));
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 2 && fake->s->python.loss == LOSS_NONE && frames_of(fake)[0].position == 4,
	   "3.%d: a frame of the past that another one called", v);

	/* Called by the same frame, but popped. */
	if (shims)
		fake_shim(fake, shim, at + 0x100);
	fake_frame(fake, past, code, shims ? shim : at + 0x100, 6, true);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && frames_of(fake)[0].position == 6, "3.%d: one of the present", v);
	chunk = at - 0x40;
	fake_put64(&fake->memory, chunk + 8, past + 0x1000 - chunk);
	fake_data_stack(fake, tstate, chunk, past, past + 0x1000);
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_NONE && frames_of(fake)[shims].position == 4, "3.%d: one that was popped", v);
	is_int(fake->s->python.count, 2 + shims, "3.%d: its loop has none", v);

	/* The thread goes on to another chunk, or back from it: top and limit are of two. */
	fake_data_stack(fake, tstate, chunk, past, past + 0x3000);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && frames_of(fake)[0].position == 6, "3.%d: the limit is another chunk's", v);
	fake_put64(&fake->memory, past + 0x2000 + 8, 0x1000);
	fake_data_stack(fake, tstate, past + 0x2000, past, past + 0x3000);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && frames_of(fake)[0].position == 6, "3.%d: the top is another chunk's", v);
	fake_python_destroy(fake);
}

/* 3.11 and 3.12: a generator's frame while it yields to the thread's only loop. */
static void test_yielding(int version)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	__u64 code = fake_code(fake, "f", 1, 1), at = FAKE_DATA_STACK, generator = fake_alloc(fake, 0x200), tstate;
	int v = version & 0xff;

	fake_frame(fake, at, code, fake_root(fake), 2, true);
	fake_frame(fake, generator, code, at, 4, false);
	tstate = fake_running(fake, generator);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 2 && fake->s->python.loss == LOSS_NONE, "3.%d: a generator's frame", v);
	fake_frame(fake, generator, code, 0, 4, false);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.loss, LOSS_SECOND_UNLINKED, "3.%d: which forgot its caller", v);
	fake_put64(&fake->memory, fake_get64(fake, tstate + fake->layout.tstate_frame) + fake->layout.cframe_current,
		   0);
	fake_python_walk(fake, 0);
	ok(!fake->s->python.count && fake->s->python.loss == LOSS_NONE, "3.%d: a loop that has no frame yet", v);
	fake_python_destroy(fake);
}

/* Up to 3.10: throw() into a generator that waits for another one. Its frame is current, and in no loop. */
static void test_throw_before_311(int version)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	__u64 code = fake_code(fake, "f", 1, 1), main = fake_alloc(fake, 0x200), waiting = fake_alloc(fake, 0x200),
	      inner = fake_alloc(fake, 0x200), tstate;

	fake_frame(fake, main, code, 0, 2, true);
	fake_frame(fake, waiting, code, main, 4, false);
	fake_frame(fake, inner, code, waiting, 6, true);
	tstate = fake_running(fake, inner);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && fake->s->python.loss == LOSS_NONE && frames_of(fake)[0].flags &&
		   !frames_of(fake)[1].flags && frames_of(fake)[2].flags,
	   "3.%d, throw(): the waiting generator's frame has no loop", version & 0xff);
	fake_put(&fake->memory, tstate + fake->layout.tstate_tracing, 1, 4);
	fake_python_walk(fake, 0);
	ok(frames_of(fake)[1].flags, "3.%d: a frame that is being traced does", version & 0xff);
	fake_put(&fake->memory, tstate + fake->layout.tstate_tracing, 0, 4);
	fake_stack(fake, inner, false);
	fake_stack(fake, waiting, true);
	fake_python_walk(fake, 0);
	ok(frames_of(fake)[0].flags && frames_of(fake)[1].flags, "3.%d: and one about to enter", version & 0xff);
	/* 3.9 does not say who threw. */
	fake_frame(fake, waiting, code, 0, 4, false);
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_SECOND_UNLINKED && fake->s->python.count == 2,
	   "3.%d: a chain that ends there is cut", version & 0xff);
	fake_python_destroy(fake);
}

/* 3.11: throw() into a generator that waits for another one. Its frame is current, its flag is from before. */
static void test_throw(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030b));
	__u64 code = fake_code(fake, "f", 1, 1), main = FAKE_DATA_STACK, waiting = fake_alloc(fake, 0x100),
	      inner = fake_alloc(fake, 0x100), tstate, cframe;

	fake_frame(fake, main, code, 0, 2, true);
	fake_frame(fake, waiting, code, main, 4, true);
	fake_frame(fake, inner, code, waiting, 6, true);
	tstate = fake_running(fake, 0);
	cframe = fake_cframe(fake, waiting, fake_cframe(fake, 0, 0));
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, cframe);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 2 && fake->s->python.loss == LOSS_NONE && !frames_of(fake)[0].flags &&
		   frames_of(fake)[1].flags == SECOND_FRAME_ENTRY,
	   "throw(): the waiting generator's frame has no loop");
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, fake_cframe(fake, inner, cframe));
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && fake->s->python.loss == LOSS_NONE &&
		   frames_of(fake)[0].flags == SECOND_FRAME_ENTRY && !frames_of(fake)[1].flags &&
		   frames_of(fake)[2].flags == SECOND_FRAME_ENTRY,
	   "throw(): nor when it is no more the youngest");
	fake_python_destroy(fake);
}

/* A recursion: the code object is looked at once a sample; the depth limit. */
static void test_recursion(int version)
{
	const struct py_layout *layout = fake_layout(version);
	struct fake_python *fake = fake_python_create_sized(layout, 0x80ull * (SECOND_FRAMES_MAX + 1));
	__u64 code = fake_code(fake, "f", 1, 1), at = FAKE_DATA_STACK, back = fake_root(fake), step = 0x80, per_page;
	int i;

	for (i = 0; i < SECOND_FRAMES_MAX; i++, back = at, at += step)
		fake_frame(fake, at, code, back, i & 0xfff, i == 0);
	fake_running(fake, back);
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_NONE && fake->s->python.count == SECOND_FRAMES_MAX, "3.%d: the deepest stack",
	   version & 0xff);
	per_page = layout->lasti == PY_LASTI_POINTER ? PYTHON_WINDOW / step / 2 : 1;
	ok(fake->memory.reads < SECOND_FRAMES_MAX / per_page + 40, "3.%d: read %" PRIu64 " times", version & 0xff,
	   fake->memory.reads);
	is_int(fake->sent_count, 1, "3.%d: one code object", version & 0xff);
	fake_frame(fake, at, code, back, 0, false);
	fake_set_frame(fake, fake->s->python.thread, at);
	fake_python_walk(fake, 0);
	ok(fake->s->python.loss == LOSS_SECOND_DEPTH && fake->s->python.count == SECOND_FRAMES_MAX &&
		   frames_of(fake)[1].position == (((SECOND_FRAMES_MAX - 1) & 0xfff) & (version == 0x030a ? ~1 : ~0)),
	   "3.%d: one frame more", version & 0xff);
	fake_python_destroy(fake);
}

/* Generators' frames lie far away; the window on the data stack stays where it is. */
static void test_far_frames(void)
{
	struct fake_python *fake = fake_python_create(fake_layout(0x030b));
	__u64 code = fake_code(fake, "f", 1, 1), back = 0;
	int i;

	for (i = 0; i < 100; i++) {
		__u64 at = i & 1 ? FAKE_DATA_STACK + 0x60ull * i : fake_alloc(fake, 0x80);

		fake_frame(fake, at, code, back, i, i == 0);
		back = at;
	}
	fake_running(fake, back);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, 100, "every other frame a generator's");
	ok(fake->memory.reads < 100, "%" PRIu64 " reads", fake->memory.reads);
	fake_python_destroy(fake);
}

static __u64 id_of(struct fake_python *fake)
{
	fake_python_walk(fake, 0);
	return fake->s->python.count ? frames_of(fake)[0].code : 0;
}

/* What makes two code objects the same. */
static void test_identity(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 code = fake_code(fake, "f", 1, 7), id, table, copy, wrong = 0;
	bool versions = layout->code_version != PY_NO_OFFSET;
	__u32 i;

	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	fake_running(fake, FAKE_DATA_STACK);
	id = id_of(fake);
	for (i = 0; i < layout->code_size / 8; i++) {
		__u8 *word = fake_bytes(&fake->memory, code + 8 * i, 8);
		bool table_word = i == layout->code_linetable / 8, stable = layout->code_stable >> i & 1;

		if (table_word)
			continue;
		word[1] ^= 1;
		wrong += (id_of(fake) != id) != stable;
		word[1] ^= 1;
	}
	is_int(wrong, 0, "%s: the words that tell a code object", name);
	copy = fake_alloc(fake, layout->code_size);
	memcpy(fake_bytes(&fake->memory, copy, layout->code_size), fake_bytes(&fake->memory, code, layout->code_size),
	       layout->code_size);
	fake_frame(fake, FAKE_DATA_STACK, copy, fake_root(fake), 2, true);
	ok(id_of(fake) && id_of(fake) != id, "%s: its address", name);
	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	memcpy(&table, fake_bytes(&fake->memory, code + layout->code_linetable, 8), 8);
	fake_bytes(&fake->memory, table + layout->bytes_data, 1)[0] ^= 1;
	ok((id_of(fake) != id) == !versions, "%s: its line table counts where it has no version", name);
	fake_bytes(&fake->memory, table + layout->bytes_data, 1)[0] ^= 1;
	fake_bytes(&fake->memory, table + layout->bytes_data + 1, 1)[0] ^= 1;
	is_int(id_of(fake), id, "%s: what lies behind the table does not", name);
	if (versions) {
		fake_put(&fake->memory, code + layout->code_version, 0, 4);
		id = id_of(fake);
		fake_bytes(&fake->memory, table + layout->bytes_data, 1)[0] ^= 1;
		ok(id_of(fake) != id, "%s: or where the version is 0", name);
	}
	fake_put64(&fake->memory, FAKE_DATA_STACK + layout->frame_code, 0xdead0000);
	ok(!id_of(fake) && unreadable(fake), "%s: an unreadable code object", name);
	fake_put64(&fake->memory, FAKE_DATA_STACK + layout->frame_code, code + 4);
	ok(!id_of(fake) && unreadable(fake), "%s: one at an odd address", name);
	fake_python_destroy(fake);
}

/* Line tables around the number of bytes that tell a code object, at the end of memory and not. */
static void test_probe(void)
{
	static const __u32 sizes[] = {0, 1, 7, 8, 9, 255, 256, 257, 1000};
	const __u64 page = 0x50000000;
	struct fake_python *fake = fake_python_create(fake_layout(0x030b));
	const struct py_layout *layout = &fake->layout;
	__u64 code = fake_code(fake, "f", 1, 0), same = 0, differs = 0, expected = 0;
	size_t i;

	fake_map(&fake->memory, page, 0x1000);
	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	fake_running(fake, FAKE_DATA_STACK);
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		__u64 at = (page + 0x1000 - layout->bytes_data - sizes[i]) & ~7ull, id;
		__u8 *bytes = fake_bytes(&fake->memory, at, layout->bytes_data + sizes[i]) + layout->bytes_data;

		fake_put64(&fake->memory, at + layout->bytes_size, sizes[i]);
		fake_put64(&fake->memory, code + layout->code_linetable, at);
		id = id_of(fake);
		fake_map(&fake->memory, page + 0x1000, 0x1000);
		memset(fake_bytes(&fake->memory, page + 0x1000, 0x1000), 0xaa, 0x1000);
		same += id && id_of(fake) == id;
		free(fake->memory.regions[--fake->memory.count].bytes);
		if (sizes[i]) {
			__u32 last = sizes[i] > PYTHON_TABLE_PROBE ? PYTHON_TABLE_PROBE - 1 : sizes[i] - 1;

			bytes[last] ^= 0x80;
			differs += id_of(fake) != id;
			bytes[last] ^= 0x80;
			expected++;
		}
	}
	is_int(same, sizeof(sizes) / sizeof(*sizes), "a line table's end of memory does not change the id");
	is_int(differs, expected, "its last byte, of the first %u, does", PYTHON_TABLE_PROBE);
	fake_put64(&fake->memory, code + layout->code_linetable, 0xdead0000);
	ok(!id_of(fake), "an unreadable line table");
	fake_python_destroy(fake);
}

/* Gives the code object another name and takes a sample. */
static const struct code_string *sample_name(struct fake_python *fake, __u64 code, __u64 string)
{
	fake_put64(&fake->memory, code + fake->layout.code_name, string);
	fake_python_walk(fake, 0);
	return &fake->s->code.header.name;
}

static void test_strings(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 code = fake_code(fake, "f", 1, 1), string;
	const struct code_event *event = &fake->s->code.header;
	const struct code_string *got;
	__u32 wide[3000], i;
	__u16 half[300];
	char long_name[301] = "";

	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	fake_running(fake, FAKE_DATA_STACK);
	memset(long_name, 'x', 300);
	got = sample_name(fake, code, fake_ascii(fake, long_name));
	ok(got->kind == 1 && got->length == 300 && !strcmp(text_of(fake, 0), long_name), "%s: 300 ASCII characters",
	   name);
	got = sample_name(fake, code, fake_string(fake, "\xe9\xff", 2, 1, false));
	ok(got->kind == 1 && got->length == 2 && !strcmp(text_of(fake, 0), "\xe9\xff"), "%s: Latin-1", name);
	for (i = 0; i < 300; i++)
		half[i] = (__u16)(0x3b1 + i);
	got = sample_name(fake, code, fake_string(fake, half, 300, 2, false));
	ok(got->kind == 2 && got->length == 300 && got->bytes == 600 && !memcmp(event->text + got->at, half, 600),
	   "%s: two bytes each", name);
	for (i = 0; i < 3000; i++)
		wide[i] = 0x1f600 + i;
	got = sample_name(fake, code, fake_string(fake, wide, 3000, 4, false));
	ok(got->kind == 4 && got->length == 3000 && got->bytes == CODE_STRING_MAX &&
		   !memcmp(event->text + got->at, wide, CODE_STRING_MAX),
	   "%s: four bytes each, and too many", name);
	got = sample_name(fake, code, fake_ascii(fake, ""));
	ok(got->kind == 1 && !got->length && !got->bytes, "%s: an empty name", name);
	string = fake_ascii(fake, "name");
	fake_put64(&fake->memory, string + layout->unicode_length, UINT64_MAX);
	got = sample_name(fake, code, string);
	ok(got->length == UINT32_MAX && got->bytes <= CODE_STRING_MAX, "%s: an absurd length", name);
	string = fake_ascii(fake, "name");
	fake_put(&fake->memory, string + layout->unicode_state, 5u << layout->unicode_kind_shift, 4);
	ok(!sample_name(fake, code, string)->kind, "%s: a kind that does not exist", name);
	string = fake_ascii(fake, "name");
	fake_put(&fake->memory, string + layout->unicode_state, 1u << layout->unicode_kind_shift, 4);
	ok(!sample_name(fake, code, string)->kind, "%s: characters that are elsewhere (not compact)", name);
	fake_map(&fake->memory, 0x60000000, 0x1000);
	string = fake_ascii(fake, "name");
	memcpy(fake_bytes(&fake->memory, 0x60001000 - layout->unicode_ascii_data, layout->unicode_ascii_data),
	       fake_bytes(&fake->memory, string, layout->unicode_ascii_data), layout->unicode_ascii_data);
	got = sample_name(fake, code, 0x60001000 - layout->unicode_ascii_data);
	ok(!got->kind && !got->bytes && got->length == 4, "%s: characters on an unreadable page", name);
	got = sample_name(fake, code, 0xdead0000);
	ok(!got->kind && !got->bytes && fake->s->python.count == 1, "%s: an unreadable name", name);
	got = sample_name(fake, code, 0);
	ok(!got->kind && !got->bytes && fake->s->python.count == 1, "%s: no name", name);
	fake_python_destroy(fake);
}

static void test_tables(void)
{
	static const struct {
		__u64 size;
		__u32 said, copied;
	} cases[] = {
		{0, 0, 0},
		{1, 1, 1},
		{CODE_TABLE_MAX, CODE_TABLE_MAX, CODE_TABLE_MAX},
		{CODE_TABLE_MAX + 1, CODE_TABLE_MAX + 1, 0},
		{UINT64_MAX, UINT32_MAX, 0},
	};
	struct fake_python *fake = fake_python_create(fake_layout(0x030d));
	const struct py_layout *layout = &fake->layout;
	const struct code_event *event = &fake->s->code.header;
	__u64 code = fake_code(fake, "f", 1, 1), table = fake_alloc(fake, CODE_TABLE_MAX + 0x100);
	size_t i;

	fake_frame(fake, FAKE_DATA_STACK, code, fake_root(fake), 2, true);
	fake_running(fake, FAKE_DATA_STACK);
	memset(fake_bytes(&fake->memory, table + layout->bytes_data, CODE_TABLE_MAX), 0x33, CODE_TABLE_MAX);
	fake_put64(&fake->memory, code + layout->code_linetable, table);
	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		fake_put64(&fake->memory, table + layout->bytes_size, cases[i].size);
		fake_put(&fake->memory, code + layout->code_version, 50 + i, 4);
		fake_python_walk(fake, 0);
		ok(event->table_size == cases[i].said && event->table_copied == cases[i].copied,
		   "a line table of %llu bytes", (unsigned long long)cases[i].size);
		is_int(event->table_address, table + layout->bytes_data, "and where it is");
	}
	fake_put64(&fake->memory, FAKE_HEAP + FAKE_HEAP_SIZE - 64 + layout->bytes_size, 1000);
	fake_put64(&fake->memory, code + layout->code_linetable, FAKE_HEAP + FAKE_HEAP_SIZE - 64);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 1 && event->table_size == 1000 && !event->table_copied, "one that ends in nothing");
	fake_put64(&fake->memory, code + layout->code_linetable, 0xdead0000);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 1 && event->table_size == CODE_TABLE_UNREAD && !event->table_copied,
	   "one that cannot be read");
	fake_python_destroy(fake);
}

static uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Random stacks: frames on the data stack and, as generators', on the heap; runs of the loop of any length. */
static void test_property(const struct py_layout *layout, const char *name, uint64_t seed)
{
	enum { CODES = 40, FRAMES = 400, ROUNDS = 40 };
	uint64_t random = seed * 0x9e3779b97f4a7c15ull + 1;
	int round, wrong = 0;

	for (round = 0; round < ROUNDS; round++) {
		struct fake_python *fake = fake_python_create(layout);
		__u64 codes[CODES], back = fake_base(fake), at = FAKE_DATA_STACK, shim = FAKE_C_STACK + 0xfff00;
		struct {
			int code, lasti;
			bool entry;
		} expected[FRAMES];
		int i, count = 1 + (int)(random_next(&random) % FRAMES);

		for (i = 0; i < CODES; i++) {
			char text[16];

			snprintf(text, sizeof(text), "f%d", i);
			codes[i] = fake_code(fake, text, i, (__u32)i * (round & 1));
		}
		for (i = count; i-- > 0;) { /* from the oldest on */
			bool heap = layout->lasti != PY_LASTI_POINTER || random_next(&random) % 8 == 0;
			__u64 frame = heap ? fake_alloc(fake, 0x100) : at;

			if (!heap)
				at += 0x58 + 8 * (random_next(&random) % (random_next(&random) % 16 ? 32 : 600));
			expected[i].code = (int)(random_next(&random) % CODES);
			expected[i].lasti = (int)(random_next(&random) % 5000) * 2;
			expected[i].entry =
				layout->entry == PY_ENTRY_EVERY || i == count - 1 || random_next(&random) % 4 == 0;
			if (layout->entry == PY_ENTRY_SHIM && expected[i].entry) {
				shim -= 0x100 + 8 * (random_next(&random) % 100);
				fake_shim(fake, shim, back);
				back = shim;
			}
			fake_frame(fake, frame, codes[expected[i].code], back, expected[i].lasti, expected[i].entry);
			back = frame;
		}
		fake_running(fake, back);
		fake_python_walk(fake, 0);
		wrong += fake->s->python.loss != LOSS_NONE || (int)fake->s->python.count != count;
		for (i = 0; i < count; i++) {
			int k;

			for (k = 0; k < i && expected[k].code != expected[i].code; k++)
				;
			wrong += frames_of(fake)[i].position != expected[i].lasti;
			wrong += frames_of(fake)[i].flags != expected[i].entry;
			wrong += frames_of(fake)[i].code != frames_of(fake)[k].code; /* as at its first appearance */
		}
		fake_python_destroy(fake);
	}
	is_int(wrong, 0, "%s: %d random stacks", name, ROUNDS);
}

/* A thread of two interpreters, whose frames are "inner" and "outer"; the inner one's thread state. */
static __u64 two_interpreters(struct fake_python *fake, __u64 owner)
{
	const char *const names[] = {"outer", "inner"};
	__u64 tstate = 0, frame;
	size_t i;

	for (i = 0; i < 2; i++) {
		frame = fake_alloc(fake, 512);
		fake_frame(fake, frame, fake_code(fake, names[i], 1, (__u32)i + 1), fake_root(fake), 2, true);
		tstate = fake_tstate(fake, fake_interpreter(fake), i ? owner : FAKE_THREAD, frame);
	}
	return tstate;
}

/* The pointer to the current thread state in every form of thread-local storage. */
static void test_thread_local(void)
{
	static const struct {
		struct python_process tls;
		const char *name;
		bool found;
	} cases[] = {
		{{.tls_kind = PY_TLS_STATIC, .tls_offset = -0x40}, "at a fixed distance", true},
		{{.tls_kind = PY_TLS_WORD, .tls_offset = 8, .tls_slot = FAKE_DATA_STACK},
		 "a word tells the distance",
		 true},
		{{.tls_kind = PY_TLS_DESC, .tls_offset = 8, .tls_slot = FAKE_DATA_STACK + 16},
		 "a descriptor's argument does",
		 true},
		{{.tls_kind = PY_TLS_DESC, .tls_slot = FAKE_DATA_STACK + 32}, "an argument that is a pointer", false},
		{{.tls_kind = PY_TLS_INDEX,
		  .tls_offset = 8,
		  .tls_slot = FAKE_DATA_STACK + 48,
		  .tls_vector = 8,
		  .tls_stride = 16},
		 "in a block of glibc's",
		 true},
		{{.tls_kind = PY_TLS_INDEX,
		  .tls_offset = 8,
		  .tls_slot = FAKE_DATA_STACK + 64,
		  .tls_vector = 8,
		  .tls_stride = 8},
		 "in a block of musl's",
		 true},
		{{.tls_kind = PY_TLS_INDEX, .tls_slot = FAKE_DATA_STACK + 80, .tls_vector = 8, .tls_stride = 16},
		 "an index that the linker has not filled in",
		 false},
		{{.tls_kind = PY_TLS_INDEX, .tls_slot = FAKE_DATA_STACK + 96, .tls_vector = 8, .tls_stride = 16},
		 "a block that the thread does not have yet",
		 false},
		{{.tls_kind = PY_TLS_WORD, .tls_slot = 0xdead0000}, "a slot that cannot be read", false},
		{{.tls_kind = PY_TLS_STATIC, .tls_offset = 0x40}, "a pointer to anything else", false},
	};
	const __u64 vector = FAKE_DATA_STACK + 0x1000, block = FAKE_DATA_STACK + 0x2000;
	const __u64 words[] = {-0x48ull, 0, 0x1234, -0x48ull, 0x1234, block, 3, 0x10, 6, 0x10, 0, 0, 4, 0};
	__u64 head, inner;
	size_t i, j;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fake_python *fake = fake_python_create(fake_layout(0x030d));

		fake_map(&fake->memory, FAKE_THREAD & ~0xfffull, 0x1000);
		inner = two_interpreters(fake, FAKE_THREAD);
		for (j = 0; j < sizeof(words) / sizeof(*words); j++)
			fake_put64(&fake->memory, FAKE_DATA_STACK + 8 * j, words[j]);
		fake_put64(&fake->memory, FAKE_THREAD - 0x40, inner);
		fake_put64(&fake->memory, FAKE_THREAD + 0x40, FAKE_HEAP);
		fake_put64(&fake->memory, FAKE_THREAD + 8, vector);
		fake_put64(&fake->memory, vector + 16 * 3, block);
		fake_put64(&fake->memory, vector + 16 * 4, ~0ull); /* glibc's TLS_DTV_UNALLOCATED */
		fake_put64(&fake->memory, block + 0x18, inner);
		head = fake->process.interp_head;
		fake->process = cases[i].tls;
		fake->process.interp_head = head;
		fake_python_walk(fake, 0);
		ok(python_read_current(fake->s, &fake->process) == (cases[i].found ? inner : 0),
		   "current thread state, thread-local: %s", cases[i].name);
		is_int(fake->s->python.count, 2, "its frames are found in any case");
		fake_python_destroy(fake);
	}
}

/* 3.10 to 3.12: a thread runs on the thread state of another one if that state's _PyCFrame is on its stack. */
static void test_lent_thread_state(__u16 version)
{
	const __u64 stack = FAKE_C_STACK + 0x8000, current = FAKE_C_STACK;
	const struct {
		__u64 cframe, stack_pointer;
		const char *name;
		__u32 frames;
	} cases[] = {
		{stack + 0x100, stack, "on its stack", 2},
		{stack - 0x100, stack, "below its stack", 1},
		{stack + 0x100, 0, "its stack is not known", 1},
		{stack + 0x100, 0x10000, "above pthread_self(), a started thread", 1},
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct fake_python *fake = fake_python_create(fake_layout(version));
		__u64 inner = two_interpreters(fake, FAKE_THREAD + 0x1000), words[2];

		if (fake->layout.cframe_current != PY_NO_OFFSET) {
			fake_read(fake, words, sizeof(words),
				  fake_get64(fake, inner + fake->layout.tstate_cframe) + fake->layout.cframe_current);
			fake_put64(&fake->memory, cases[i].cframe + fake->layout.cframe_current, words[0]);
			fake_put64(&fake->memory, cases[i].cframe + fake->layout.cframe_current + 8, words[1]);
		}
		fake_put64(&fake->memory, inner + fake->layout.tstate_cframe, cases[i].cframe);
		fake_put64(&fake->memory, current, inner);
		fake->process.current_tstate = current;
		fake->stack_pointer = cases[i].stack_pointer;
		fake_python_walk(fake, 0);
		is_int(fake->s->python.count, cases[i].frames, "3.%d, another thread's thread state: %s",
		       version & 0xff, cases[i].name);
		fake_python_destroy(fake);
	}
}

/* Has a thread state run on FAKE_THREAD's stack, if its version says where it runs. */
static void put_on_stack(struct fake_python *fake, __u64 tstate)
{
	__u64 at = FAKE_C_STACK + 0x8100, words[2];

	fake->stack_pointer = FAKE_C_STACK + 0x8000;
	if (fake->layout.tstate_cframe == PY_NO_OFFSET)
		return;
	if (fake->layout.cframe_current != PY_NO_OFFSET) {
		fake_read(fake, words, sizeof(words),
			  fake_get64(fake, tstate + fake->layout.tstate_cframe) + fake->layout.cframe_current);
		fake_put64(&fake->memory, at + fake->layout.cframe_current, words[0]);
		fake_put64(&fake->memory, at + fake->layout.cframe_current + 8, words[1]);
	}
	fake_put64(&fake->memory, tstate + fake->layout.tstate_cframe, at);
}

/* Nothing says which thread state runs: the GIL is released, in an interpreter within another one. */
static void test_inner(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	bool named = layout->tstate_cframe == PY_NO_OFFSET, old = named && layout->entry == PY_ENTRY_EVERY;
	__u32 unsure = old ? SECOND_FRAME_UNSURE : 0;
	__u64 inner = two_interpreters(fake, FAKE_THREAD), other, id = inner + layout->tstate_thread_id, frame, outer;

	put_on_stack(fake, inner);
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 2 && !fake->s->python.loss && frames_of(fake)[0].position == 2,
	   "%s, released: two frames", name);
	ok((frames_of(fake)[0].flags & SECOND_FRAME_UNSURE) == unsure &&
		   !(frames_of(fake)[1].flags & SECOND_FRAME_UNSURE),
	   "%s: which may be another's", name);
	other = fake->s->python.thread;
	ok(other && other != inner, "%s: the outer thread state is the one to keep", name);
	fake_python_walk(fake, other);
	is_int(fake->s->python.count, 2, "%s: once it is known", name);

	fake_put64(&fake->memory, id, FAKE_THREAD + 0x1000);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, named && !old ? 1 : 2, "%s: another one made it", name);
	fake_put64(&fake->memory, other + layout->tstate_thread_id, FAKE_THREAD + 0x2000);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, named && !old ? 0 : 1, "%s: the thread has none of its own", name);
	fake_put64(&fake->memory, other + layout->tstate_thread_id, FAKE_THREAD);

	if (old) {
		/* Another thread's changes while it is read. */
		frame = fake_get64(fake, inner + layout->tstate_frame);
		fake_put64(&fake->memory, frame + layout->frame_back, 0xdead0000);
		fake_python_walk(fake, 0);
		ok(fake->s->python.count == 1 && !fake->s->python.loss, "%s: which runs on", name);
		fake_put64(&fake->memory, frame + layout->frame_back, 0);
		outer = fake_get64(fake, other + layout->tstate_interp) + layout->interp_next;
		fake_put64(&fake->memory, outer, fake_alloc(fake, 512));
		fake_python_walk(fake, 0);
		is_int(fake->s->python.count, 1, "%s: a thread of a sub-interpreter enters no other", name);
		fake_put64(&fake->memory, outer, 0);
	}

	/* A second one. */
	frame = fake_alloc(fake, 512);
	fake_frame(fake, frame, fake_code(fake, "third", 1, 3), fake_root(fake), 2, true);
	other = fake_tstate(fake, fake_interpreter(fake), FAKE_THREAD + 0x1000, frame);
	put_on_stack(fake, other);
	fake_put64(&fake->memory, id, FAKE_THREAD);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, named ? 2 : 1, "%s: another thread's beside the thread's own", name);
	fake_put64(&fake->memory, other + layout->tstate_thread_id, FAKE_THREAD);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, 1, "%s: two of the thread's own", name);
	if (named)
		fake_set_frame(fake, other, 0);
	else
		fake_put64(&fake->memory, other + layout->tstate_cframe, 0);
	fake_python_walk(fake, 0);
	is_int(fake->s->python.count, 2, "%s: one of them without frames", name);
	fake->s->unread = 0;
	fake_put64(&fake->memory, other + layout->tstate_next, 0xdead0000);
	fake_python_walk(fake, 0);
	ok(fake->s->unread, "%s: a list that cannot be read is noted", name);
	fake_python_destroy(fake);
}

static const struct key_case {
	const char *name;
	__u32 key; /* 0: none, as in 3.15 */
	struct py_keys keys;
	__u64 at;    /* of the value, from the thread pointer, or from the block */
	__u64 block; /* where the pointer to the block is, from the thread pointer; 0: there is none */
} key_cases[] = {
	{"glibc, first block", 5, {0x318, 0x510, 32, 5, 16, 8}, 0x318 + 5 * 16, 0},
	{"glibc, second level", 77, {0x318, 0x510, 32, 5, 16, 8}, 8 + 13 * 16, 0x510 + 2 * 8},
	{"musl", 5, {0, 0x80, 0, PY_ONE_BLOCK, 8, 0}, 5 * 8, 0x80},
	{.name = "the variable in its place", .at = 0x208},
};

/* Puts a value under the key, for FAKE_THREAD; `has_block`: it has the block that the value lies in. */
static void fake_key(struct fake_python *fake, const struct key_case *c, __u64 tstate, bool has_block)
{
	const __u64 words = FAKE_HEAP + FAKE_HEAP_SIZE - 0x1000;

	if (!c->key) {
		fake->process.tls_kind = PY_TLS_STATIC;
		fake->process.tls_offset = 0x200;
		fake->process.bound_at = (__s32)c->at - 0x200;
		fake_put64(&fake->memory, FAKE_THREAD + 0x200, 0);
		fake_put64(&fake->memory, FAKE_THREAD + c->at, tstate);
		return;
	}
	fake->process.key = words;
	fake->process.keys = c->keys;
	fake_put(&fake->memory, words, c->key, 4);
	if (c->block)
		fake_put64(&fake->memory, FAKE_THREAD + c->block, has_block ? words + 0x100 : 0);
	fake_put64(&fake->memory, (c->block ? words + 0x100 : FAKE_THREAD) + c->at, tstate);
}

/* The key tells the thread state by some reads, however many threads there are, and whether the GIL is held or not. */
static void test_key(const struct py_layout *layout, const struct key_case *c, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 interp = fake_interpreter(fake), frame = fake_alloc(fake, 512), tstate, other, few;
	struct python_walk *walk = &fake->s->python;
	int i;

	fake_map(&fake->memory, FAKE_THREAD & ~0xfffull, 0x2000);
	fake_frame(fake, frame, fake_code(fake, "f", 1, 1), fake_root(fake), 2, true);
	tstate = fake_tstate(fake, interp, FAKE_THREAD, frame);
	fake_key(fake, c, tstate, true);
	fake_python_walk(fake, 0);
	ok(walk->thread == tstate && walk->count == 1 && walk->told && walk->noted && !walk->searched,
	   "%s, %s: the thread state", name, c->name);
	fake_python_walk(fake, 0); /* its code object is known now */
	few = fake->memory.reads;
	for (i = 0; i < 5000; i++)
		other = fake_tstate(fake, interp, 0x1000 + 8ull * (__u64)i, 0);
	fake_python_walk(fake, 0);
	ok(walk->thread == tstate && walk->count == 1 && fake->memory.reads == few && !walk->searched,
	   "%s, %s: by %" PRIu64 " reads, too, beside 5,000 others", name, c->name, fake->memory.reads);
	/* Another thread's is not believed. */
	fake_key(fake, c, other, true);
	fake_python_walk(fake, 0);
	ok(walk->thread == tstate && !walk->told && !walk->noted && walk->searched > 5000,
	   "%s, %s: another thread's is not believed", name, c->name);
	fake_key(fake, c, 0xdead0000, true);
	fake_python_walk(fake, 0);
	is_int(walk->thread, tstate, "%s, %s: nor one that is gone", name, c->name);
	/* No value: until the key is known to hold, that proves nothing. */
	for (i = 0; i < 2; i++) {
		fake_key(fake, c, 0, i);
		fake->process.key_holds = RUNTIME_TO_NOTE;
		fake_python_walk(fake, 0);
		is_int(walk->thread, tstate, "%s, %s: it may not be kept there", name, c->name);
		fake->process.key_holds = RUNTIME_NOTED;
		fake_python_walk(fake, 0);
		ok(!walk->thread && !walk->searched, "%s, %s: or the thread has none", name, c->name);
	}
	if (c->key) {
		fake_key(fake, c, tstate, true);
		fake_put(&fake->memory, fake->process.key, 0xffffffff, 4);
		fake_python_walk(fake, 0);
		ok(walk->thread == tstate && walk->searched, "%s, %s: a key that was not created", name, c->name);
	}
	/* With several interpreters a thread may have a thread state that is not under the key. */
	fake_key(fake, c, 0, true);
	fake_interpreter(fake);
	fake_python_walk(fake, 0);
	is_int(walk->thread, tstate, "%s, %s: one of several interpreters", name, c->name);
	fake_python_destroy(fake);
}

/* In an interpreter within the oldest one, without the GIL: from 3.12 on the key says so. */
static void test_key_within(const struct py_layout *layout, const char *name)
{
	struct fake_python *fake = fake_python_create(layout);
	const struct key_case *c = &key_cases[0];
	__u64 frames[2], tstate[2], interp;
	struct python_walk *walk = &fake->s->python;
	int i;

	fake_map(&fake->memory, FAKE_THREAD & ~0xfffull, 0x2000);
	for (i = 0; i < 2; i++) {
		frames[i] = fake_alloc(fake, 512);
		fake_frame(fake, frames[i], fake_code(fake, i ? "inner" : "outer", 1, (__u32)i + 1), fake_root(fake), 2,
			   true);
		interp = fake_interpreter(fake);
		tstate[i] = fake_tstate(fake, interp, FAKE_THREAD, frames[i]);
	}
	fake_key(fake, c, tstate[1], true);
	fake_python_walk(fake, tstate[0]);
	ok(walk->thread == tstate[0] && walk->count == 2 && !walk->searched,
	   "%s: the inner one's and the outer one's frames", name);
	fake_key(fake, c, tstate[0], true);
	fake_python_walk(fake, tstate[0]);
	ok(walk->thread == tstate[0] && walk->count == 1 && !walk->searched, "%s: back in the outer one", name);
	fake_python_destroy(fake);
}

/*
 * A loop is entered: its _PyCFrame is the newest one, and holds what the stack held. The one before it is in a
 * register.
 */
static void test_entering(int version)
{
	struct fake_python *fake = fake_python_create(fake_layout(version));
	__u64 code = fake_code(fake, "f", 1, 1), root = fake_root(fake), at = FAKE_DATA_STACK + 0x40, tstate, newest,
	      before, oldest, sp = FAKE_C_STACK + 0x8000, field = fake->layout.cframe_current;
	static const __u64 nonsense[][2] = {
		{0, 0}, {0xdead0000, 3}, {0xdead0000, FAKE_C_STACK + 0x8800}, {0, 1ull << 63}};
	struct python_walk *walk = &fake->s->python;
	size_t i;

	fake_frame(fake, at, code, root, 2, true);
	fake_frame(fake, at + 0x100, code, at, 4, false);
	tstate = fake_running(fake, at + 0x100);
	oldest = tstate + 0x180;
	before = sp + 0x400;
	newest = sp + 0x80;
	fake->stack_pointer = sp;
	fake_put64(&fake->memory, before + field, at + 0x100);
	fake_put64(&fake->memory, before + field + 8, oldest);
	fake_put64(&fake->memory, tstate + fake->layout.tstate_frame, newest);
	for (i = 0; i < sizeof(nonsense) / sizeof(*nonsense); i++) {
		fake_put64(&fake->memory, newest + field, nonsense[i][0]);
		fake_put64(&fake->memory, newest + field + 8, nonsense[i][1]);
		memset(fake->s->snapshot.header.registers, 0, sizeof(fake->s->snapshot.header.registers));
		fake_python_walk(fake, 0);
		ok(walk->loss == LOSS_SECOND_UNLINKED && !walk->count && !walk->doubt,
		   "3.%d: nothing tells what runs, %zu, and that is said", version & 0xff, i);
		fake->s->snapshot.header.registers[3] = FAKE_C_STACK + 0x9000; /* zeroes */
		fake->s->snapshot.header.registers[7] = sp;
		fake->s->snapshot.header.registers[0] = before;
		fake_python_walk(fake, 0);
		ok(walk->loss == LOSS_NONE && walk->count == 2 && !walk->doubt, "3.%d: a register does, %zu",
		   version & 0xff, i);
	}
	fake_python_destroy(fake);
}

int main(void)
{
	size_t i, k;

	for (i = 0; i < FAKE_LAYOUTS; i++) {
		const struct py_layout *layout = &fake_layouts[i];
		char name[16];

		snprintf(name, sizeof(name), "3.%d%s", layout->version & 0xff,
			 layout->code_tlbc == PY_NO_OFFSET ? "" : "t");
		test_layout(layout, name);
		test_no_frames(layout, name);
		test_edges(layout, name);
		test_identity(layout, name);
		test_strings(layout, name);
		test_property(layout, name, i + 1);
		test_inner(layout, name);
		if (layout->code_tlbc != PY_NO_OFFSET)
			test_own_bytecode(layout);
		for (k = 0; k < sizeof(key_cases) / sizeof(*key_cases); k++)
			test_key(layout, &key_cases[k], name);
		if (layout->version >= PY_KEY_FOLLOWS)
			test_key_within(layout, name);
	}
	test_entering(0x030b);
	test_entering(0x030c);
	test_threads();
	test_thread_local();
	test_lent_thread_state(0x030a);
	test_lent_thread_state(0x030b);
	test_lent_thread_state(0x030c);
	test_loops(0x030c, LOSS_SECOND_UNLINKED);
	test_loops(0x030d, LOSS_NO_PROGRESS);
	test_far_frames();
	test_empty_loops(0x030c);
	test_empty_loops(0x030d);
	test_empty_loops(0x030f);
	test_unlinked(0x030b);
	test_unlinked(0x030c);
	test_yielding(0x030b);
	test_yielding(0x030c);
	test_throw_before_311(0x0306);
	test_throw_before_311(0x0309);
	test_throw_before_311(0x030a);
	test_throw();
	test_recursion(0x0309);
	test_recursion(0x030a);
	test_recursion(0x030b);
	test_recursion(0x030e);
	test_recursion(0x030f);
	test_probe();
	test_tables();
	return tap_done();
}

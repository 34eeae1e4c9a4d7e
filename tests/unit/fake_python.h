/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_python: interpreters of every layout, written into a fake_memory, and the Python walk over them.
 *
 * Objects go to a heap that only grows, frames wherever the test says: to the thread's data stack, the C stack or the
 * heap.
 */
#ifndef STRATA_TESTS_FAKE_PYTHON_H
#define STRATA_TESTS_FAKE_PYTHON_H

#include "runtime/python/bpf/walk.h"
#include "fake_memory.h"

#define FAKE_HEAP       0x10000000ull
#define FAKE_HEAP_SIZE  0x400000ull
#define FAKE_DATA_STACK 0x20000000ull
#define FAKE_C_STACK    0x7ff000000000ull
#define FAKE_THREAD     0x7f0012345678ull /* pthread_self() */
#define FAKE_SENT_MAX   256

struct fake_python {
	struct fake_memory memory; /* first: the walker's context is both */
	struct walk_host host;
	struct scratch *s;
	struct py_layout layout;
	struct python_process process;
	__u64 heap;          /* the next free address */
	__u64 base_frame;    /* of the next thread state; 0: none was made */
	__u32 roots;         /* shims of fake_root() */
	__u64 head;          /* where the pointer to the first interpreter is */
	__u64 sequence;      /* of samples */
	__u64 stack_pointer; /* of FAKE_THREAD */
	__u64 sent[FAKE_SENT_MAX];
	__u32 sent_count; /* code objects that were sent */
};

static int code_known(struct scratch *s, __u64 id)
{
	const struct fake_python *fake = s->host->context;
	__u32 i;

	for (i = 0; i < fake->sent_count && i < FAKE_SENT_MAX; i++)
		if (fake->sent[i] == id)
			return 1;
	return 0;
}

static void code_send(struct scratch *s, __u32 table_bytes)
{
	struct fake_python *fake = s->host->context;

	if (table_bytes > CODE_TABLE_MAX || table_bytes != s->code.header.table_copied)
		abort();
	if (fake->sent_count < FAKE_SENT_MAX)
		fake->sent[fake->sent_count] = s->code.header.id;
	fake->sent_count++;
}

static const struct py_layout fake_layouts[] = {
#define LAYOUT(major, minor, head, current, ...) {.version = (major) << 8 | (minor), __VA_ARGS__},
#include "runtime/python/layouts.def"
#undef LAYOUT
#define FAKE_THREAD_3_13 .tstate_thread_id = 152, .tstate_base_frame = PY_NO_OFFSET
#define FAKE_THREAD_3_15 .tstate_thread_id = 176, .tstate_base_frame = 80
#define FAKE_LAYOUT_GIL                                                                                                \
	.lasti = PY_LASTI_POINTER, .entry = PY_ENTRY_SHIM, .shim_owner = 3, .unicode_kind_shift = 2,                   \
	.unicode_compact_shift = 5, .interp_next = 7264, .interp_threads = 7344, .tstate_next = 8,                     \
	.tstate_interp = 16, .tstate_frame = 72, .cframe_current = PY_NO_OFFSET, .tstate_stack_top = PY_NO_OFFSET,     \
	.tstate_tracing = PY_NO_OFFSET, .tstate_cframe = PY_NO_OFFSET, .frame_stack = PY_NO_OFFSET, .frame_back = 8,   \
	.frame_lasti = 56, .frame_tlbc_index = PY_NO_OFFSET, .code_filename = 112, .code_name = 120,                   \
	.code_qualname = 128, .code_linetable = 136, .code_firstlineno = 68, .code_version = 92,                       \
	.code_tlbc = PY_NO_OFFSET, .code_stable = 0x3fffc, .unicode_length = 16, .unicode_state = 32,                  \
	.unicode_ascii_data = 40, .unicode_compact_data = 56, .bytes_size = 16, .bytes_data = 32, .type_name = 24,     \
	.ob_type = 8
#define FAKE_LAYOUT_FREE_THREADED                                                                                      \
	.lasti = PY_LASTI_POINTER, .entry = PY_ENTRY_SHIM, .shim_owner = 3, .interp_next = 7264,                       \
	.interp_threads = 7344, .tstate_next = 8, .tstate_interp = 16, .tstate_frame = 72,                             \
	.cframe_current = PY_NO_OFFSET, .tstate_stack_top = PY_NO_OFFSET, .tstate_tracing = PY_NO_OFFSET,              \
	.tstate_cframe = PY_NO_OFFSET, .frame_stack = PY_NO_OFFSET, .frame_code = 0, .frame_back = 8,                  \
	.frame_lasti = 56, .code_filename = 128, .code_name = 136, .code_qualname = 144, .code_linetable = 152,        \
	.code_firstlineno = 84, .code_version = 108, .code_stable = 0xffff0, .unicode_length = 32,                     \
	.unicode_state = 48, .unicode_ascii_data = 56, .unicode_compact_data = 72, .bytes_size = 32, .bytes_data = 48, \
	.type_name = 40, .ob_type = 24
#define FAKE_OWN_BYTECODE                                                                                              \
	.unicode_kind_shift = 8, .unicode_compact_shift = 11, .code_tag_mask = 3, .frame_entry = 78,                   \
	.frame_tlbc_index = 72, .code_size = 232, .code_bytecode = 232, .code_tlbc = 224
	/* As tests/python/show_interpreter prints it for 3.13.0. */
	{.version = 0x030d,
	 FAKE_LAYOUT_GIL,
	 FAKE_THREAD_3_13,
	 .frame_entry = 70,
	 .code_size = 200,
	 .code_bytecode = 200},
	/* As 3.13, but for the tagged code reference and the larger frame. */
	{.version = 0x030e,
	 FAKE_LAYOUT_GIL,
	 FAKE_THREAD_3_13,
	 .code_tag_mask = 3,
	 .frame_entry = 74,
	 .code_size = 208,
	 .code_bytecode = 208},
	/* As 3.14, but for the base frame. */
	{.version = 0x030f,
	 FAKE_LAYOUT_GIL,
	 FAKE_THREAD_3_15,
	 .code_tag_mask = 3,
	 .frame_entry = 74,
	 .code_size = 208,
	 .code_bytecode = 208},
	/* Free-threaded: objects have 32-byte heads; and from 3.14 on, the last ones, threads have their own bytecode.
	 */
	{.version = 0x030d,
	 FAKE_LAYOUT_FREE_THREADED,
	 FAKE_THREAD_3_13,
	 .unicode_kind_shift = 2,
	 .unicode_compact_shift = 5,
	 .frame_entry = 70,
	 .frame_tlbc_index = PY_NO_OFFSET,
	 .code_size = 216,
	 .code_bytecode = 216,
	 .code_tlbc = PY_NO_OFFSET},
	{.version = 0x030e, FAKE_LAYOUT_FREE_THREADED, FAKE_THREAD_3_13, FAKE_OWN_BYTECODE},
	{.version = 0x030f, FAKE_LAYOUT_FREE_THREADED, FAKE_THREAD_3_15, FAKE_OWN_BYTECODE},
};
#define FAKE_LAYOUTS (sizeof(fake_layouts) / sizeof(*fake_layouts))

/* The first of a version. */
static inline const struct py_layout *fake_layout(int version)
{
	size_t i;

	for (i = 0; i < FAKE_LAYOUTS; i++)
		if (fake_layouts[i].version == version)
			return &fake_layouts[i];
	abort();
}

/*
 * `data_stack`: the bytes of its data stack. A sanitizer takes time for each allocated byte, so it is no larger than it
 * must be.
 */
static inline struct fake_python *fake_python_create_sized(const struct py_layout *layout, __u64 data_stack)
{
	struct fake_python *fake = calloc(1, sizeof(*fake));

	fake->s = calloc(1, sizeof(*fake->s));
	if (!fake->s)
		abort();
	fake->layout = *layout;
	fake->host = (struct walk_host){.context = fake, .read = fake_read};
	fake->s->host = &fake->host;
	fake_map(&fake->memory, FAKE_HEAP, FAKE_HEAP_SIZE);
	fake_map(&fake->memory, FAKE_C_STACK, 0x100000);
	fake_map(&fake->memory, FAKE_DATA_STACK, data_stack);
	fake->heap = FAKE_HEAP + 8;
	fake->head = FAKE_HEAP;
	fake->process.interp_head = fake->head;
	return fake;
}

static inline struct fake_python *fake_python_create(const struct py_layout *layout)
{
	return fake_python_create_sized(layout, 0x200000);
}

static inline void fake_python_destroy(struct fake_python *fake)
{
	fake_memory_deinit(&fake->memory);
	free(fake->s);
	free(fake);
}

static inline __u64 fake_alloc(struct fake_python *fake, __u64 size)
{
	__u64 at = (fake->heap + 15) & ~15ull;

	fake->heap = at + size;
	return at;
}

/* A string of `length` code points of `kind` bytes each. */
static inline __u64 fake_string(struct fake_python *fake, const void *text, __u64 length, int kind, bool ascii)
{
	const struct py_layout *layout = &fake->layout;
	__u32 data = ascii ? layout->unicode_ascii_data : layout->unicode_compact_data;
	__u64 at = fake_alloc(fake, data + (length + 1) * (__u64)kind);

	fake_put64(&fake->memory, at + layout->unicode_length, length);
	fake_put(&fake->memory, at + layout->unicode_state,
		 (__u64)kind << layout->unicode_kind_shift | (ascii ? 3ull : 1ull) << layout->unicode_compact_shift, 4);
	memcpy(fake_bytes(&fake->memory, at + data, length * (__u64)kind), text, length * (__u64)kind);
	return at;
}

static inline __u64 fake_ascii(struct fake_python *fake, const char *text)
{
	return fake_string(fake, text, strlen(text), 1, true);
}

static inline __u64 fake_bytes_object(struct fake_python *fake, const void *bytes, __u64 size)
{
	__u64 at = fake_alloc(fake, fake->layout.bytes_data + size + 1);

	fake_put64(&fake->memory, at + fake->layout.bytes_size, size);
	memcpy(fake_bytes(&fake->memory, at + fake->layout.bytes_data, size), bytes, size);
	return at;
}

static inline __u64 fake_code_at(struct fake_python *fake, __u64 at, const char *name, int firstlineno, __u32 version)
{
	const struct py_layout *layout = &fake->layout;
	struct fake_memory *m = &fake->memory;
	__u32 i;

	for (i = 0; i < layout->code_size / 8; i++)
		fake_put64(m, at + 8 * i, 0x1000 + i);
	fake_put64(m, at + layout->code_name, fake_ascii(fake, name));
	if (layout->code_qualname != PY_NO_OFFSET)
		fake_put64(m, at + layout->code_qualname, fake_ascii(fake, name));
	fake_put64(m, at + layout->code_filename, fake_ascii(fake, "/usr/lib/fake.py"));
	fake_put64(m, at + layout->code_linetable, fake_bytes_object(fake, name, strlen(name)));
	fake_put(m, at + layout->code_firstlineno, (__u32)firstlineno, 4);
	if (layout->code_version != PY_NO_OFFSET)
		fake_put(m, at + layout->code_version, version, 4);
	if (layout->code_tlbc != PY_NO_OFFSET)
		fake_put64(m, at + layout->code_tlbc, 0);
	return at;
}

/* A code object; its line table's bytes are its name. `version` as co_version, where there is one. */
static inline __u64 fake_code(struct fake_python *fake, const char *name, int firstlineno, __u32 version)
{
	return fake_code_at(fake, fake_alloc(fake, fake->layout.code_size + 64u), name, firstlineno, version);
}

/* Up to 3.10: the frame is in a loop, or it waits and says where the top of its value stack is. */
static inline void fake_stack(struct fake_python *fake, __u64 frame, bool in_loop)
{
	if (fake->layout.lasti == PY_LASTI_UNITS)
		fake_put(&fake->memory, frame + fake->layout.frame_stack, in_loop ? 0xffffffff : 3, 4);
	else
		fake_put64(&fake->memory, frame + fake->layout.frame_stack, in_loop ? 0 : frame + 0x180);
}

/* Writes a frame at `at`; `lasti` in bytes. Up to 3.10 every frame that is in a loop is an entry. */
static inline void fake_frame(struct fake_python *fake, __u64 at, __u64 code, __u64 back, int lasti, bool entry)
{
	const struct py_layout *layout = &fake->layout;
	struct fake_memory *m = &fake->memory;

	fake_put64(m, at + layout->frame_code, code | layout->code_tag_mask);
	fake_put64(m, at + layout->frame_back, back);
	if (layout->lasti == PY_LASTI_POINTER)
		fake_put64(m, at + layout->frame_lasti, code + layout->code_bytecode + (__u64)(__s64)lasti);
	else
		fake_put(m, at + layout->frame_lasti,
			 (__u32)(layout->lasti == PY_LASTI_UNITS && lasti >= 0 ? lasti / 2 : lasti), 4);
	if (layout->entry == PY_ENTRY_EVERY)
		fake_stack(fake, at, entry);
	else if (layout->entry == PY_ENTRY_FLAG)
		fake_put(m, at + layout->frame_entry, entry, 1);
	else if (layout->entry == PY_ENTRY_SHIM)
		fake_put(m, at + layout->frame_entry, 0, 1);
}

/* Writes a shim, which marks the younger frame as an entry (3.12+). */
static inline void fake_shim(struct fake_python *fake, __u64 at, __u64 back)
{
	fake_put64(&fake->memory, at + fake->layout.frame_code, 0x77777770);
	fake_put64(&fake->memory, at + fake->layout.frame_back, back);
	fake_put(&fake->memory, at + fake->layout.frame_entry, fake->layout.shim_owner, 1);
}

/* What every chain of the next thread state ends with: its base frame (3.15), or nothing. */
static inline __u64 fake_base(struct fake_python *fake)
{
	if (fake->layout.tstate_base_frame == PY_NO_OFFSET)
		return 0;
	fake->base_frame = fake_alloc(fake, PYTHON_FRAME_BYTES);
	fake_shim(fake, fake->base_frame, 0);
	return fake->base_frame;
}

/* What the oldest frame of a thread calls its previous one: its shim (3.12+), or nothing. */
static inline __u64 fake_root(struct fake_python *fake)
{
	__u64 at = FAKE_C_STACK + 0xfff80 - 0x80ull * fake->roots++;

	if (fake->layout.entry != PY_ENTRY_SHIM)
		return 0;
	fake_shim(fake, at, fake_base(fake));
	return at;
}

/* Adds an interpreter at the front of the list. */
static inline __u64 fake_interpreter(struct fake_python *fake)
{
	__u32 next = fake->layout.interp_next, threads = fake->layout.interp_threads;
	__u64 at = fake_alloc(fake, (next > threads ? next : threads) + 8u), first;

	memcpy(&first, fake_bytes(&fake->memory, fake->head, 8), 8);
	fake_put64(&fake->memory, at + next, first);
	fake_put64(&fake->memory, fake->head, at);
	return at;
}

static inline __u64 fake_get64(struct fake_python *fake, __u64 at)
{
	__u64 value = 0;

	if (fake_read(fake, &value, sizeof(value), at))
		return 0;
	return value;
}

static inline __u64 fake_cframe(struct fake_python *fake, __u64 current, __u64 previous)
{
	__u64 at = fake_alloc(fake, 32);

	fake_put64(&fake->memory, at + fake->layout.cframe_current, current);
	fake_put64(&fake->memory, at + fake->layout.cframe_current + 8, previous);
	return at;
}

/* A _PyCFrame for each loop of the chain that starts with `frame`, and the thread's own; the newest one. */
static inline __u64 fake_cframes(struct fake_python *fake, __u64 frame)
{
	const struct py_layout *layout = &fake->layout;
	__u64 current[512] = {frame}, cframe = 0;
	__u32 count = 1, i;

	for (i = 0; i < 1000 && frame && !(frame & 7) && count < 512; i++) {
		__u8 owner = 0;

		fake_read(fake, &owner, 1, frame + layout->frame_entry);
		frame = fake_get64(fake, frame + layout->frame_back);
		if (layout->entry == PY_ENTRY_FLAG ? owner : owner >= layout->shim_owner)
			current[count++] = frame;
	}
	while (count)
		cframe = fake_cframe(fake, current[--count], cframe);
	return cframe;
}

static inline void fake_set_frame(struct fake_python *fake, __u64 tstate, __u64 frame)
{
	const struct py_layout *layout = &fake->layout;

	if (layout->cframe_current != PY_NO_OFFSET)
		frame = fake_cframes(fake, frame);
	if (!frame && layout->tstate_base_frame != PY_NO_OFFSET)
		frame = fake_get64(fake, tstate + layout->tstate_base_frame);
	fake_put64(&fake->memory, tstate + layout->tstate_frame, frame);
}

/* Adds a thread state at the front of the interpreter's list. */
static inline __u64 fake_tstate(struct fake_python *fake, __u64 interp, __u64 thread, __u64 frame)
{
	const struct py_layout *layout = &fake->layout;
	__u64 at = fake_alloc(fake, 512), first;

	memcpy(&first, fake_bytes(&fake->memory, interp + layout->interp_threads, 8), 8);
	fake_put64(&fake->memory, at + layout->tstate_next, first);
	fake_put64(&fake->memory, at + layout->tstate_interp, interp);
	fake_put64(&fake->memory, at + layout->tstate_thread_id, thread);
	fake_put64(&fake->memory, interp + layout->interp_threads, at);
	if (layout->tstate_base_frame != PY_NO_OFFSET)
		fake_put64(&fake->memory, at + layout->tstate_base_frame, fake->base_frame ?: fake_base(fake));
	fake->base_frame = 0;
	fake_set_frame(fake, at, frame);
	return at;
}

/* Takes one sample of FAKE_THREAD. */
static inline void fake_python_walk(struct fake_python *fake, __u64 cached)
{
	struct python_walk *walk = &fake->s->python;

	walk->layout = fake->layout;
	walk->sequence = ++fake->sequence;
	walk->tgid = 4711;
	walk->hash = walk->hash_seed = 0x5eed;
	walk->thread_id = FAKE_THREAD;
	walk->stack_pointer = fake->stack_pointer;
	fake->memory.reads = fake->memory.failed = 0;
	python_walk(fake->s, &fake->process, cached);
}

/* An interpreter with one thread whose youngest frame is `frame`; the thread state. */
static inline __u64 fake_running(struct fake_python *fake, __u64 frame)
{
	return fake_tstate(fake, fake_interpreter(fake), FAKE_THREAD, frame);
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * _PyRuntime of a file and of its process, both hostile. Input: a count u8; so many changes of the process's
 * _PyRuntime, each { offset u16, value u8 }; and the bytes of the file's section .PyRuntime, with which the process's
 * begins.
 *
 * What is recognised has one of the layouts that there are, but for where interpreters and their threads are listed;
 * what is not has a reason. Then the process: it has one interpreter, whose state is a part of _PyRuntime, and two
 * threads with frames, which are not. Whatever its lists say now, a wrong way to the thread state is never verified,
 * and a thread whose true thread state is found has the true frames.
 */
#include <stdlib.h>
#include <string.h>

#include "../tests/unit/elf_builder.h"
#include "../tests/unit/fake_python.h"
#include "base/cursor.h"
#include "fuzz.h"
#include "runtime/python/live.h"
#include "runtime/python/thread_state.h"

#define RUNTIME       0x30000000ull /* of the process; any offset that a layout can say lies in it: */
#define RUNTIME_SIZE  0x20000
#define STATE_AT      0x1000 /* the interpreter's state, within */
#define SECTION_SIZE  0x400  /* of .PyRuntime in the file */
#define OTHER_THREAD  0x7f0022345678ull
#define THREAD_BEFORE 0x20 /* the thread-local word, and the wrong one behind it, lie before pthread_self() */
#define FRAMES        5

/* Reads: the thread lists, of each frame some pieces; and inspect looks at everything again until it has given up. */
#define READS_MAX (64ull * PYTHON_THREADS_MAX)

static bool same_but_lists(struct py_layout layout, const struct py_layout *declared)
{
	layout.interp_next = declared->interp_next;
	layout.interp_threads = declared->interp_threads;
	return !memcmp(&layout, declared, sizeof(layout));
}

/* The layout that an interpreter of this kind has; NULL: it has none. */
static const struct py_layout *declared_layout(const struct python_interpreter *found)
{
	size_t i;

	for (i = 0; i < FAKE_LAYOUTS; i++)
		if (same_but_lists(found->layout, &fake_layouts[i]) && found->version == fake_layouts[i].version &&
		    found->free_threaded == (fake_layouts[i].ob_type == 24))
			return &fake_layouts[i];
	return NULL;
}

static int recognise(const uint8_t *section, uint64_t *runtime, struct python_interpreter *ret)
{
	struct elf_builder b = elf_builder_init();
	struct diag diag = {};
	struct elf_file *elf;
	int found;

	*runtime = elf_builder_section(&b, ".PyRuntime", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, section, SECTION_SIZE)
			   ->sh_addr;
	elf_builder_finish(&b, 0);
	CHECK(!elf_file_open_memory(b.bytes, b.size, "fuzz", &elf, NULL));
	found = python_interpreter_recognise(elf, ret, &diag);
	CHECK(found > 0 || *diag.text);
	elf_file_close(elf);
	elf_builder_deinit(&b);
	return found;
}

static void map_thread(struct fake_python *fake, uint64_t thread, uint32_t tid, uint64_t state, uint64_t wrong)
{
	fake_map(&fake->memory, thread & ~0xfffull, 0x1000);
	fake_put64(&fake->memory, thread - THREAD_BEFORE, state);
	fake_put64(&fake->memory, thread - THREAD_BEFORE + 8, wrong);
	fake_put64(&fake->memory, thread + 0x10, thread); /* as glibc's descriptor (runtime/python/live.c) */
	fake_put(&fake->memory, thread + 0x2d0, tid, 4);
}

static uint64_t push_frames(struct fake_python *fake, uint64_t at, const char *name)
{
	uint64_t frame = fake_root(fake);
	int i;

	for (i = 0; i < FRAMES; i++, at += PYTHON_FRAME_BYTES) {
		fake_frame(fake, at, fake_code(fake, name, 10 + i, 100 + (uint32_t)i), frame, 4, false);
		frame = at;
	}
	return frame;
}

/* The process as it should be; FAKE_THREAD's thread state. */
static uint64_t fill_process(struct fake_python *fake, const struct py_layout *layout, const uint8_t *section,
			     uint64_t head)
{
	uint64_t heap = fake->heap, interp, state, other;

	fake_map(&fake->memory, RUNTIME, RUNTIME_SIZE);
	memcpy(fake_bytes(&fake->memory, RUNTIME, SECTION_SIZE), section, SECTION_SIZE);
	fake->layout = *layout;
	fake->process.interp_head = fake->head = head;
	fake_put64(&fake->memory, head, 0);
	fake->heap = RUNTIME + STATE_AT;
	interp = fake_interpreter(fake);
	fake->heap = heap;
	state = fake_tstate(fake, interp, FAKE_THREAD, push_frames(fake, FAKE_DATA_STACK, "mine"));
	other = fake_tstate(fake, interp, OTHER_THREAD, push_frames(fake, FAKE_DATA_STACK + 0x10000, "other"));
	map_thread(fake, FAKE_THREAD, 1, state, other);
	map_thread(fake, OTHER_THREAD, 2, other, state);
	return state;
}

static int read_thread_memory(void *context, uint64_t address, void *buffer, size_t size)
{
	return fake_read(context, buffer, (uint32_t)size, address);
}

static int read_memory(void *context, void *dst, size_t size, uint64_t address)
{
	return fake_read(context, dst, (uint32_t)size, address);
}

static void verify(struct fake_python *fake, const struct python_interpreter *found, uint64_t bias)
{
	const struct python_thread_memory memory = {.read = read_thread_memory, .context = &fake->memory};
	const struct python_thread_path path = {.count = 1, .offset = {-THREAD_BEFORE}};
	const struct python_thread_path wrong = {.count = 1, .offset = {-THREAD_BEFORE + 8}};
	struct python_thread_check check;
	struct diag diag = {};
	int err = python_thread_verify(found, bias, &memory, &path, 0, &check, &diag);

	CHECK(err ? *diag.text : check.agreed && !check.disagreed);
	diag = (struct diag){};
	CHECK(python_thread_verify(found, bias, &memory, &wrong, 0, &check, &diag) && *diag.text);
}

static void inspect(struct fake_python *fake, const struct python_interpreter *found, uint64_t bias)
{
	const struct memory memory = {.read = read_memory, .context = &fake->memory};
	struct live_threads threads = {};
	struct live_check check;

	CHECK(!vec_push(&threads.ids, 1u) && !vec_push(&threads.ids, 2u));
	live_check(&memory, &threads, EM_X86_64, found, bias, &check);
	CHECK(*check.result && (!check.verified || (check.belong && check.named <= check.running)));
	live_threads_deinit(&threads);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct second_frame frames[FRAMES];
	struct python_interpreter found = {};
	struct cursor c = cursor_init(data, size), changes;
	const struct py_layout *layout;
	uint8_t section[SECTION_SIZE] = {};
	uint64_t runtime, head, state, bias;
	const struct python_walk *walk;
	struct fake_python *fake;
	size_t count = 3u * cursor_u8(&c), left;

	changes = cursor_init(cursor_take(&c, count), count);
	if (!cursor_ok(&c))
		return 0;
	left = cursor_left(&c) < SECTION_SIZE ? cursor_left(&c) : SECTION_SIZE;
	memcpy(section, cursor_take(&c, left), left);
	if (recognise(section, &runtime, &found) != 1)
		return 0;
	if (found.to_prove)
		return 0; /* of a version that is not known: nothing it says is believed yet
			     (tests/unit/test_python_proof.c) */
	layout = declared_layout(&found);
	CHECK(layout);
	bias = RUNTIME - runtime;
	head = bias + found.interp_head;
	if (head < RUNTIME || head > RUNTIME + STATE_AT - 8)
		head = RUNTIME + SECTION_SIZE; /* the file says what is not true: it is elsewhere */
	fake = fake_python_create(layout);
	state = fill_process(fake, layout, section, head);
	walk = &fake->s->python;

	fake_python_walk(fake, 0);
	CHECK(walk->loss == LOSS_NONE && walk->thread == state && walk->count == FRAMES);
	memcpy(frames, fake->s->second_stack.frames, sizeof(frames));

	while (cursor_left(&changes)) {
		uint64_t at = RUNTIME + cursor_u16(&changes);

		fake_put(&fake->memory, at, cursor_u8(&changes), 1);
	}
	verify(fake, &found, bias);
	inspect(fake, &found, bias);
	fake->layout = found.layout;
	fake->process.interp_head = bias + found.interp_head;
	fake_python_walk(fake, 0);
	CHECK(walk->loss < LOSS_COUNT && walk->count <= SECOND_FRAMES_MAX && fake->memory.reads <= READS_MAX);
	if (walk->thread == state)
		CHECK(walk->loss == LOSS_NONE && walk->count == FRAMES &&
		      !memcmp(frames, fake->s->second_stack.frames, sizeof(frames)));
	fake_python_destroy(fake);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A version that is not known, 3.16: its own offsets are believed when a process bears them out, and none that lies is.
 * The process is made by fake_python.h; what its objects are, its line tables and its threads' descriptors here.
 */
#include <elf.h>

#include "fake_python.h"
#include "runtime/python/live.h"
#include "python_image.h"
#include "tap.h"

#define VERSION 0x031000a1
#define UNITS   20

/* Words of the structure, from the cookie on. */
enum {
	THREAD = 22,
	THREAD_ID = THREAD + 8,
	UNICODE = 89,
};

static __u64 fake_type(struct fake_python *fake, const char *name)
{
	__u64 at = fake_alloc(fake, 64), text = fake_alloc(fake, 16);

	memcpy(fake_bytes(&fake->memory, text, strlen(name) + 1), name, strlen(name) + 1);
	fake_put64(&fake->memory, at + fake->layout.type_name, text);
	return at;
}

static void set_type(struct fake_python *fake, __u64 object, const char *name)
{
	fake_put64(&fake->memory, object + fake->layout.ob_type, fake_type(fake, name));
}

/* A code object in which everything is as in an interpreter. */
static __u64 whole_code(struct fake_python *fake, const char *name, int firstlineno)
{
	const struct py_layout *layout = &fake->layout;
	__u64 code = fake_code(fake, name, firstlineno, 7);
	const __u16 texts[] = {layout->code_name, layout->code_qualname, layout->code_filename};
	__u8 table[UNITS * 2];
	char qualname[64];
	size_t i;

	for (i = 0; i < UNITS; i++) { /* of one unit and one line each */
		table[2 * i] = 0x80 | 11 << 3;
		table[2 * i + 1] = 0;
	}
	snprintf(qualname, sizeof(qualname), "%s%s", *name == '<' ? "" : "Class.", name);
	fake_put64(&fake->memory, code + layout->code_qualname, fake_ascii(fake, qualname));
	fake_put64(&fake->memory, code + layout->code_linetable, fake_bytes_object(fake, table, sizeof(table)));
	for (i = 0; i < 3; i++)
		set_type(fake, fake_get64(fake, code + texts[i]), "str");
	set_type(fake, fake_get64(fake, code + layout->code_linetable), "bytes");
	set_type(fake, code, "code");
	fake_put64(&fake->memory, code + layout->bytes_size, UNITS);
	return code;
}

/* One thread: <module>, below it a call through C, and a function that was called by another. */
static struct fake_python *process(const struct py_layout *layout)
{
	struct fake_python *fake = fake_python_create(layout);
	__u64 at = FAKE_DATA_STACK, shim = FAKE_C_STACK + 0x1000, tstate;

	fake_frame(fake, at, whole_code(fake, "<module>", 1), fake_root(fake), 8, true);
	fake_shim(fake, shim, at);
	fake_frame(fake, at + 0x80, whole_code(fake, "outer", 10), shim, 6, true);
	fake_frame(fake, at + 0x100, whole_code(fake, "inner", 30), at + 0x80, 4, false);
	tstate = fake_running(fake, at + 0x100);
	fake_map(&fake->memory, FAKE_THREAD & ~0xfffull, 0x1000);
	fake_put64(&fake->memory, FAKE_THREAD + 0x10, FAKE_THREAD);
	fake_put(&fake->memory, FAKE_THREAD + 0x2d0, 501, 4);
	fake->s->python.thread = tstate;
	return fake;
}

static int read_memory(void *context, void *dst, size_t size, uint64_t address)
{
	return fake_read(context, dst, (uint32_t)size, address);
}

static struct live_check check(struct fake_python *fake, const struct python_interpreter *interpreter)
{
	const struct memory memory = {.read = read_memory, .context = &fake->memory};
	struct python_interpreter at_head = *interpreter;
	uint32_t ids[] = {501};
	struct live_threads threads = {.ids = {ids, 1, 1}};
	struct live_check ret;

	at_head.interp_head = fake->head;
	live_check(&memory, &threads, EM_X86_64, &at_head, 0, &ret);
	return ret;
}

static struct image image_of(const uint64_t *words, size_t size, bool free_threaded)
{
	struct image image;

	image_init(&image, VERSION, free_threaded);
	memcpy(&image.words[3], words, size);
	return image;
}

/* The layout that a process must have for the image to be true; where it lists what is what the image says. */
static struct py_layout layout_of_image(const struct image *image, bool free_threaded)
{
	struct py_layout layout = {};
	size_t i;

	for (i = 0; i < FAKE_LAYOUTS; i++)
		if (fake_layouts[i].version == 0x030f && (fake_layouts[i].ob_type == 24) == free_threaded)
			layout = fake_layouts[i];
	layout.interp_next = (__u16)image->words[8];
	layout.interp_threads = (__u16)image->words[9];
	layout.tstate_thread_id = (__u16)image->words[THREAD_ID];
	return layout;
}

/* Every word that is used, said to be another one: refused, or nothing that a frame is read by has changed. */
static void test_lies(struct fake_python *fake, const struct image *image, const struct python_interpreter *truth,
		      const char *name)
{
	static const int64_t changes[] = {-16, -8, -4, -2, -1, 1, 2, 4, 8, 16, 24};
	size_t word, i, refused = 0, believed = 0, same = 0;

	for (word = 7; word < UNICODE + 5; word++) {
		for (i = 0; i < sizeof(changes) / sizeof(*changes); i++) {
			struct python_interpreter lying = {};
			struct image lie = *image;

			lie.words[word] += (uint64_t)changes[i];
			if (image_recognise(&lie, &lying) != 1) {
				refused++;
				continue;
			}
			lying.layout.interp_next = truth->layout.interp_next;
			if (!memcmp(&lying.layout, &truth->layout, sizeof(lying.layout)))
				same++;
			else if (!check(fake, &lying).verified)
				refused++;
			else if (++believed)
				printf("# word %zu %+ld is believed\n", word, (long)changes[i]);
		}
	}
	is_int(believed, 0, "%s: of %zu lies none is believed (%zu are of no use)", name, refused + believed, same);
}

static void test_invented(const uint64_t *words, size_t size, bool free_threaded, uint64_t thread_id, const char *name)
{
	struct image image = image_of(words, size, free_threaded);
	struct python_interpreter found = {};
	struct py_layout layout;
	struct fake_python *fake;
	struct live_check said;

	image.words[THREAD_ID] = thread_id;
	layout = layout_of_image(&image, free_threaded);
	fake = process(&layout);
	is_int(image_recognise(&image, &found), 1, "%s: its offsets can be read", name);
	ok(found.version == 0x0310 && found.to_prove, "%s: they are to be proved", name);
	said = check(fake, &found);
	ok(said.verified && !said.refuted && said.proving == 1 && said.frames == 3, "%s: proved: %s", name,
	   said.result);
	fake->s->python.layout = fake->layout = found.layout;
	fake_python_walk(fake, 0);
	ok(fake->s->python.count == 3 && !fake->s->python.loss, "%s: and the walk goes by them", name);
	test_lies(fake, &image, &found, name);

	fake_put64(&fake->memory, fake->s->python.thread + layout.tstate_frame,
		   fake_get64(fake, fake->s->python.thread + layout.tstate_base_frame));
	said = check(fake, &found);
	ok(!said.verified && !said.refuted, "%s: a thread without frames says nothing: %s", name, said.result);
	fake_put64(&fake->memory, fake->head, 0);
	said = check(fake, &found);
	ok(!said.verified && !said.refuted, "%s: nor does a process that has yet to start", name);
	fake_python_destroy(fake);
}

/* What a chain must not be: each damage to the true process is seen. */
static void test_damage(void)
{
	struct image image = image_of(offsets_3_15, sizeof(offsets_3_15), false);
	struct py_layout layout = layout_of_image(&image, false);
	const __u64 top = FAKE_DATA_STACK + 0x100, bottom = FAKE_DATA_STACK;
	struct python_interpreter found = {};
	struct live_check said;
	size_t i;

	image_recognise(&image, &found);
	for (i = 0; i < 9; i++) {
		struct fake_python *fake = process(&layout);
		struct fake_memory *m = &fake->memory;
		__u64 code = fake_get64(fake, top) & ~3ull, table = fake_get64(fake, code + layout.code_linetable),
		      base = fake_get64(fake, fake->s->python.thread + layout.tstate_base_frame);

		switch (i) {
		case 0:
			fake_put64(m, top + layout.frame_back, top);
			break;
		case 1:
			fake_put64(m, bottom + layout.frame_back, 0);
			break;
		case 2:
			fake_put64(m, top + layout.frame_lasti, code + layout.code_bytecode + 2 * UNITS);
			break;
		case 3:
			fake_put64(m, top + layout.frame_lasti, code + layout.code_bytecode + 5);
			break;
		case 4:
			fake_put64(m, table + layout.bytes_size, 2 * UNITS - 2);
			break;
		case 5:
			fake_put(m, code + layout.code_firstlineno, 0x7fffff00, 4);
			break;
		case 6:
			set_type(fake, code, "cell");
			break;
		case 7:
			fake_put64(m, table + layout.bytes_size, 1ull << 40);
			break;
		case 8:
			fake_put64(m, base + layout.frame_back, top);
			break;
		}
		said = check(fake, &found);
		ok(!said.verified && said.refuted, "damage %zu: %s", i, said.result);
		fake_python_destroy(fake);
	}
}

int main(void)
{
	test_invented(offsets_3_15, sizeof(offsets_3_15), false, 176, "3.16 as 3.15");
	test_invented(offsets_3_15, sizeof(offsets_3_15), false, 216, "3.16 of larger thread states");
	test_invented(offsets_3_15t, sizeof(offsets_3_15t), true, 176, "3.16t as 3.15t");
	test_invented(offsets_3_15t, sizeof(offsets_3_15t), true, 216, "3.16t of larger thread states");
	test_damage();
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Variables of a frame that is made of bytes: what they are, in the shapes of 3.10, 3.12 and 3.14; and that no byte of
 * it, whatever it is changed to, makes the reading go astray. That the shapes are those of real interpreters, layouts.t
 * and tests/stack/locals.t show.
 *
 * With a folder given it writes there the images: seeds for fuzz_python_locals.
 */
#include <errno.h>
#include <stdlib.h>

#include "fake_python_locals.h"
#include "tap.h"

static int read_image(void *context, void *dst, size_t size, uint64_t address)
{
	const struct locals_image *image = context;
	uint64_t offset = address - locals_base;

	if (offset > sizeof(image->bytes) || size > sizeof(image->bytes) - offset)
		return -EFAULT;
	memcpy(dst, image->bytes + offset, size);
	return 0;
}

static struct runtime_locals read_locals(const struct locals_image *image, struct runtime_effort *effort)
{
	const struct memory memory = {.read = read_image, .context = (void *)image};
	struct py_reader reader = {
		.memory = &memory, .layout = &image->layout, .objects = &image->objects, .effort = effort};
	struct runtime_locals locals = {};

	if (python_locals(&reader, image->frame, &locals))
		abort();
	return locals;
}

static const struct runtime_local wanted[] = {
	{"number", "-1152921504606846977"},
	{"text", "'it\\'s \"\\n'"},
	{"pair", "(-1152921504606846977, <toy.Class object at 0x10f00>)"},
	{"table", "{'it\\'s \"\\n': 1.5}"},
	{"data", "b'\\x00\\xff'"},
	{"bad", "?"},
	{"free", "1.5"},
};
#define WANTED (sizeof(wanted) / sizeof(*wanted))

static void test_values(void)
{
	size_t version, i;

	for (version = 0; version < LOCALS_VERSIONS; version++) {
		struct locals_image image = locals_image(version);
		struct runtime_effort effort = {.until = UINT64_MAX, .reads = 100000};
		struct runtime_locals locals = read_locals(&image, &effort);

		ok(locals.known && locals.list.count == WANTED, "version %#x: all variables", image.layout.version);
		for (i = 0; i < WANTED && i < locals.list.count; i++) {
			is_str(locals.list.at[i].name, wanted[i].name, "its name");
			is_str(locals.list.at[i].value, wanted[i].value, "its value");
		}
		runtime_locals_deinit(&locals);
	}
}

/* Wherever the border of a page falls: in a type's name, a text, a number. */
static void test_borders(void)
{
	size_t version, i, wrong = 0;

	for (locals_base = 0x10000 - LOCALS_CLASS; locals_base < 0x10000; locals_base += 16)
		for (version = 0; version < LOCALS_VERSIONS; version++) {
			struct locals_image image = locals_image(version);
			struct runtime_effort effort = {.until = UINT64_MAX, .reads = 100000};
			struct runtime_locals locals = read_locals(&image, &effort);
			bool good = locals.known && locals.list.count == WANTED;

			/* The address of the object of a class is another one. */
			for (i = 0; good && i < WANTED; i++)
				good = !strcmp(locals.list.at[i].value, wanted[i].value) ||
				       strstr(wanted[i].value, "<toy.Class object at 0x10f00>");
			if (!good)
				wrong++;
			runtime_locals_deinit(&locals);
		}
	locals_base = 0x10000;
	ok(!wrong, "values that lie across the border of a page: %zu of %zu wrong", wrong,
	   LOCALS_CLASS / 16 * (size_t)LOCALS_VERSIONS);
}

static void test_effort(void)
{
	struct locals_image image = locals_image(1);
	uint64_t needed = 100000, reads, whole = 0, partly = 0;
	struct runtime_effort effort = {.until = UINT64_MAX, .reads = needed};
	struct runtime_locals locals = read_locals(&image, &effort);

	needed -= effort.reads;
	runtime_locals_deinit(&locals);
	for (reads = 0; reads < needed + 2; reads++) {
		effort = (struct runtime_effort){.until = UINT64_MAX, .reads = reads};
		locals = read_locals(&image, &effort);
		whole += locals.known;
		partly += !locals.known && locals.list.count &&
			  !strcmp(locals.list.at[locals.list.count - 1].name, "...");
		runtime_locals_deinit(&locals);
	}
	ok(whole == 1, "known with enough reads only");
	ok(partly > needed / 2, "else what was read is marked as not all");
	effort = (struct runtime_effort){.until = 1, .reads = needed * 2};
	locals = read_locals(&image, &effort);
	ok(!locals.known && !locals.list.count, "and not at all after its time");
	runtime_locals_deinit(&locals);
}

static bool bounded(const struct runtime_locals *locals)
{
	size_t i;

	for (i = 0; i < locals->list.count; i++)
		if (strlen(locals->list.at[i].name) >= sizeof(((struct py_text *)NULL)->bytes) ||
		    strlen(locals->list.at[i].value) >= sizeof(((struct py_text *)NULL)->bytes))
			return false;
	return locals->list.count <= 2 * PY_LOCALS_MAX;
}

/* Every word, to what leads somewhere else, is too large, or is close to a bound. */
static void test_mutated(void)
{
	const uint64_t values[] = {
		0,          1,          7,          UINT64_MAX,  1ull << 63,
		1ull << 47, 0xffffffff, 1ull << 40, locals_base, locals_base + LOCALS_BYTES - 8};
	size_t version, at, i, runs = 0;
	bool good = true;

	for (version = 0; version < LOCALS_VERSIONS; version++)
		for (at = 0; at < LOCALS_BYTES; at += 8)
			for (i = 0; i < sizeof(values) / sizeof(*values) + 4; i++, runs++) {
				struct locals_image image = locals_image(version);
				struct runtime_effort effort = {.until = UINT64_MAX, .reads = 100000};
				struct runtime_locals locals;

				if (i < sizeof(values) / sizeof(*values))
					memcpy(image.bytes + at, &values[i], 8);
				else
					image.bytes[at + i % 8] ^= (uint8_t)(1 << i % 7);
				locals = read_locals(&image, &effort);
				good = good && bounded(&locals);
				runtime_locals_deinit(&locals);
			}
	ok(good, "%zu images with a word or byte changed: bounded", runs);
}

static int write_seeds(const char *folder)
{
	size_t version;

	for (version = 0; version < LOCALS_VERSIONS; version++) {
		struct locals_image image = locals_image(version);
		char path[512];
		FILE *file;

		snprintf(path, sizeof(path), "%s/version-%zu", folder, version);
		file = fopen(path, "we");
		if (!file)
			return 1;
		fputc((int)version, file);
		fwrite(image.bytes, 1, sizeof(image.bytes), file);
		fclose(file);
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2)
		return write_seeds(argv[1]);
	test_values();
	test_borders();
	test_effort();
	test_mutated();
	return tap_done();
}

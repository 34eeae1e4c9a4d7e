// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An allocation fails, each one in turn. While names are given: what there was memory for is named, and nothing is lost
 * without a word. While a script's values are printed as JSON: it stays JSON. While tasks are read: it is told, and all
 * that was allocated is freed.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "engine/names.h"
#include "fake_python_tasks.h"
#include "tap.h"
#include "lang/dialect/bpftrace/print/print.h"

#define TIMES     8
#define KERNEL    0xffffffff81000000ull
#define TRIES_MAX 400

#ifndef __SANITIZE_ADDRESS__
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void __libc_free(void *old);

static unsigned long fail_at, asked; /* 0: none fails */
static long held;

static bool fails(void)
{
	if (!fail_at || ++asked != fail_at)
		return false;
	errno = ENOMEM;
	return true;
}

static void *hold(void *old, void *new)
{
	held += new && !old;
	return new;
}

void *malloc(size_t size)
{
	return fails() ? NULL : hold(NULL, __libc_malloc(size));
}

void *calloc(size_t count, size_t size)
{
	return fails() ? NULL : hold(NULL, __libc_calloc(count, size));
}

void *realloc(void *old, size_t size)
{
	return fails() ? NULL : hold(old, __libc_realloc(old, size));
}

void *reallocarray(void *old, size_t count, size_t size)
{
	return fails() ? NULL : hold(old, __libc_realloc(old, count * size));
}

void free(void *old)
{
	held -= old != NULL;
	__libc_free(old);
}

static struct perf_map *no_map(void *context, const struct mapped_file *file)
{
	(void)context, (void)file;
	return NULL;
}

struct given {
	int err;
	unsigned int unnamed;
	char text[3 * TIMES][64];
};

/* Names addresses of the kernel, of no file, and of one; allocation `at` fails. */
static void give(struct objects *objects, uint32_t file, uint64_t vaddr, unsigned long at, struct given *ret)
{
	struct store store = {};
	struct names names = {.store = &store,
			      .objects = objects,
			      .frames = frames_create(),
			      .perf_map = no_map,
			      .kernel = kernel_names_create(false)};
	uint32_t i, number;

	*ret = (struct given){};
	for (i = 0; i < TIMES; i++) {
		store_location(&store, &(struct location){.object = file, .address = vaddr + i}, &number);
		store_location(&store, &(struct location){.object = LOCATION_UNKNOWN, .address = 1 + i}, &number);
		store_location(&store, &(struct location){.object = LOCATION_KERNEL, .address = KERNEL + i}, &number);
	}
	asked = 0;
	fail_at = at;
	ret->err = names_give_all(&names);
	fail_at = 0;
	for (i = 0; i < 3 * TIMES; i++) {
		const struct location *location = &store.locations.at[i];

		if (location->named)
			snprintf(ret->text[i], sizeof(ret->text[i]), "%s",
				 frames_at(names.frames, LOCATION_FRAME(location->named))->name);
		else
			ret->unnamed++;
	}
	store_deinit(&store);
	frames_destroy(names.frames);
	kernel_names_destroy(names.kernel);
}

static void test_each(struct objects *objects, uint32_t file, uint64_t vaddr, const struct given *whole)
{
	unsigned int silent = 0, left = 0, failed = 0;
	struct given given;
	unsigned long at;

	for (at = 1; at <= TRIES_MAX; at++) {
		give(objects, file, vaddr, at, &given);
		if (asked < at)
			break;
		failed += !!given.err;
		silent += !given.err && memcmp(&given, whole, sizeof(given));
		left += given.unnamed > 1 && at > 1; /* the first is the list of all */
	}
	ok(at > 10 && failed > 5, "%lu allocations, %u of them needed", at - 1, failed);
	is_int(silent, 0, "none is missed without a word");
	is_int(left, 0, "none costs more than one name");
}

/* @m[("k", IPv4 address)] = 7, with the same key in a record's field. */
struct printed {
	char text[8];
	uint64_t family;
	uint8_t address[16];
	int64_t value;
};

static void print(const struct printer *printer, struct printed *bytes)
{
	static const struct type string = {.kind = TYPE_STRING, .size = 8}, inet = {.kind = TYPE_INET, .size = 24};
	static const struct type_field fields[] = {{.name = "s", .type = &string},
						   {.name = "a", .type = &inet, .offset = 8}};
	static const struct type record = {.kind = TYPE_RECORD, .size = 32, .fields = fields, .field_count = 2};
	static const struct type number = {.kind = TYPE_INT, .size = 8, .is_signed = true};
	const struct symbol map = {.name = "m", .is_map = true, .key = &string, .value = &number};
	struct map_entry entry = {.key = (uint8_t *)bytes->text, .value = (uint8_t *)&bytes->value};

	print_value_line(printer, &record, (const uint8_t *)bytes);
	print_map(printer, &map, &entry, 1, 0, 1);
}

/* Whether the text is what it should be, but for strings that may be empty. */
static bool is_json(const char *text, const char *whole)
{
	while (*whole) {
		if (*text != *whole)
			return false;
		text++;
		if (*whole++ == '"' && *text == '"')
			while (*whole != '"')
				whole++;
	}
	return !*text;
}

static void test_json(void)
{
	static const char whole[] = "{\"type\": \"value\", \"data\": {\"s\": \"k\", \"a\": \"10.0.0.1\"}}\n"
				    "{\"type\": \"map\", \"data\": {\"@m\": {\"k\": 7}}}\n";
	struct printed bytes = {.text = "k", .family = 2, .address = {10, 0, 0, 1}, .value = 7};
	char text[512], buffer[512];
	unsigned int odd = 0, cut = 0;
	unsigned long at;

	for (at = 0; at <= TRIES_MAX; at++) {
		struct printer printer = {.json = true, .out = fmemopen(text, sizeof(text), "w")};

		if (!printer.out)
			break;
		setvbuf(printer.out, buffer, _IOFBF, sizeof(buffer));
		asked = 0;
		fail_at = at;
		print(&printer, &bytes);
		fail_at = 0;
		fclose(printer.out);
		if (at && asked < at)
			break;
		if (!at)
			is_str(text, whole, "a value and a map as JSON");
		odd += !is_json(text, whole);
		cut += strcmp(text, whole) != 0;
		if (!is_json(text, whole))
			printf("# allocation %lu: %s", at, text);
	}
	ok(at > 3 && cut > 2, "%lu allocations, %u of them needed", at - 1, cut);
	is_int(odd, 0, "what there is no memory for is an empty string");
}

static int read_image(void *context, void *dst, size_t size, uint64_t address)
{
	const struct locals_image *image = context;
	uint64_t offset = address - locals_base;

	if (offset > sizeof(image->bytes) || size > sizeof(image->bytes) - offset)
		return -EFAULT;
	memcpy(dst, image->bytes + offset, size);
	return 0;
}

static void test_tasks(void)
{
	struct tasks_image made = tasks_image();
	const struct memory memory = {.read = read_image, .context = &made.image};
	unsigned int silent = 0, failed = 0;
	unsigned long at;
	long before = held;

	for (at = 1; at <= TRIES_MAX; at++) {
		struct runtime_effort effort = {.until = UINT64_MAX, .reads = 100000};
		struct runtime_tasks tasks;
		int err;

		asked = 0;
		fail_at = at;
		err = python_tasks(&memory, &made.interpreter, 0, &effort, &tasks);
		fail_at = 0;
		failed += err == -ENOMEM;
		silent += asked >= at && !err &&
			  (tasks.list.count != 2 || !tasks.list.at[0].frames.count || !tasks.list.at[1].frames.count);
		runtime_tasks_deinit(&tasks);
		if (asked < at)
			break;
	}
	ok(at > 10 && failed > 5, "tasks: %lu allocations, %u of them needed", at - 1, failed);
	is_int(silent, 0, "nothing is missing without a word");
	is_int(held - before, 0, "all is freed");
}

static int run(void)
{
	struct processes *processes = processes_create();
	struct objects *objects = objects_create(NULL);
	const struct process_mapping *mapping;
	struct object *object = NULL;
	struct process *process;
	struct given whole;
	uint64_t vaddr = 0;

	if (processes_scan(processes, getpid(), 1, &process)) {
		printf("1..0 # SKIP /proc/self/maps cannot be read\n");
		return 0;
	}
	mapping = process_find_mapping(process, (uintptr_t)run, UINT64_MAX - 1);
	if (mapping)
		object = objects_get(objects, mapping->file, process, mapping);
	if (ok(object && object_vaddr(object, mapping, (uintptr_t)give, &vaddr), "this program's own file")) {
		give(objects, LOCATION_FILES + mapping->file->index, vaddr, 0, &whole);
		ok(!whole.err && !whole.unnamed, "all are named");
		is_str(whole.text[0], "give", "by their symbols");
		test_each(objects, LOCATION_FILES + mapping->file->index, vaddr, &whole);
	}
	objects_destroy(objects);
	processes_destroy(processes, NULL);
	test_json();
	test_tasks();
	return tap_done();
}
#endif

int main(void)
{
#ifdef __SANITIZE_ADDRESS__
	printf("1..0 # SKIP AddressSanitizer has allocations of its own\n");
	return 0;
#else
	return run();
#endif
}

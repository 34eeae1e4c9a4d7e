// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/resolver.h"
#include "kernel/kernel_names.h"

/* Where one object's names are. */
struct source {
	const struct names *names;
	struct resolver resolver; /* its object is NULL: not a file's, or not known */
	char build_id[ELF_BUILD_ID_TEXT]; /* if frames keep it */
	bool last;                        /* what there is no memory for is named by its address */
	int err;                          /* -ENOMEM: some were */
};

static int add_frame(const struct source *source, enum frame_layer layer, const char *name, const char *file,
		     uint32_t *ret)
{
	const struct frame frame = {.layer = layer, .name = name, .file = file};

	return frames_add(source->names->frames, &frame, ret);
}

/*
 * Where exec has passed the point of no return (fs/binfmt_elf.c, fs/exec.c): the old program's stack does not exist any
 * more and the new one has not run yet, so the user registers saved at the system call lead nowhere.
 */
static bool is_exec_function(const char *name)
{
	return !strcmp(name, "begin_new_exec") || !strcmp(name, "load_elf_binary");
}

/* *is: LOCATION_IS_EXEC, LOCATION_IS_SCHEDULER. */
static int name_kernel(const struct source *source, const struct location *location, uint64_t *is, uint32_t *ret)
{
	struct kernel_names *kernel = source->names->kernel;
	uint64_t address = location->address - location->is_return;
	const char *name = kernel ? kernel_names_lookup(kernel, address, NULL) : NULL;
	struct frame frame = {.layer = FRAME_KERNEL};
	char text[32];

	if (!name) {
		snprintf(text, sizeof(text), "0x%" PRIx64, location->address);
		name = text;
	}
	*is = is_exec_function(name) ? LOCATION_IS_EXEC : 0;
	if (kernel && kernel_names_is_scheduler(kernel, address))
		*is |= LOCATION_IS_SCHEDULER;
	frame.name = name;
	if (source->names->detail == FRAME_PLACES)
		frame.address = location->address;
	return frames_add(source->names->frames, &frame, ret);
}

static int name_unknown(const struct source *source, const struct location *location, uint32_t *ret)
{
	char text[48];

	snprintf(text, sizeof(text), "[unknown 0x%" PRIx64 "]", location->address);
	return add_frame(source, FRAME_MARK, text, "", ret);
}

static void keep_detail(const struct source *source, const struct location *location, bool has_symbol,
			struct frame *frame)
{
	const struct mapped_file *file = source->resolver.object->file;

	if (source->names->detail == FRAME_NAMES || frame->layer != FRAME_NATIVE)
		return;
	if (file->kind != FILE_ANONYMOUS) {
		frame->path = file->path;
		frame->build_id = source->build_id;
	}
	if (source->names->detail == FRAME_PLACES || (!has_symbol && file->kind != FILE_ANONYMOUS))
		frame->address = location->address;
}

/*
 * Adds a native frame with its line; and the functions that were inlined there, each of which knows the frame around
 * it. *ret is the innermost.
 */
static int add_with_lines(const struct source *source, const struct location *location, const struct frame *function,
			  uint32_t *ret)
{
	struct source_frame lines[SOURCE_FRAMES_MAX];
	size_t left = source->names->lines && function->layer == FRAME_NATIVE
			      ? resolver_lines(&source->resolver, location->address, location->is_return, lines)
			      : 0;
	struct frame frame = *function;
	int err = left ? 0 : frames_add(source->names->frames, &frame, ret);

	while (left-- && !err) {
		frame.source = lines[left].file && lines[left].line ? lines[left].file : "";
		frame.line = *frame.source ? (int)lines[left].line : 0;
		err = frames_add(source->names->frames, &frame, ret);
		frame.inlined_into = *ret + 1;
		if (left)
			frame.name = lines[left - 1].function ? lines[left - 1].function : "?";
	}
	return err;
}

static int name_native(struct source *source, const struct location *location, uint32_t *ret)
{
	struct frame frame = {};
	struct resolved name;
	int err = resolver_name(&source->resolver, location->address, location->is_return, &name);

	if (err && !source->last) {
		resolved_release(&name);
		return err;
	}
	source->err = err ? err : source->err;
	frame.layer = name.layer;
	frame.name = name.name;
	frame.file = name.file;
	keep_detail(source, location, name.has_symbol, &frame);
	err = add_with_lines(source, location, &frame, ret);
	resolved_release(&name);
	return err;
}

static int name(struct source *source, const struct location *location, uint64_t *ret)
{
	enum runtime_role role = ROLE_NATIVE;
	uint64_t is = 0;
	uint32_t frame;
	int err;

	if (location->object == LOCATION_KERNEL)
		err = name_kernel(source, location, &is, &frame);
	else if (!source->resolver.object)
		err = name_unknown(source, location, &frame);
	else
		err = name_native(source, location, &frame);
	if (err)
		return err;
	if (source->resolver.object)
		role = resolver_role(&source->resolver, location->address, location->is_return);
	*ret = frame | (uint64_t)role << 32 | is | LOCATION_HAS_NAME;
	return 0;
}

/* The symbols of the locations that are to be named. 0 or -ENOMEM. */
static int open_resolver(struct source *source, struct object *object, const uint32_t *numbers, size_t count)
{
	const struct names *names = source->names;
	struct perf_map *map =
		object->file->kind == FILE_ANONYMOUS ? names->perf_map(names->context, object->file) : NULL;
	uint64_t *vaddrs = malloc((count + 1) * sizeof(*vaddrs));
	size_t i;
	int err;

	source->resolver = (struct resolver){.object = object, .map = map};
	if (!vaddrs)
		return -ENOMEM;
	for (i = 0; i < count; i++) {
		const struct location *location = &names->store->locations.at[numbers[i]];

		vaddrs[i] = location->address - location->is_return;
	}
	err = resolver_open(&source->resolver, names->namer, object, map, vaddrs, count);
	if (!err && names->lines)
		err = resolver_open_lines(&source->resolver, names->namer, vaddrs, count);
	free(vaddrs);
	return err;
}

/* What was read is read again if what is to be named can have become another's since. */
static int open_kernel(const struct names *names, const uint32_t *numbers, size_t count)
{
	bool stay = true;
	size_t i;

	if (!names->kernel)
		return 0;
	for (i = 0; i < count && stay; i++)
		stay = kernel_names_stay(names->kernel, names->store->locations.at[numbers[i]].address);
	return kernel_names_read(names->kernel, !stay);
}

/* 0 or -ENOMEM. What an object has no names for is no error. */
static int source_open(struct source *source, uint32_t number, const uint32_t *numbers, size_t count)
{
	struct object *object =
		number < LOCATION_FILES ? NULL : objects_at(source->names->objects, number - LOCATION_FILES);
	int err = 0, unranged = 0;

	if (number == LOCATION_KERNEL)
		err = open_kernel(source->names, numbers, count);
	if (object) {
		err = open_resolver(source, object, numbers, count);
		unranged = object_find_roles(object);
		if (source->names->detail != FRAME_NAMES)
			object_build_id(object, source->build_id, sizeof(source->build_id));
	}
	return err == -ENOMEM ? err : unranged;
}

/*
 * Names locations that are all of one object. When memory runs out, those are left that there is none for; if `last`,
 * all others are named as well as it can be done, by their addresses. 0 or -ENOMEM.
 */
static int name_group(const struct names *names, uint32_t object, const uint32_t *numbers, size_t count, bool last)
{
	struct source source = {.names = names, .last = last};
	int ret = source_open(&source, object, numbers, count);
	size_t i;

	for (i = 0; i < count && (last || !ret); i++) {
		struct location *location = &names->store->locations.at[numbers[i]];
		uint64_t named;
		int err = name(&source, location, &named);

		if (err)
			ret = err;
		else
			location->named = named;
	}
	resolver_close(&source.resolver);
	return ret ? ret : source.err;
}

/* Takes those that were named off the list. */
static void strike_named(struct store *store)
{
	size_t i, kept = 0;

	for (i = 0; i < store->unnamed.count; i++)
		if (!store->locations.at[store->unnamed.at[i]].named)
			store->unnamed.at[kept++] = store->unnamed.at[i];
	store->unnamed.count = kept;
}

int names_give(const struct names *names, uint32_t object)
{
	struct store *store = names->store;
	VEC(uint32_t) numbers = {};
	size_t i;
	int err = 0;

	for (i = 0; i < store->unnamed.count && !err; i++)
		if (store->locations.at[store->unnamed.at[i]].object == object)
			err = vec_push(&numbers, store->unnamed.at[i]);
	if (!err && numbers.count)
		err = name_group(names, object, numbers.at, numbers.count, false);
	if (numbers.count)
		strike_named(store);
	vec_free(&numbers);
	return err;
}

static int by_object(const void *a, const void *b, void *context)
{
	const struct location *locations = context, *x = &locations[*(const uint32_t *)a],
			      *y = &locations[*(const uint32_t *)b];

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

int names_give_all(const struct names *names)
{
	struct store *store = names->store;
	uint32_t *numbers = store->unnamed.at;
	size_t count = store->unnamed.count, i, first = 0;
	int ret = 0;

	if (count)
		qsort_r(numbers, count, sizeof(*numbers), by_object, store->locations.at);
	for (i = 0; i < count; i++) {
		uint32_t object = store->locations.at[numbers[first]].object;

		if (i + 1 < count && store->locations.at[numbers[i + 1]].object == object)
			continue;
		if (name_group(names, object, &numbers[first], i + 1 - first, true))
			ret = -ENOMEM;
		first = i + 1;
	}
	strike_named(store);
	return ret;
}

/* A frame, and those that it was inlined into. */
static void use(const struct names *names, uint32_t frame, uint8_t *used)
{
	const struct frame *at;

	while ((at = frames_at(names->frames, frame))) {
		used[frame] = 1;
		if (!at->inlined_into)
			return;
		frame = at->inlined_into - 1;
	}
}

int names_forget(const struct names *names)
{
	uint8_t *used = calloc(frames_count(names->frames) + 1, 1);
	size_t i;
	int err = -ENOMEM;

	for (i = 0; used && i < names->store->locations.count; i++) {
		const struct location *location = &names->store->locations.at[i];

		if (location->named)
			use(names, LOCATION_FRAME(location->named), used);
	}
	if (used)
		err = frames_forget(names->frames, used);
	free(used);
	return err;
}

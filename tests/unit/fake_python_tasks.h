/* SPDX-License-Identifier: GPL-2.0-or-later */
/* fake_python_tasks: an interpreter with two of asyncio's tasks, one of which awaits the other, as bytes: 3.12's shape.
 */
#ifndef STRATA_TESTS_FAKE_PYTHON_TASKS_H
#define STRATA_TESTS_FAKE_PYTHON_TASKS_H

#include "fake_python_locals.h"
#include "runtime/python/tasks.h"

struct tasks_image {
	struct locals_image image;
	struct python_interpreter interpreter;
	uint64_t tasks[2]; /* the second awaits the first */
};

/* A dict whose keys are strings. */
static inline uint64_t tasks_dict(struct locals_image *image, uint64_t type, const uint64_t (*items)[2], size_t count)
{
	const struct py_objects *objects = &image->objects;
	uint64_t at = locals_object(image, type, 40);
	uint64_t keys = locals_take(image, objects->keys_indices + 8 + 16 * count);
	size_t i;

	locals_put(image, at + image->layout.bytes_size, count);
	locals_put(image, at + objects->dict_keys, keys);
	locals_put(image, keys + 8, 3 | 3 << 8 | 1 << 16);
	locals_put(image, keys + objects->keys_entries, count);
	for (i = 0; i < count; i++) {
		locals_put(image, keys + objects->keys_indices + 8 + 16 * i, items[i][0]);
		locals_put(image, keys + objects->keys_indices + 16 + 16 * i, items[i][1]);
	}
	return at;
}

/* A suspended coroutine that awaits something; its code has no lines but the first. */
static inline uint64_t tasks_coroutine(struct locals_image *image, uint64_t type, uint64_t code, uint64_t awaits)
{
	const struct py_objects *objects = &image->objects;
	uint64_t at = locals_object(image, type, objects->gen_frame + 88), frame = at + objects->gen_frame;

	image->bytes[at + objects->gen_state - locals_base] = (uint8_t)-1; /* FRAME_SUSPENDED */
	locals_put(image, frame + image->layout.frame_code, code);
	locals_put(image, frame + image->layout.frame_lasti, code + image->layout.code_bytecode);
	locals_put(image, frame + objects->frame_top, 1);
	locals_put(image, frame + objects->frame_locals, awaits);
	return at;
}

static inline uint64_t tasks_code(struct locals_image *image, uint64_t type, uint64_t name, uint64_t table)
{
	uint64_t at = locals_object(image, type, 128);

	locals_put(image, at + image->layout.code_filename, name);
	locals_put(image, at + image->layout.code_qualname, name);
	locals_put(image, at + image->layout.code_linetable, table);
	locals_put(image, at + image->layout.code_firstlineno, 42);
	/* behind the instruction: RESUME, and that it follows an await */
	locals_put(image, at + image->layout.code_bytecode, 3ull << 24);
	return at;
}

static inline struct tasks_image tasks_image(void)
{
	struct tasks_image made = {.image = {.layout = locals_layout(0x030c)}};
	struct locals_image *image = &made.image;
	uint64_t str, dict, weakref, task, code, data[4], entry[2][2], names[2], set, table, state;
	size_t i;

	image->layout.frame_lasti = 56;
	image->layout.lasti = PY_LASTI_POINTER;
	image->layout.code_filename = 16;
	image->layout.code_qualname = 24;
	image->layout.code_linetable = 32;
	image->layout.code_firstlineno = 40;
	image->layout.code_bytecode = 48;
	image->layout.code_tlbc = image->layout.cframe_current = PY_NO_OFFSET;
	image->layout.interp_next = 0;
	image->layout.interp_threads = 8;
	image->objects = python_objects(&image->layout, 0);
	/* Types are small, with the fields that are read side by side. */
	image->objects.type_flags = 0;
	image->objects.type_dict = 40;
	image->objects.type_qualname = 16;
	image->objects.interp_modules = 16;
	made.interpreter.interp_head = locals_take(image, 8);
	str = locals_type(image, "str", 0);
	dict = locals_type(image, "dict", 0);
	weakref = locals_type(image, "weakref", 0);
	task = locals_type(image, "_asyncio.Task", 0);
	code = tasks_code(image, locals_type(image, "code", 0), locals_text(image, str, "waits"),
			  locals_bytes(image, 0, NULL, 0));
	state = locals_type(image, "coroutine", 0);
	for (i = 0; i < 2; i++) {
		made.tasks[i] = locals_object(image, task, 176);
		names[i] = locals_text(image, str, i ? "outer" : "inner");
		locals_put(image, made.tasks[i] + 136,
			   tasks_coroutine(image, state, code, i ? made.tasks[0] : locals_base));
		locals_put(image, made.tasks[i] + 144, names[i]);
	}
	locals_put(image, made.tasks[1] + 128, made.tasks[0]);
	/* WeakSet.data: a set of weak references, in a table of four */
	table = locals_take(image, 64);
	for (i = 0; i < 2; i++) {
		data[i] = locals_object(image, weakref, 24);
		locals_put(image, data[i] + 16, made.tasks[i]);
		locals_put(image, table + 32 * i, data[i]);
	}
	set = locals_object(image, 0, 48);
	locals_put(image, set + image->objects.set_used, 2);
	locals_put(image, set + image->objects.set_mask, 3);
	locals_put(image, set + image->objects.set_table, table);
	data[2] = locals_object(image, locals_type(image, "WeakSet", 0), 24);
	memcpy(&state, image->bytes + (data[2] + image->layout.ob_type - locals_base), sizeof(state));
	locals_put(image, state + image->objects.type_dict + 24, 16); /* tp_dictoffset */
	entry[0][0] = locals_text(image, str, "data");
	entry[0][1] = set;
	locals_put(image, data[2] + 16, tasks_dict(image, dict, entry, 1));
	entry[0][0] = locals_text(image, str, "_scheduled_tasks");
	entry[0][1] = data[2];
	data[3] = locals_take(image, 80); /* a module */
	locals_put(image, data[3] + 16, tasks_dict(image, dict, entry, 1));
	entry[0][0] = locals_text(image, str, "sys");
	entry[0][1] = data[3];
	entry[1][0] = locals_text(image, str, "asyncio.tasks");
	entry[1][1] = data[3];
	state = locals_take(image, 24);
	locals_put(image, state + 16, tasks_dict(image, dict, entry, 2));
	locals_put(image, made.interpreter.interp_head, state);
	made.interpreter.layout = image->layout;
	made.interpreter.objects = image->objects;
	return made;
}

#endif

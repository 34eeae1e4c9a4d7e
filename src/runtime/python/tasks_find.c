// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/tasks_parts.h"

#include <string.h>

#define INTERPRETERS_MAX 1024
#define PLACES_MAX       (1u << 20)   /* of a set's table */
#define DEBUG_SPAN       (2ull << 20) /* around the module's definition in which AsyncioDebug is looked for */
#define STATICS_SPAN     (16ull << 10)
#define CHUNK            4096u
#define DEBUG_WORDS      13
#define MODULE_WORDS     8 /* of a module that are read */

/* Modules/_asynciomodule.c, of a build with 16 bytes in an object's head. */
#define NONE PY_NO_OFFSET
static const struct task_layout layouts[] = {
	{0x0306, NONE, 24, 56, 88, 96, NONE, NONE, NONE, NONE, 0, 0, 0},    /* v3.6.15 */
	{0x0307, 24, 40, 72, 104, 112, NONE, NONE, NONE, NONE, 0, 0, 0},    /* v3.7.16 */
	{0x0308, 24, 40, 72, 104, 112, 120, NONE, NONE, NONE, 0, 0, 0},     /* v3.8.18 */
	{0x0309, 24, 40, 80, 144, 152, 160, NONE, NONE, NONE, 0, 0, 0},     /* v3.9.18 */
	{0x030a, 24, 40, 88, 152, 160, 168, NONE, NONE, NONE, 0, 0, 0},     /* v3.10.13 */
	{0x030c, 24, 40, 88, 128, 136, 144, NONE, NONE, NONE, 0, 0, 0},     /* v3.11.7, v3.12.1 */
	{0x030d, 24, 40, 96, 112, 120, 128, NONE, NONE, NONE, 0, 0, 0},     /* v3.13.0 */
	{0xffff, 24, 40, NONE, NONE, NONE, NONE, NONE, NONE, NONE, 0, 0, 0} /* v3.14.0: the rest by AsyncioDebug */
};

static void shift(uint16_t *offset, uint16_t more)
{
	if (*offset != PY_NO_OFFSET)
		*offset += more;
}

static void choose_layout(struct tasks_reading *reading)
{
	uint16_t more = reading->reader.layout->bytes_size - 16;
	const struct task_layout *row = layouts;
	struct task_layout *layout = &reading->layout;

	while (row->version < reading->reader.layout->version)
		row++;
	*layout = *row;
	shift(&layout->callback0, more);
	shift(&layout->callbacks, more);
	shift(&layout->state, more);
	shift(&layout->waiter, more);
	shift(&layout->coro, more);
	shift(&layout->name, more);
}

static bool add_member(struct tasks_reading *reading, uint64_t task)
{
	const struct member member = {.task = task};

	if (!task_is_one(py_class_of(&reading->reader, &reading->classes, task)) ||
	    table_get(&reading->by_id, task, NULL))
		return true;
	if (reading->members.count == PY_TASKS_MAX) {
		tasks_limit(reading, "there are more tasks than are read");
		return false;
	}
	if (vec_push(&reading->members, member) || table_set(&reading->by_id, task, reading->members.count)) {
		reading->short_of_memory = true;
		return false;
	}
	return true;
}

static void mark_running(struct tasks_reading *reading, uint64_t task, uint64_t tstate)
{
	uint64_t index;

	if (!task || !add_member(reading, task) || !table_get(&reading->by_id, task, &index))
		return;
	reading->members.at[index - 1].running = true;
	reading->members.at[index - 1].tstate = tstate;
}

/* Tasks, or weak references to them. */
static bool add_set(struct tasks_reading *reading, uint64_t set)
{
	struct py_reader *reader = &reading->reader;
	struct py_set_items items;
	uint64_t key;

	if (!set || !py_set_begin(reader, set, PLACES_MAX, &items))
		return false;
	while (py_set_next(reader, &items, &key)) {
		/* PyWeakReference.wr_object */
		if (py_class_of(reader, &reading->classes, key) == PY_CLASS_WEAKREF &&
		    !py_read_u64(reader, key + reader->layout->bytes_size, &key))
			return false;
		if (!add_member(reading, key))
			return false;
	}
	return !items.damaged;
}

static bool add_weak_set(struct tasks_reading *reading, uint64_t object)
{
	return add_set(reading, py_attribute(&reading->reader, object, "data"));
}

static void add_current(struct tasks_reading *reading, uint64_t dict)
{
	const struct py_type *type = py_type_of(&reading->reader, dict);
	struct py_dict_items items;
	uint64_t loop, task;

	if (!type || type->kind != PY_DICT || !py_dict_begin(&reading->reader, dict, &items))
		return;
	while (py_dict_next(&reading->reader, &items, &loop, &task))
		mark_running(reading, task, 0);
}

/* Include/internal/pycore_moduleobject.h: md_dict is the first field, up to 3.14 md_def the second. */
static bool find_module(struct tasks_reading *reading, uint64_t modules, const char *name, uint64_t words[MODULE_WORDS])
{
	uint64_t module = py_dict_find(&reading->reader, modules, name);

	return module && py_read(&reading->reader, words, MODULE_WORDS * sizeof(*words),
				 module + reading->reader.layout->bytes_size);
}

/* What the module asyncio.tasks has. */
static bool add_of_module(struct tasks_reading *reading, uint64_t dict)
{
	static const char *const weak_sets[] = {"_all_tasks", "_scheduled_tasks"};
	struct py_reader *reader = &reading->reader;
	uint64_t found, class;
	bool known = false;
	size_t i;

	for (i = 0; i < sizeof(weak_sets) / sizeof(*weak_sets); i++) {
		found = py_dict_find(reader, dict, weak_sets[i]);
		known |= found && add_weak_set(reading, found);
	}
	found = py_dict_find(reader, dict, "_eager_tasks");
	if (found)
		add_set(reading, found);
	add_current(reading, py_dict_find(reader, dict, "_current_tasks"));
	if (reader->layout->version == 0x0306) {
		class = py_dict_find(reader, dict, "_PyTask") ?: py_dict_find(reader, dict, "Task");
		if (class && py_read_u64(reader, class + reader->objects->type_dict, &class)) {
			known |= add_weak_set(reading, py_dict_find(reader, class, "_all_tasks"));
			add_current(reading, py_dict_find(reader, class, "_current_tasks"));
		}
	}
	return known;
}

/* 3.6: static variables of _asyncio, all_tasks and current_tasks. */
static bool add_statics(struct tasks_reading *reading, uint64_t definition)
{
	struct py_reader *reader = &reading->reader;
	uint64_t at = (definition & ~7ull) - STATICS_SPAN, end = at + 2 * STATICS_SPAN, word;
	bool known = false;

	for (; at < end; at += 8) {
		const struct py_type *type =
			py_read_u64(reader, at, &word) && word > CHUNK ? py_type_of(reader, word) : NULL;

		if (type && !strcmp(type->name.bytes, "_weakrefset.WeakSet"))
			known |= add_weak_set(reading, word);
		else if (type && type->kind == PY_DICT)
			add_current(reading, word);
	}
	return known;
}

/* --- 3.14 and later --- */

/* { size, name, awaited_by, is_task, awaited_by_is_set, coro, node }, { size, head }, { size, loop, task, head } */
static bool take_debug(struct tasks_reading *reading, const uint64_t *words)
{
	const struct py_objects *objects = reading->reader.objects;
	struct task_layout *layout = &reading->layout;
	size_t i;

	if (words[7] != objects->interp_size || words[8] > words[7] - 16 || words[0] > 4096 || words[0] < 64 ||
	    words[9] < objects->thread_size || words[9] > 1 << 20)
		return false;
	for (i = 1; i < 7; i++)
		if (words[i] < reading->reader.layout->bytes_size || words[i] >= words[0])
			return false;
	for (i = 10; i < DEBUG_WORDS; i++)
		if (words[i] < 8 || words[i] >= words[9])
			return false;
	layout->name = (uint16_t)words[1];
	layout->awaited_by = (uint16_t)words[2];
	layout->state = (uint16_t)words[3] - 4; /* fut_state is in front of task_is_task */
	layout->awaited_by_is_set = (uint16_t)words[4];
	layout->coro = (uint16_t)words[5];
	layout->waiter = (uint16_t)words[5] - 8; /* task_fut_waiter is in front of task_coro */
	layout->node = (uint16_t)words[6];
	layout->interp_head = (uint32_t)words[8];
	layout->thread_running = (uint32_t)words[11];
	layout->thread_head = (uint32_t)words[12];
	return true;
}

/* From somewhere in the data of the file outwards. */
static bool find_debug_near(struct tasks_reading *reading, uint64_t address)
{
	uint64_t words[CHUNK / 8 + DEBUG_WORDS], middle = address & ~(uint64_t)(CHUNK - 1), distance, at;
	size_t i, count;
	int side;

	for (distance = 0; distance < DEBUG_SPAN; distance += CHUNK)
		for (side = 0; side < 2; side++) {
			at = side ? middle + distance : middle - distance;
			count = sizeof(words) / 8;
			if (!py_read(&reading->reader, words, sizeof(words), at)) {
				count = CHUNK / 8;
				if (!py_read(&reading->reader, words, CHUNK, at))
					continue;
			}
			for (i = 0; i + DEBUG_WORDS <= count; i++)
				if (take_debug(reading, words + i))
					return true;
		}
	return false;
}

/*
 * _asyncio may be a file of its own: then the module leads to its definition there, or (3.15) to its token. Or it is
 * part of the interpreter.
 */
static bool find_debug(struct tasks_reading *reading, const uint64_t module[MODULE_WORDS])
{
	size_t i;

	if (module[1] > CHUNK && find_debug_near(reading, module[1]))
		return true;
	if (find_debug_near(reading, reading->interpreter->interp_head + reading->bias))
		return true;
	for (i = 2; i < MODULE_WORDS; i++)
		if (module[i] > CHUNK && find_debug_near(reading, module[i]))
			return true;
	return false;
}

/* A list of tasks: nodes { next, prev } in a ring, whose head is not in a task. */
static bool add_list(struct tasks_reading *reading, uint64_t head)
{
	uint64_t node, count;

	if (!py_read_u64(&reading->reader, head, &node))
		return false;
	for (count = 0; node && node != head && count <= PY_TASKS_MAX; count++) {
		if (!add_member(reading, node - reading->layout.node) || !py_read_u64(&reading->reader, node, &node))
			return false;
	}
	return node == head || !node;
}

static bool add_published(struct tasks_reading *reading, uint64_t interp, size_t first_state)
{
	uint64_t task;
	bool known = add_list(reading, interp + reading->layout.interp_head);
	size_t i;

	for (i = first_state; i < reading->states.count; i++) {
		uint64_t tstate = reading->states.at[i];

		known &= add_list(reading, tstate + reading->layout.thread_head);
		if (py_read_u64(&reading->reader, tstate + reading->layout.thread_running, &task))
			mark_running(reading, task, tstate);
	}
	return known;
}

/* --- the process --- */

static void add_states(struct tasks_reading *reading, uint64_t interp)
{
	const struct py_layout *layout = reading->reader.layout;
	uint64_t tstate;

	if (!py_read_u64(&reading->reader, interp + layout->interp_threads, &tstate))
		return;
	while (tstate && reading->states.count < PYTHON_THREADS_MAX) {
		if (vec_push(&reading->states, tstate)) {
			reading->short_of_memory = true;
			return;
		}
		if (!py_read_u64(&reading->reader, tstate + layout->tstate_next, &tstate))
			return;
	}
}

/* True: its tasks are known, or it does not use asyncio. */
static bool add_interpreter(struct tasks_reading *reading, uint64_t interp)
{
	struct py_reader *reader = &reading->reader;
	uint16_t version = reader->layout->version;
	uint64_t modules, tasks[MODULE_WORDS], module[MODULE_WORDS];
	size_t first_state = reading->states.count;
	struct py_dict_items items;
	const struct py_type *type;
	bool known, has_module;

	add_states(reading, interp);
	if (!py_read_u64(reader, interp + reader->objects->interp_modules, &modules))
		return false;
	if (!modules)
		return true; /* it has only begun */
	type = py_type_of(reader, modules);
	if (!type || type->kind != PY_DICT || !py_dict_find(reader, modules, "sys"))
		return false;
	if (!find_module(reading, modules, "asyncio.tasks", tasks)) {
		if (!py_dict_begin(reader, modules, &items) || items.size <= items.count)
			return true;
		tasks_limit(reading, "there are more modules than are read");
		return false;
	}
	has_module = find_module(reading, modules, "_asyncio", module);
	known = add_of_module(reading, tasks[0]);
	if (!has_module)
		return known;
	if (version == 0x0306)
		return add_statics(reading, module[1]) || known;
	if (version >= 0x030e)
		return (reading->layout.node != PY_NO_OFFSET || find_debug(reading, module)) &&
		       add_published(reading, interp, first_state);
	return known;
}

static bool first_interpreter(struct tasks_reading *reading, uint64_t *ret)
{
	const struct python_interpreter *interpreter = reading->interpreter;
	uint64_t tstate;

	if (interpreter->interp_head)
		return py_read_u64(&reading->reader, interpreter->interp_head + reading->bias, ret);
	return interpreter->current_tstate &&
	       py_read_u64(&reading->reader, interpreter->current_tstate + reading->bias, &tstate) && tstate &&
	       py_read_u64(&reading->reader, tstate + reading->reader.layout->tstate_interp, ret);
}

bool tasks_find(struct tasks_reading *reading)
{
	uint64_t interp;
	bool known = true;
	int count;

	choose_layout(reading);
	if (!first_interpreter(reading, &interp))
		return false;
	for (count = 0; interp && count < INTERPRETERS_MAX; count++) {
		known &= add_interpreter(reading, interp);
		if (!py_read_u64(&reading->reader, interp + reading->reader.layout->interp_next, &interp))
			return false;
	}
	return known;
}

/* --- for the walk in the kernel --- */

/* Is it a dict { event loop: task }? Only one that is not empty can be told. */
static bool is_current_dict(struct tasks_reading *reading, uint64_t dict)
{
	struct py_dict_items items;
	uint64_t loop, task;

	if (!py_dict_begin(&reading->reader, dict, &items) || !items.size)
		return false;
	while (py_dict_next(&reading->reader, &items, &loop, &task))
		if (!task_is_one(py_class_of(&reading->reader, &reading->classes, task)))
			return false;
	return items.at;
}

/* 3.6: the static variable current_tasks. */
static uint64_t find_static_dict(struct tasks_reading *reading, uint64_t definition)
{
	struct py_reader *reader = &reading->reader;
	uint64_t at = (definition & ~7ull) - STATICS_SPAN, end = at + 2 * STATICS_SPAN, word;

	for (; at < end; at += 8) {
		const struct py_type *type =
			py_read_u64(reader, at, &word) && word > CHUNK ? py_type_of(reader, word) : NULL;

		if (type && type->kind == PY_DICT && is_current_dict(reading, word))
			return word;
	}
	return 0;
}

/* The type of the names of modules. */
static uint64_t find_str(struct tasks_reading *reading, uint64_t modules)
{
	struct py_dict_items items;
	uint64_t name, module;
	const struct py_type *type;

	if (!py_dict_begin(&reading->reader, modules, &items) ||
	    !py_dict_next(&reading->reader, &items, &name, &module))
		return 0;
	type = py_type_of(&reading->reader, name);
	return type && type->kind == PY_STR ? type->at : 0;
}

/* Where the current tasks are: a dict, or a field of a thread state. */
static bool find_current(struct tasks_reading *reading, const uint64_t tasks[MODULE_WORDS],
			 const uint64_t module[MODULE_WORDS], struct py_task_facts *facts)
{
	const struct py_objects *objects = reading->reader.objects;
	uint16_t version = reading->reader.layout->version;

	if (version >= 0x030e) {
		if (!find_debug(reading, module))
			return false;
		facts->current = reading->layout.thread_running;
		return true;
	}
	facts->current = version == 0x0306 ? find_static_dict(reading, module[1])
					   : py_dict_find(&reading->reader, tasks[0], "_current_tasks");
	facts->dict_keys = (uint8_t)objects->dict_keys;
	facts->keys_entries = (uint8_t)objects->keys_entries;
	facts->keys_indices = (uint8_t)objects->keys_indices;
	facts->keys_log = version >= 0x030b;
	return facts->current && objects->dict_keys <= UINT8_MAX && objects->keys_entries <= UINT8_MAX &&
	       objects->keys_indices <= UINT8_MAX;
}

/* The oldest one, which is the last in the list. */
static bool main_interpreter(struct tasks_reading *reading, uint64_t *ret)
{
	uint64_t next;
	int count;

	if (!first_interpreter(reading, &next))
		return false;
	for (count = 0; next && count < INTERPRETERS_MAX; count++) {
		*ret = next;
		if (!py_read_u64(&reading->reader, next + reading->reader.layout->interp_next, &next))
			return false;
	}
	return count;
}

bool python_find_current_tasks(const struct memory *memory, const struct python_interpreter *interpreter, uint64_t bias,
			       struct runtime_effort *effort, struct py_task_facts *ret)
{
	struct tasks_reading reading = {.reader = {.memory = memory,
						   .layout = &interpreter->layout,
						   .objects = &interpreter->objects,
						   .effort = effort},
					.memory = memory,
					.interpreter = interpreter,
					.bias = bias};
	const struct py_objects *objects = &interpreter->objects;
	uint64_t interp, modules, tasks[MODULE_WORDS], module[MODULE_WORDS];
	struct py_task_facts facts = {};

	choose_layout(&reading);
	if (!main_interpreter(&reading, &interp) ||
	    !py_read_u64(&reading.reader, interp + objects->interp_modules, &modules) || !modules ||
	    !find_module(&reading, modules, "asyncio.tasks", tasks) ||
	    !find_module(&reading, modules, "_asyncio", module) ||
	    !find_current(&reading, tasks, module, &facts))
		return false;
	facts.str_type = find_str(&reading, modules);
	facts.coro = reading.layout.coro;
	facts.name = reading.layout.name;
	facts.gen_frame = objects->gen_frame;
	facts.frame_is_apart = objects->gen_state == PY_NO_OFFSET;
	facts.long_digits = (uint8_t)objects->long_digits;
	if (facts.str_type && objects->long_digits <= UINT8_MAX)
		*ret = facts;
	return facts.str_type && objects->long_digits <= UINT8_MAX;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/tasks_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CELLS_MAX    32   /* of a closure */
#define CHILDREN_MAX 4096 /* of asyncio.gather() */
#define NESTED_WORDS "futures set each other in more levels than are read"

/* What asyncio's own functions wait for: by file and qualified name (v3.6.15 to v3.15.0). */
static const struct {
	const char *file, *function, *kind;
	enum { NOTHING, FIRST, SELF, SOCKET, STREAM } tell;
} functions[] = {
	{"tasks.py", "sleep", "sleep", FIRST},
	{"tasks.py", "__sleep0", "sleep", NOTHING},
	{"tasks.py", "wait_for", "wait_for", NOTHING},
	{"tasks.py", "_wait", "wait", NOTHING},
	{"tasks.py", "wait", "wait", NOTHING},
	{"tasks.py", "as_completed.<locals>._wait_for_one", "wait", NOTHING},
	{"tasks.py", "_AsCompletedIterator._wait_for_one", "wait", NOTHING},
	{"locks.py", "Lock.acquire", "lock", SELF},
	{"locks.py", "Event.wait", "event", SELF},
	{"locks.py", "Condition.wait", "condition", SELF},
	{"locks.py", "Semaphore.acquire", "semaphore", SELF},
	{"locks.py", "Barrier._wait", "barrier", SELF},
	{"locks.py", "Barrier._block", "barrier", SELF},
	{"queues.py", "Queue.get", "queue", SELF},
	{"queues.py", "Queue.put", "queue", SELF},
	{"queues.py", "Queue.join", "queue", SELF},
	{"taskgroups.py", "TaskGroup.__aexit__", "task-group", NOTHING},
	{"taskgroups.py", "TaskGroup._aexit", "task-group", NOTHING},
	{"streams.py", "StreamReader._wait_for_data", "socket", STREAM},
	{"streams.py", "FlowControlMixin._drain_helper", "socket", NOTHING},
	{"selector_events.py", "BaseSelectorEventLoop.sock_recv", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_recv_into", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_recvfrom", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_recvfrom_into", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_sendall", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_sendto", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_accept", "socket", SOCKET},
	{"selector_events.py", "BaseSelectorEventLoop.sock_connect", "socket", SOCKET},
	{"base_events.py", "Server.serve_forever", "server", NOTHING},
	{"base_events.py", "Server.wait_closed", "server", NOTHING},
	{"base_subprocess.py", "BaseSubprocessTransport._wait", "child", NOTHING},
	{"subprocess.py", "Process.wait", "child", NOTHING},
	{"threads.py", "to_thread", "executor", NOTHING},
};

/* Functions that asyncio gives to a future as callbacks, and what they set, by name. */
static const struct {
	const char *name, *kind;
} setters[] = {
	{"_done_callback", "gather"},       {"_on_completion", "wait"},      {"_release_waiter", "wait_for"},
	{"_inner_done_callback", "shield"}, {"_call_set_state", "executor"}, {"_call_check_cancel", "executor"},
};

/* The name of a file of asyncio's; NULL: it is none of them. */
static const char *file_of_asyncio(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && name - path >= 8 && !memcmp(name - 8, "/asyncio", 8) ? name + 1 : NULL;
}

/* Those of a subclass, or of what a library made of it, are not known by these names. */
static const typeof(functions[0]) *function_of(const char *path, const char *function)
{
	const char *file = file_of_asyncio(path);
	size_t i;

	for (i = 0; file && i < sizeof(functions) / sizeof(*functions); i++)
		if (!strcmp(file, functions[i].file) && !strcmp(function, functions[i].function))
			return &functions[i];
	return NULL;
}

/* A socket object keeps its descriptor first (Modules/socketmodule.h, PySocketSockObject). */
static int read_socket(struct tasks_reading *reading, uint64_t object)
{
	const struct py_type *type = py_type_of(&reading->reader, object);
	int32_t fd;

	return type && !strcmp(type->name.bytes, "socket.socket") &&
			       py_read(&reading->reader, &fd, sizeof(fd), object + reading->reader.layout->bytes_size)
		       ? fd
		       : -1;
}

/* The descriptor of a stream: _transport._sock_fd, or _fileno of a pipe (asyncio's own transports). */
static int read_stream(struct tasks_reading *reading, uint64_t reader)
{
	struct py_reader *from = &reading->reader;
	uint64_t transport = py_attribute(from, reader, "_transport"), number;
	const struct py_type *type;
	struct py_text text;
	char *end;
	long fd;

	number = py_attribute(from, transport, "_sock_fd") ?: py_attribute(from, transport, "_fileno");
	type = py_type_of(from, number);
	if (!type || type->kind != PY_INT)
		return -1;
	py_repr(from, number, &text);
	fd = strtol(text.bytes, &end, 10);
	return *text.bytes && !*end && fd >= 0 && fd <= INT32_MAX ? (int)fd : -1;
}

static int say(struct runtime_task *task, const char *kind, const char *words)
{
	task->waits_for = kind;
	free(task->detail);
	task->detail = words ? strdup(words) : NULL;
	return words && !task->detail ? -ENOMEM : 0;
}

static int tell_function(struct tasks_reading *reading, const typeof(functions[0]) *function,
			 const struct py_chain *chain, struct runtime_task *task)
{
	struct py_reader *reader = &reading->reader;
	uint64_t first = py_frame_slot(reader, chain->innermost, 0);
	struct py_text text = {};

	if (function->tell == SOCKET)
		task->fd = read_socket(reading, py_frame_slot(reader, chain->innermost, 1));
	else if (function->tell == STREAM)
		task->fd = read_stream(reading, first);
	else if (function->tell == SELF || function->tell == FIRST)
		py_repr(reader, first, &text);
	return say(task, function->kind, function->tell == SELF || function->tell == FIRST ? text.bytes : NULL);
}

int task_explain(struct tasks_reading *reading, uint64_t waiter, const struct py_chain *chain,
		 struct runtime_task *task)
{
	enum py_class class = py_class_of(&reading->reader, &reading->classes, waiter);
	const struct runtime_task_frame *last = chain->innermost ? &chain->frames.at[chain->teller] : NULL;
	const typeof(functions[0]) *function =
		last && last->file ? function_of(last->file, chain->qualname.bytes) : NULL;
	struct py_array children;
	char words[64];

	if (task_is_one(class)) {
		task->awaits = waiter;
		return say(task, "task", NULL);
	}
	if (function)
		return tell_function(reading, function, chain, task);
	if (class != PY_CLASS_GATHERING)
		return say(task, "future", NULL);
	if (!py_array_read(reading, py_attribute(&reading->reader, waiter, "_children"), &children))
		return say(task, "gather", NULL);
	snprintf(words, sizeof(words), "%llu awaitables", (unsigned long long)children.count);
	return say(task, "gather", words);
}

/* --- callbacks --- */

bool py_array_read(struct tasks_reading *reading, uint64_t object, struct py_array *ret)
{
	struct py_reader *reader = &reading->reader;
	const struct py_type *type = py_type_of(reader, object);
	bool is_list = type && type->kind == PY_LIST;

	if (!is_list && (!type || type->kind != PY_TUPLE))
		return false;
	ret->items = object + reader->objects->tuple_items;
	return py_read_u64(reader, object + reader->layout->bytes_size, &ret->count) &&
	       (!is_list || py_read_u64(reader, object + reader->objects->list_items, &ret->items));
}

static bool is_future(enum py_class class)
{
	return class == PY_CLASS_FUTURE || class == PY_CLASS_PLAIN_FUTURE || class == PY_CLASS_GATHERING;
}

static void add_edge(struct tasks_reading *reading, uint64_t task, uint64_t future, const char *kind)
{
	const struct edge edge = {.future = future, .task = task, .kind = kind};

	if (vec_push(&reading->edges, edge))
		reading->short_of_memory = true;
}

/* What a callback of asyncio's is called, by its code object; NULL: it is somebody else's. */
static const char *kind_of_callback(struct tasks_reading *reading, uint64_t function)
{
	struct py_reader *reader = &reading->reader;
	const struct py_layout *layout = reader->layout;
	/* Include/funcobject.h, v3.9.18; Include/cpython/funcobject.h, v3.10.13 */
	uint64_t code = function + layout->bytes_size + (layout->version < 0x030a ? 0 : 32), name;
	struct py_text text;
	size_t i;

	if (py_class_of(reader, &reading->classes, function) != PY_CLASS_FUNCTION ||
	    !py_read_u64(reader, code, &code) || !py_read_u64(reader, code + layout->code_filename, &name) ||
	    !py_read_str(reader, name, &text) || !file_of_asyncio(text.bytes) ||
	    !py_read_u64(reader, code + layout->code_name, &name) || !py_read_str(reader, name, &text))
		return NULL;
	for (i = 0; i < sizeof(setters) / sizeof(*setters); i++)
		if (!strcmp(text.bytes, setters[i].name))
			return setters[i].kind;
	return NULL;
}

static void follow_value(struct tasks_reading *reading, uint64_t task, uint64_t from, uint64_t value, const char *kind,
			 unsigned int depth)
{
	enum py_class class = py_class_of(&reading->reader, &reading->classes, value);

	if (value == from || !is_future(class))
		return;
	/* Up to 3.6 the callback of shield() has the name of that of gather(). */
	if (class != PY_CLASS_GATHERING && !strcmp(kind, "gather"))
		kind = "shield";
	add_edge(reading, task, value, kind);
	task_follow(reading, task, value, depth + 1);
}

static void follow_array(struct tasks_reading *reading, uint64_t task, uint64_t from, uint64_t array, bool cells,
			 const char *kind, unsigned int depth)
{
	struct py_reader *reader = &reading->reader;
	struct py_array items;
	uint64_t value, i;

	if (!py_array_read(reading, array, &items))
		return;
	if (items.count > CELLS_MAX) {
		tasks_limit(reading, "a callback has more variables than are read");
		items.count = CELLS_MAX;
	}
	for (i = 0; i < items.count; i++)
		if (py_read_u64(reader, items.items + 8 * i, &value) &&
		    (!cells || py_read_u64(reader, value + reader->objects->cell_value, &value)))
			follow_value(reading, task, from, value, kind, depth);
}

static void follow_callback(struct tasks_reading *reading, uint64_t task, uint64_t from, uint64_t callback,
			    unsigned int depth)
{
	struct py_reader *reader = &reading->reader;
	uint64_t head = reader->layout->bytes_size, first, second, parent;
	const char *kind;

	switch (py_class_of(reader, &reading->classes, callback)) {
	case PY_CLASS_FUNCTION:
		kind = kind_of_callback(reading, callback);
		/* func_closure: as above */
		if (kind && py_read_u64(reader, callback + head + (reader->layout->version < 0x030a ? 32 : 56), &first))
			follow_array(reading, task, from, first, true, kind, depth);
		break;
	case PY_CLASS_PARTIAL: /* Modules/_functoolsmodule.c, partialobject: fn, args */
		if (!py_read_u64(reader, callback + head, &first) || !py_read_u64(reader, callback + head + 8, &second))
			break;
		kind = kind_of_callback(reading, first);
		if (kind)
			follow_array(reading, task, from, second, false, kind, depth);
		break;
	case PY_CLASS_METHOD: /* Include/classobject.h: im_func, im_self */
		if (depth || !py_read_u64(reader, callback + head + 8, &first) ||
		    py_class_of(reader, &reading->classes, first) != PY_CLASS_TASK_GROUP)
			break;
		parent = py_attribute(reader, first, "_parent_task");
		if (parent && parent != task)
			add_edge(reading, task, parent, "task-group");
		break;
	default:
		break;
	}
}

/* The callbacks: one apart, and a list of tuples (callback, context), or of callbacks (3.6). */
static void follow_callbacks(struct tasks_reading *reading, uint64_t task, uint64_t from, uint64_t list,
			     unsigned int depth)
{
	struct py_reader *reader = &reading->reader;
	struct py_array callbacks, pair;
	uint64_t callback, i;

	if (!py_array_read(reading, list, &callbacks))
		return;
	if (callbacks.count > PY_CALLBACKS_MAX) {
		tasks_limit(reading, "a future has more callbacks than are read");
		callbacks.count = PY_CALLBACKS_MAX;
	}
	for (i = 0; i < callbacks.count; i++) {
		if (!py_read_u64(reader, callbacks.items + 8 * i, &callback) ||
		    (py_array_read(reading, callback, &pair) && !py_read_u64(reader, pair.items, &callback)))
			continue;
		follow_callback(reading, task, from, callback, depth);
	}
}

void task_follow(struct tasks_reading *reading, uint64_t task, uint64_t future, unsigned int depth)
{
	const struct task_layout *layout = &reading->layout;
	struct py_reader *reader = &reading->reader;
	uint64_t found;

	if (depth == PY_NESTED_MAX) {
		tasks_limit(reading, NESTED_WORDS);
		return;
	}
	/* Python's own futures have an instance's attributes, those of C code nothing of that name there. */
	found = py_attribute(reader, future, "_callbacks");
	if (found) {
		follow_callbacks(reading, task, future, found, depth);
		return;
	}
	if (layout->callback0 != PY_NO_OFFSET && py_read_u64(reader, future + layout->callback0, &found) && found)
		follow_callback(reading, task, future, found, depth);
	if (py_read_u64(reader, future + layout->callbacks, &found) && found)
		follow_callbacks(reading, task, future, found, depth);
}

void task_children(struct tasks_reading *reading, uint64_t gathering, uint64_t future, unsigned int depth)
{
	struct py_reader *reader = &reading->reader;
	struct py_array children;
	uint64_t child, i;
	enum py_class class;

	if (depth == PY_NESTED_MAX) {
		tasks_limit(reading, NESTED_WORDS);
		return;
	}
	if (!py_array_read(reading, py_attribute(reader, gathering, "_children"), &children))
		return;
	if (children.count > CHILDREN_MAX) {
		tasks_limit(reading, "asyncio.gather() has more awaitables than are read");
		children.count = CHILDREN_MAX;
	}
	for (i = 0; i < children.count; i++) {
		if (!py_read_u64(reader, children.items + 8 * i, &child))
			return;
		class = py_class_of(reader, &reading->classes, child);
		if (task_is_one(class))
			add_edge(reading, child, future, "gather");
		else if (class == PY_CLASS_GATHERING)
			task_children(reading, child, future, depth + 1);
	}
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/python/instances.h"

#include <string.h>

#define BASES_MAX 16 /* of a class that are looked through */

#define MANAGED_DICT  (1ull << 4) /* Py_TPFLAGS_MANAGED_DICT, 3.11+ */
#define INLINE_VALUES (1ull << 2) /* Py_TPFLAGS_INLINE_VALUES, 3.13+ */

/* By tp_name, or by module and qualified name; from 3.12 on types of C modules are classes, too. */
static const struct {
	const char *name;
	enum py_class class;
} names[] = {{"asyncio.tasks._GatheringFuture", PY_CLASS_GATHERING},
	     {"_asyncio.Task", PY_CLASS_TASK},
	     {"_asyncio.Future", PY_CLASS_FUTURE},
	     {"asyncio.tasks.Task", PY_CLASS_PLAIN_TASK},
	     {"asyncio.futures.Future", PY_CLASS_PLAIN_FUTURE},
	     {"asyncio.taskgroups.TaskGroup", PY_CLASS_TASK_GROUP},
	     {"coroutine", PY_CLASS_GENERATOR},
	     {"generator", PY_CLASS_GENERATOR},
	     {"async_generator", PY_CLASS_GENERATOR},
	     {"coroutine_wrapper", PY_CLASS_AWAIT},
	     {"async_generator_asend", PY_CLASS_AWAIT},
	     {"async_generator_athrow", PY_CLASS_AWAIT},
	     {"anext_awaitable", PY_CLASS_AWAIT},
	     {"_asyncio.FutureIter", PY_CLASS_FUTURE_ITER},
	     {"builtin_function_or_method", PY_CLASS_BUILTIN},
	     {"method", PY_CLASS_METHOD},
	     {"function", PY_CLASS_FUNCTION},
	     {"functools.partial", PY_CLASS_PARTIAL},
	     {"TaskWakeupMethWrapper", PY_CLASS_WAKEUP},
	     {"weakref", PY_CLASS_WEAKREF},
	     {"weakref.ReferenceType", PY_CLASS_WEAKREF}};

static enum py_class class_of_name(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(names[i].name, name))
			return names[i].class;
	return PY_CLASS_OTHER;
}

/* A type's name, by an object whose type it is said to be: that is how py_type_of() reads one. */
static enum py_class class_of_type(struct py_reader *reader, uint64_t type)
{
	enum py_class class = PY_CLASS_OTHER;
	struct py_text name;
	int i;

	for (i = 0; i < BASES_MAX && type && class == PY_CLASS_OTHER; i++) {
		if (!py_type_name(reader, type, &name))
			break;
		class = class_of_name(name.bytes);
		if (!py_read_u64(reader, type + reader->objects->type_dict - 8 /* tp_base */, &type))
			break;
	}
	return class;
}

enum py_class py_class_of(struct py_reader *reader, struct py_classes *classes, uint64_t object)
{
	typeof(classes->kept[0]) *kept;
	uint64_t type;

	if (!object || object & 7 || !py_read_u64(reader, object + reader->layout->ob_type, &type) || !type || type & 7)
		return PY_CLASS_OTHER;
	kept = &classes->kept[type / 16 % PY_CLASSES];
	if (kept->type != type) {
		uint64_t before = reader->digest;
		enum py_class class = class_of_type(reader, type);

		reader->digest = before;
		kept->type = type;
		kept->class = class;
	}
	return kept->class;
}

/* The value of a key whose values are apart: keys of strings only, their order is that of the values. */
static uint64_t find_value(struct py_reader *reader, uint64_t keys, uint64_t values, const char *name)
{
	struct py_dict_items items;
	struct py_text text;
	uint64_t key, value;

	if (!py_keys_begin(reader, keys, values, &items))
		return 0;
	while (py_dict_next(reader, &items, &key, &value))
		if (py_read_str(reader, key, &text) && !strcmp(text.bytes, name))
			return value;
	return 0;
}

static uint64_t managed(struct py_reader *reader, uint64_t object, uint64_t type, uint64_t flags, const char *name)
{
	uint16_t version = reader->layout->version;
	bool free_threaded = reader->layout->bytes_size != 16;
	uint64_t dict, values = 0, keys, size;
	uint8_t valid;

	if (!py_read_u64(reader, object - (version >= 0x030d && free_threaded ? 8 : 24), &dict) ||
	    !py_read_u64(reader, type + reader->objects->type_qualname + 8 /* ht_cached_keys */, &keys))
		return 0;
	if (version < 0x030c) {
		if (!py_read_u64(reader, object - 32, &values))
			return 0;
	} else if (version < 0x030d) {
		if (dict & 1) {
			values = dict + 1;
			dict = 0;
		}
	} else if (!dict && flags & INLINE_VALUES) {
		/* struct _dictvalues { u8 capacity, size, embedded, valid; PyObject *values[]; } */
		if (!py_read_u64(reader, type + reader->layout->type_name + 8 /* tp_basicsize */, &size) ||
		    size > 1 << 20 || !py_read(reader, &valid, sizeof(valid), object + size + 3) || !valid)
			return 0;
		values = object + size;
	}
	return values ? find_value(reader, keys, values, name) : dict ? py_dict_find(reader, dict, name) : 0;
}

uint64_t py_attribute(struct py_reader *reader, uint64_t object, const char *name)
{
	uint64_t type, flags, dict;
	int64_t offset;

	if (!object || object & 7 || !py_read_u64(reader, object + reader->layout->ob_type, &type) || !type ||
	    type & 7 || !py_read_u64(reader, type + reader->objects->type_flags, &flags))
		return 0;
	if (reader->layout->version >= 0x030b && flags & MANAGED_DICT)
		return managed(reader, object, type, flags, name);
	if (!py_read(reader, &offset, sizeof(offset), type + reader->objects->type_dict + 24 /* tp_dictoffset */) ||
	    offset <= 0 || offset > 1 << 20 || !py_read_u64(reader, object + (uint64_t)offset, &dict) || !dict)
		return 0;
	return py_dict_find(reader, dict, name);
}

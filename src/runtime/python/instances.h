/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instances: which of asyncio's classes an object is an instance of (subclasses included), and the attributes of an
 * instance. Both are read from the process's memory (repr.h), by the names of classes.
 *
 *   3.6-3.10   an instance's dict is at tp_dictoffset
 *   3.11       or (Py_TPFLAGS_MANAGED_DICT) in front of the object: its values at word -4, a dict at word -3
 *   3.12       both in word -3; the low bit tells values
 *   3.13+      a dict at word -3 (without a GIL -1), else (Py_TPFLAGS_INLINE_VALUES) values behind the object
 *
 * Include/internal/pycore_object.h, pycore_dict.h, Include/object.h at v3.11.7 to v3.15.0.
 */
#ifndef STRATA_PYTHON_INSTANCES_H
#define STRATA_PYTHON_INSTANCES_H

#include "runtime/python/repr.h"

enum py_class {
	PY_CLASS_OTHER,
	PY_CLASS_TASK,       /* _asyncio.Task */
	PY_CLASS_FUTURE,     /* _asyncio.Future */
	PY_CLASS_PLAIN_TASK, /* asyncio.tasks.Task, of Python code */
	PY_CLASS_PLAIN_FUTURE,
	PY_CLASS_GATHERING, /* what asyncio.gather() returns, a future of either kind */
	PY_CLASS_TASK_GROUP,
	PY_CLASS_GENERATOR,   /* coroutines and asynchronous generators, too */
	PY_CLASS_AWAIT,       /* an object in front of one of these: its first word is what it leads to */
	PY_CLASS_FUTURE_ITER, /* the same, and leads to a future */
	PY_CLASS_BUILTIN,     /* a built-in function or method */
	PY_CLASS_METHOD,
	PY_CLASS_FUNCTION,
	PY_CLASS_PARTIAL,
	PY_CLASS_WAKEUP, /* TaskWakeupMethWrapper: its first word is a task */
	PY_CLASS_WEAKREF
};

#define PY_CLASSES 64

/* What was found out about types; valid while one process is read. */
struct py_classes {
	struct {
		uint64_t type; /* 0: none */
		enum py_class class;
	} kept[PY_CLASSES];
};

enum py_class py_class_of(struct py_reader *reader, struct py_classes *classes, uint64_t object);

/* An attribute in an instance's own dict; 0: there is none, or it could not be read. */
uint64_t py_attribute(struct py_reader *reader, uint64_t object, const char *name);

#endif

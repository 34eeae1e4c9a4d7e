/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * instances: which of asyncio's classes an object is an instance of (subclasses included), and the attributes of an
 * instance. Both are read from the process's memory (repr.h). Classes are recognised by their names.
 *
 *   3.6-3.10   the dict of an instance is at tp_dictoffset
 *   3.11       the same, or in front of the object (Py_TPFLAGS_MANAGED_DICT): its values at word -4, a dict at word -3
 *   3.12       values or dict at word -3; the low bit is set for values
 *   3.13+      a dict at word -3 (without a GIL -1), else (Py_TPFLAGS_INLINE_VALUES) values behind the object
 *
 * Sources: Include/internal/pycore_object.h, pycore_dict.h, Include/object.h at v3.11.7 to v3.15.0.
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
	PY_CLASS_AWAIT,       /* a wrapper, such as coroutine_wrapper: its first word is the object that it awaits */
	PY_CLASS_FUTURE_ITER, /* the same, for a future */
	PY_CLASS_BUILTIN,     /* a built-in function or method */
	PY_CLASS_METHOD,
	PY_CLASS_FUNCTION,
	PY_CLASS_PARTIAL,
	PY_CLASS_WAKEUP, /* TaskWakeupMethWrapper: its first word is a task */
	PY_CLASS_WEAKREF
};

#define PY_CLASSES 64

/* A cache: the classes of types. Valid while one process is read. */
struct py_classes {
	struct {
		uint64_t type; /* 0: none */
		enum py_class class;
	} kept[PY_CLASSES];
};

enum py_class py_class_of(struct py_reader *reader, struct py_classes *classes, uint64_t object);

/* The object that is an attribute in an instance's own dict. 0: there is none, or it could not be read. */
uint64_t py_attribute(struct py_reader *reader, uint64_t object, const char *name);

#endif

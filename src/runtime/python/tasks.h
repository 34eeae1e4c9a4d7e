/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks: asyncio's tasks that are not done, as the interpreter and the modules asyncio and _asyncio keep them.
 *
 *   3.6        the WeakSet of _asyncio's C code, in the data of that module; that of asyncio.Task for Python's own
 *   3.7-3.11   asyncio.tasks._all_tasks, a WeakSet; what runs is in _current_tasks: { loop: task }
 *   3.12-3.13  _scheduled_tasks and _eager_tasks instead
 *   3.14+      lists of each thread and each interpreter, for _asyncio's tasks; where, says AsyncioDebug (below)
 *
 * A task waits for a future (fut_waiter). If that is a task, or will be set by the callback of one (asyncio.gather,
 * wait, wait_for, shield: the callback's closure has it; TaskGroup: its _parent_task), the task is awaited by the
 * first. From 3.14 on _asyncio's tasks say it themselves, too. What kind of thing a future is for, the function shows
 * that awaits it: asyncio's sleep(), Lock.acquire(), ...
 *
 * All tasks are read twice, each reading with pages of its own. What has not changed was so between the two: that is
 * one moment for all such tasks, so who waits for whom is true, too. Otherwise both are repeated, a few times.
 *
 * AsyncioDebug: 13 words in the data of the file that _asyncio is in. They are looked for around that module's
 * definition by what they contain: the size of the interpreter's state, which _Py_DebugOffsets has as well.
 * Modules/_asynciomodule.c, Include/internal/pycore_debug_offsets.h, v3.14.0 to v3.15.0.
 */
#ifndef STRATA_PYTHON_TASKS_H
#define STRATA_PYTHON_TASKS_H

#include "runtime/python/coroutines.h"
#include "runtime/python/interpreter.h"

#define PY_TASKS_MAX 20000

/* See runtime.tasks. */
int python_tasks(const struct memory *memory, const struct python_interpreter *interpreter, uint64_t bias,
		 struct runtime_effort *effort, struct runtime_tasks *ret);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tasks: the asyncio tasks that are not done, as the interpreter and the modules asyncio and _asyncio keep them.
 *
 *   3.6        for tasks of C code, a WeakSet in the data of _asyncio; for those of Python code, that of asyncio.Task
 *   3.7-3.11   asyncio.tasks._all_tasks, a WeakSet. The running tasks are in _current_tasks: { loop: task }
 *   3.12-3.13  _scheduled_tasks and _eager_tasks instead of _all_tasks
 *   3.14+      for _asyncio's tasks, lists of each thread and each interpreter. AsyncioDebug (below) says where
 *
 * A task waits for a future (fut_waiter). The awaiting task is found from there. The future may itself be a task. Or it
 * is set by the callback of a task: asyncio.gather, wait, wait_for and shield keep it in the callback's closure, a
 * TaskGroup in its _parent_task. From 3.14 on _asyncio's tasks also name the tasks that await them. What the future
 * stands for is told by the function that awaits it: asyncio's sleep(), Lock.acquire(), ...
 *
 * All tasks are read twice, each time with its own copies of the pages. What is the same in both readings was true
 * between them. That is one moment for all such tasks, so it is also true who awaits whom. If something differs, both
 * readings are repeated, a few times.
 *
 * AsyncioDebug is 13 words in the data of the file that contains _asyncio. It is searched for around the definition of
 * that module, by its content: it has the size of the interpreter's state, which _Py_DebugOffsets has, too. Sources:
 * Modules/_asynciomodule.c, Include/internal/pycore_debug_offsets.h, v3.14.0 to v3.15.0.
 */
#ifndef STRATA_PYTHON_TASKS_H
#define STRATA_PYTHON_TASKS_H

#include "runtime/python/coroutines.h"
#include "runtime/python/interpreter.h"

#define PY_TASKS_MAX 20000

/*
 * The tasks of a process, as runtime.tasks gives them: at most PY_TASKS_MAX. `bias`: address in the process minus
 * vaddr.
 */
int python_tasks(const struct memory *memory, const struct python_interpreter *interpreter, uint64_t bias,
		 struct runtime_effort *effort, struct runtime_tasks *ret);

/*
 * How the walk in the kernel finds the tasks that are current (runtime.find_tasks). False: asyncio is not imported, or
 * it cannot be read now.
 */
bool python_find_current_tasks(const struct memory *memory, const struct python_interpreter *interpreter, uint64_t bias,
			       struct runtime_effort *effort, struct py_task_facts *ret);

#endif

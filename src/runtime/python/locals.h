/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locals: the local variables of a Python frame that have a value, in the order in which its code object lists them.
 * Cells and free variables are included, with their content. A class body has its variables in a mapping. A module's
 * variables are its globals, and are not shown. At most PY_LOCALS_MAX variables are given. If there are more, or some
 * could not be read, the last one is named `...` and has no value.
 */
#ifndef STRATA_PYTHON_LOCALS_H
#define STRATA_PYTHON_LOCALS_H

#include "runtime/python/repr.h"

#define PY_LOCALS_MAX 64

/* `frame`: the address of a PyFrameObject or an _PyInterpreterFrame, of a thread that does not run. 0 or -ENOMEM. */
int python_locals(struct py_reader *reader, uint64_t frame, struct runtime_locals *ret);

#endif

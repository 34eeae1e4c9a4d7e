/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * locals: the local variables of a Python frame, those that have a value, in the order in which its code object lists
 * them; cells and free variables are among them, by their content. A class body has them in a mapping. A module's are
 * its globals: they are not shown. At most PY_LOCALS_MAX. If there are more,
 * or not all could be read, the last one is named `...`, and has no value.
 */
#ifndef STRATA_PYTHON_LOCALS_H
#define STRATA_PYTHON_LOCALS_H

#include "runtime/python/repr.h"

#define PY_LOCALS_MAX 64

/* `frame`: a PyFrameObject or an _PyInterpreterFrame, of a thread that does not run. 0 or -ENOMEM. */
int python_locals(struct py_reader *reader, uint64_t frame, struct runtime_locals *ret);

#endif

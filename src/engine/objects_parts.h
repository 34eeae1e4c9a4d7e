/* SPDX-License-Identifier: GPL-2.0-or-later */
/* objects_parts: for objects.c, object_rows.c and object_runtime.c only. */
#ifndef STRATA_ENGINE_OBJECTS_PARTS_H
#define STRATA_ENGINE_OBJECTS_PARTS_H

#include "engine/objects.h"

/* Says why the object is not readable, or what is missing. Replaces what was said before. */
void object_set_problem(struct object *object, const char *text);

/* Opens it to be parsed here, whatever its content is by now; the caller closes it. */
int object_parse(const struct object *object, struct elf_file **ret, struct diag *diag);

/* What was not read because its file system did not answer may still be a program. */
void object_check_answers(struct object *object);

/*
 * Sets runtime, and aids. `process`, which may be NULL, has the file mapped; `elf` is the open file. 1, 0, or a
 * negative errno with a diag, as runtime_recognise().
 */
int object_recognise(struct object *object, const struct process *process, const struct elf_file *elf,
		     struct diag *diag);

#endif

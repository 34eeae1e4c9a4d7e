/* SPDX-License-Identifier: GPL-2.0-or-later */
/* python: `args` of Python's probes. */
#ifndef STRATA_LANG_BUILTIN_PYTHON_H
#define STRATA_LANG_BUILTIN_PYTHON_H

#include "lang/gen/gen.h"

/* One field, in the frame at *place; as struct builtin_code's `field`. */
bool python_field(struct gen *g, const struct type_field *field, uint32_t *place);
/* As struct builtin_code's `compare`. */
bool python_compare(struct gen *g, const struct type_field *field, const char *text, label equal, label differ);
/* argN, in R0: what the event's marker has there; 0: nothing. */
void python_argument(struct gen *g, struct span span, unsigned int index);
/* All of them. */
void python_place(struct gen *g, const struct type *type, uint32_t offset);

#endif

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
/* Is argN the address of a text that the place itself can read, also where it is not in UTF-8? */
bool python_has_text(const struct gen *g, unsigned int index);
/* That text, in RT_PYTHON_TEXT bytes of the frame. */
void python_text(struct gen *g, unsigned int index, uint32_t offset);
/* All of them. */
void python_place(struct gen *g, const struct type *type, uint32_t offset);

#endif

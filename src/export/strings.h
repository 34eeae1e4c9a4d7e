/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * strings: the table of strings of a format: each text once, cleaned (profile/text.h), by number. For src/export only.
 */
#ifndef STRATA_EXPORT_STRINGS_H
#define STRATA_EXPORT_STRINGS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/strings.h"
#include "base/table.h"
#include "base/vec.h"

struct export_strings {
	struct string_pool *pool;
	struct table index_of; /* pooled string → index */
	VEC(const char *) list;
	int err; /* -ENOMEM: some string was not added; all that came after is void */
};

/* 0 or -ENOMEM; release with export_strings_deinit(), also after a failure. */
int export_strings_init(struct export_strings *strings);
void export_strings_deinit(struct export_strings *strings);

/* The index of a string, cleaned, which is added if it is not there; NULL is "". On failure 0, and strings->err. */
uint32_t export_string(struct export_strings *strings, const char *string);
/* The same for a text that is clean already. */
uint32_t export_string_clean(struct export_strings *strings, const char *clean);

/* All of them as the elements of a JSON array, a line each. */
void export_strings_json(FILE *out, const struct export_strings *strings);

#endif

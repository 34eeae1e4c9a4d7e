/* SPDX-License-Identifier: GPL-2.0-or-later */
/* format: splits D's format strings into their parts, and prints by them. */
#ifndef STRATA_LANG_DIALECT_D_FORMAT_H
#define STRATA_LANG_DIALECT_D_FORMAT_H

#include "lang/dialect/d/d.h"

/* Text, and the conversion behind it. */
struct d_spec {
	const char *text;
	size_t text_size;
	char conversion; /* '\0': there is none behind the last text */
	char flags[8];
	int width, precision;              /* -1: none */
	bool width_given, precision_given; /* by an argument */
	bool is_aggregation, is_short, is_long;
};

/* The next part, and what follows it; NULL: there is no more. */
const char *d_spec_next(const char *at, struct d_spec *ret);
void d_spec_give_width(struct d_spec *spec, int width);

void d_print_text(const struct printer *p, FILE *out, const struct d_spec *spec, const char *text, size_t size);
void d_print_number(FILE *out, const struct d_spec *spec, uint64_t value, uint32_t size, bool is_signed);
void d_print_spec(const struct printer *p, FILE *out, const struct d_spec *spec, const struct type *type,
		  const uint8_t *bytes);

#endif

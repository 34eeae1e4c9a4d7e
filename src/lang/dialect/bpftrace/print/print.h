/* SPDX-License-Identifier: GPL-2.0-or-later */
/* print: what the files that print as bpftrace does share. */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PRINT_PRINT_H
#define STRATA_LANG_DIALECT_BPFTRACE_PRINT_PRINT_H

#include "lang/core/value.h"
#include "lang/dialect/bpftrace/settings.h"
#include "lang/dialect/printer.h"

/* value.c: a value's text; in JSON, strings are quoted. `cpus` values of an aggregation must be reduced before. */
void print_value(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes);

/* A value by itself, as print() shows it. */
void print_value_line(const struct printer *p, const struct type *type, const uint8_t *bytes);

/* As %lld or %llu have it. */
void print_decimal(FILE *out, uint64_t value, bool is_signed);

/* Bytes that are no ASCII letters are shown as \xNN; as %rx or %rh, with `variant`, all are digits. */
void print_buffer(FILE *out, const uint8_t *bytes, size_t size, char variant);
/* How many bytes a value of TYPE_BUFFER has. */
size_t buffer_size(const struct type *type, const uint8_t *bytes);

/* printf.c */
struct print_format *print_format_create(const char *text);
void print_format_destroy(struct print_format *format);
void print_formatted(const struct printer *p, FILE *out, const struct print_format *format,
		     const struct type *arguments, const uint8_t *bytes);

/* series.c: the values of tseries(). The number of its last interval, from 1 on; 0: nothing was recorded. */
uint64_t series_last(const struct type *type, const uint8_t *bytes);
/* `last`: the number of the interval that is printed last. */
void print_series(const struct printer *p, const struct type *type, const uint8_t *bytes, uint64_t last);

/* map.c: the text of a key, without a tuple's parentheses. */
char *print_key(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size);
void print_map(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count, uint64_t top,
	       uint64_t div);

/* messages.c */
extern const struct dialect_print bpftrace_print;

#endif

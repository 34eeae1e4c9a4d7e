/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * printer: values, maps and messages of a traced script as text or JSON (one object a line). What the kernel part sent
 * is bytes of a type that the compiler knows; names of symbols, users and frames are looked up here.
 */
#ifndef STRATA_TRACE_PRINTER_H
#define STRATA_TRACE_PRINTER_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lang/core/compiler.h"
#include "trace/names.h"

struct printer {
	FILE *out;
	bool json;
	bool escape; /* a terminal reads it: what the script prints of others must not command it; never with `json` */
	const struct compiler *compiler;
	struct names *names;
};

/* A value's text; in JSON, strings are quoted. `cpus` values of an aggregation must be reduced before. */
void print_value(const struct printer *p, FILE *out, const struct type *type, const uint8_t *bytes);

/* The number that a scalar's bytes are, extended to 64 bits; 0 for sizes over 8. */
uint64_t scalar_load(const uint8_t *bytes, uint32_t size, bool is_signed);

/* A word of a value, wherever it lies. */
static inline uint64_t word_at(const uint8_t *bytes)
{
	uint64_t value;

	memcpy(&value, bytes, sizeof(value));
	return value;
}

/* A string in JSON's quotes. */
void print_json_string(FILE *out, const char *text, size_t size);

/* What the script printed of others: as it is, or for a terminal. */
void print_data(const struct printer *p, FILE *out, const char *text, size_t size);

/* {"type": TYPE, "data": "TEXT"} in JSON, else the text itself. */
void print_message(const struct printer *p, const char *type, const char *text, size_t size);

/* A value by itself, as print() shows it. */
void print_value_line(const struct printer *p, const struct type *type, const uint8_t *bytes);

/* As %lld or %llu have it. */
void print_decimal(FILE *out, uint64_t value, bool is_signed);

/* Bytes that are no ASCII letters are shown as \xNN; as %rx or %rh, with `variant`, all are digits. */
void print_buffer(FILE *out, const uint8_t *bytes, size_t size, char variant);
/* How many bytes a value of TYPE_BUFFER has. */
size_t buffer_size(const struct type *type, const uint8_t *bytes);

/* print_format.c: a format of printf(), read once. NULL when memory is short. The text stays the caller's. */
struct print_format *print_format_create(const char *text);
void print_format_destroy(struct print_format *format);
/* `arguments` is a tuple. */
void print_formatted(const struct printer *p, FILE *out, const struct print_format *format,
		     const struct type *arguments, const uint8_t *bytes);

/* print_series.c: the values of tseries(). Brings those of two CPUs together. */
void series_reduce(const struct type *type, uint8_t *to, const uint8_t *from);
/* The number of its last interval, from 1 on; 0: nothing was recorded. */
uint64_t series_last(const struct type *type, const uint8_t *bytes);
/* `last`: the number of the interval that is printed last. */
void print_series(const struct printer *p, const struct type *type, const uint8_t *bytes, uint64_t last);

/* One entry of a map: the values of an aggregation are those of all CPUs, already reduced to one. */
struct map_entry {
	uint8_t *key, *value;
	int64_t order; /* what it is sorted by */
	char *text;    /* the key's, if it was made; freed by the owner of the key */
	size_t text_size;
};

/* The text of a key into malloc'd memory, without a tuple's parentheses; NULL when memory is short. */
char *print_key(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size);

/* map_merge.c: adds what another CPU, or another key, has to the value of an aggregation or a number of 8 bytes. */
void value_merge(const struct type *type, uint8_t *to, const uint8_t *from);
/*
 * Stacks that differ in what is not printed (instructions of one line, processes) are keys of their own to the kernel.
 * Of the entries of an aggregation whose keys have the same text this makes one. How many there are then: the first
 * ones. Unchanged when memory is short, and where keys have no stacks.
 */
size_t map_merge_alike(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count);

/* `entries` are sorted here. top 0: all; div 0: none. */
void print_map(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count, uint64_t top,
	       uint64_t div);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * printer: values, maps and messages of a traced script, as its dialect prints them: text, or JSON (one object a line).
 * What the kernel part sent is bytes of a type that the compiler knows. Names of symbols, users and frames are looked
 * up by who runs the script.
 */
#ifndef STRATA_LANG_DIALECT_PRINTER_H
#define STRATA_LANG_DIALECT_PRINTER_H

#include <stdio.h>

#include "lang/core/compiler.h"
#include "lang/rt/abi.h"

struct names;

/* The words for numbers, as trace/names.h has them. */
struct print_names {
	/* `is_return`: it is where a call returns to, and the symbol that of the call. */
	void (*kernel_symbol)(struct names *names, FILE *out, uint64_t address, bool is_return);
	void (*user_symbol)(struct names *names, FILE *out, uint64_t address, uint64_t pid);
	void (*user)(struct names *names, FILE *out, uint64_t uid);
	/* What it is called now; N/A: it is gone. */
	void (*process)(struct names *names, FILE *out, uint64_t pid);
	/* The filter is a pattern of hierarchies, or NULL: nothing is written of those that it leaves out. */
	void (*cgroup)(struct names *names, FILE *out, uint64_t id, const char *filter);
	void (*probe)(struct names *names, FILE *out, uint64_t attach);
	/* By a strftime format; \001 before it: nanoseconds since 1970, else since the machine started. */
	void (*time)(struct names *names, FILE *out, const char *format, uint64_t nanoseconds);
	/* When the machine was started, in nanoseconds since 1970. */
	int64_t (*boot_time)(const struct names *names);
	void (*stack)(struct names *names, FILE *out, const struct type *type, const struct rt_stack_value *value,
		      bool json);
};

struct run;
struct map_entry;

/* What a dialect's printer may do with maps, and more, while the script runs. */
struct print_deeds {
	/* All entries, of which `count` are there: for release(). False when memory is short. */
	bool (*read)(struct run *run, const struct symbol *map, struct map_entry **entries, size_t *count);
	void (*release)(struct map_entry *entries, size_t count);
	void (*clear)(struct run *run, const struct symbol *map); /* no entry is left */
	void (*zero)(struct run *run, const struct symbol *map);  /* the keys stay */
	void (*remove)(struct run *run, const struct symbol *map, const uint8_t *key);
	void (*system)(struct run *run, const char *command);
	/* As exit() of the kernel part: nothing more is taken but what `end` says. */
	void (*exit)(struct run *run, int status);
};

struct printer {
	FILE *out;
	bool json;
	bool escape; /* a terminal reads it: what the script prints of others must not command it; never with `json` */
	const struct compiler *compiler;
	const struct print_names *words;
	struct names *names;
	const struct print_deeds *deeds;
	struct run *run;
	bool quiet;
};

/* One entry of a map: the values of an aggregation are those of all CPUs, already reduced to one. */
struct map_entry {
	uint8_t *key, *value;
	int64_t order; /* what it is sorted by */
	char *text;    /* the key's, if it was made; freed by the owner of the key */
	size_t text_size;
};

struct print_format;

/* What a dialect has. */
struct dialect_print {
	/*
	 * What the script does is done by record(): so what `begin` says is taken before anything is attached, and
	 * tracing goes on without events until it is ended.
	 */
	bool acts;
	/* So many probes are attached; quiet: only what the script prints is wanted. */
	void (*attached)(const struct printer *p, size_t count, bool quiet);
	/* Events can come now. */
	void (*ready)(const struct printer *p);
	/* `end` has run; maps may follow. Not in benches and tests. */
	void (*ended)(const struct printer *p);
	/* A value by itself, as a line. */
	void (*value_line)(const struct printer *p, const struct type *type, const uint8_t *bytes);
	/* `entries` are sorted here. top 0: all; div 0: none. */
	void (*map)(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count,
		    uint64_t top, uint64_t div);
	/* The output of a command and its like: {"type": TYPE, "data": "TEXT"} in JSON, else the text itself. */
	void (*message)(const struct printer *p, const char *type, const char *text, size_t size);
	/*
	 * How often what was printed is written, in nanoseconds; NULL: at once. Others may write to the same file:
	 * their lines, which may come in pieces, are to stay whole.
	 */
	uint64_t (*write_every)(const struct printer *p);
	/* A record of SITE_OF_DIALECT; NULL: there are none. `bytes` are laid out as in the site's tuple. */
	void (*record)(const struct printer *p, const struct site *site, const uint8_t *bytes);
	/* What had come was told; called at least ten times a second. May be NULL. */
	void (*drained)(const struct printer *p);
	/* `count` of something were lost, at least one; told when the script has ended. */
	void (*lost)(const struct printer *p, enum rt_counter what, uint64_t count);
	/* A format of printf(), read once. NULL when memory is short. The text stays the caller's. */
	struct print_format *(*format_create)(const char *text);
	void (*format_destroy)(struct print_format *format);
	/* `arguments` is a tuple. */
	void (*formatted)(const struct printer *p, FILE *out, const struct print_format *format,
			  const struct type *arguments, const uint8_t *bytes);
};

/* For dialects, and for who runs the script: */

/* A string in JSON's quotes. */
void print_json_string(FILE *out, const char *text, size_t size);

/* What the script printed of others: as it is, or for a terminal. */
void print_data(const struct printer *p, FILE *out, const char *text, size_t size);

/* The text of a key into malloc'd memory; NULL when memory is short. */
typedef char *print_key_text(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size);

/*
 * Stacks that differ in what is not printed (instructions of one line, processes) are keys of their own to the kernel.
 * Of the entries of an aggregation whose keys have the same text this makes one. How many there are then: the first
 * ones. Unchanged when memory is short, and where keys have no stacks.
 */
size_t map_merge_alike(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count,
		       print_key_text *text_of);

#endif

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

enum symbol_form {
	SYMBOL_ALONE,       /* NAME */
	SYMBOL_WITH_OFFSET, /* NAME, or NAME+OFFSET behind its begin */
	SYMBOL_WITH_SIZE    /* NAME+OFFSET/SIZE, as far as these are known */
};

/* The words for numbers, as trace/names.h has them. */
struct print_names {
	/* The address itself, if it has no symbol. The sizes of the kernel's are not known. */
	void (*kernel_symbol)(struct names *names, FILE *out, uint64_t address, enum symbol_form form);
	void (*user_symbol)(struct names *names, FILE *out, uint64_t address, uint64_t pid, enum symbol_form form);
	/* The path of the file that is mapped there; nothing is written where that is not known. */
	void (*user_file)(struct names *names, FILE *out, uint64_t address, uint64_t pid);
	/*
	 * Its source, by debug information; the file lives as long as `names`. What is not known is left as it is: all
	 * of a process that has ended.
	 */
	void (*user_source)(struct names *names, uint64_t address, uint64_t pid, const char **file, uint32_t *line);
	void (*user)(struct names *names, FILE *out, uint64_t uid);
	/* Its present name; N/A: it is gone. */
	void (*process)(struct names *names, FILE *out, uint64_t pid);
	/* `filter` is a pattern of hierarchies, or NULL. Hierarchies that do not match are not written. */
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
	bool escape; /* output goes to a terminal: text from other programs must not control it; never with `json` */
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
	 * The script runs in record(). So the records of `begin` are handled before anything is attached, and tracing
	 * continues without events until it is ended.
	 */
	bool acts;
	/* All probes begin to fire at the same moment, when the last one is attached. */
	bool begins_together;
	/* Tells how many probes are attached. quiet: only the script's own output is wanted. */
	void (*attached)(const struct printer *p, size_t count, bool quiet);
	/* Events can come now. */
	void (*ready)(const struct printer *p);
	/* Called when `end` has run; the maps may follow. Not called in benches and tests. */
	void (*ended)(const struct printer *p);
	/* A value by itself, as a line. */
	void (*value_line)(const struct printer *p, const struct type *type, const uint8_t *bytes);
	/* `entries` are sorted here. top 0: all; div 0: none. */
	void (*map)(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count,
		    uint64_t top, uint64_t div);
	/* The output of a command and its like: {"type": TYPE, "data": "TEXT"} in JSON, else the text itself. */
	void (*message)(const struct printer *p, const char *type, const char *text, size_t size);
	/*
	 * How often printed output is flushed, in nanoseconds; NULL: at once. Others may write to the same file, and
	 * their lines must not be broken up, even if they come in pieces.
	 */
	uint64_t (*write_every)(const struct printer *p);
	/* A record of SITE_OF_DIALECT; NULL: there are none. `bytes` are laid out as in the site's tuple. */
	void (*record)(const struct printer *p, const struct site *site, const uint8_t *bytes);
	/* All records that had arrived were handled; called at least ten times a second. May be NULL. */
	void (*drained)(const struct printer *p);
	/* `count` events of some kind were lost, at least one; called when the script has ended. */
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

/* Text from other programs that the script prints: unchanged, or made safe for a terminal. */
void print_data(const struct printer *p, FILE *out, const char *text, size_t size);
/* The same of lines with tabs, as files have them. */
void print_lines(const struct printer *p, FILE *out, const char *text, size_t size);

/* The text of a key into malloc'd memory; NULL when memory is short. */
typedef char *print_key_text(const struct printer *p, const struct type *type, const uint8_t *key, size_t *size);

/*
 * In the kernel, stacks that differ only in what is not printed (instructions of one line, processes) are different
 * keys. This merges the entries of an aggregation whose keys have the same text. Returns how many entries are left, at
 * the front. Unchanged when memory is short, and if keys contain no stacks; with_symbols: nor symbols.
 */
size_t map_merge_alike(const struct printer *p, const struct symbol *map, struct map_entry *entries, size_t count,
		       bool with_symbols, print_key_text *text_of);

#endif

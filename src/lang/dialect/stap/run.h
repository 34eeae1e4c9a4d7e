/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * run: the running script: values, arrays, statistics, and the record that is handled. What functions and statements
 * share. Errors set run->flow, which callers check after each call that may fail.
 */
#ifndef STRATA_LANG_DIALECT_STAP_RUN_H
#define STRATA_LANG_DIALECT_STAP_RUN_H

#include "lang/dialect/stap/stap.h"

/* --- values.c --- */

struct stap_run;

struct stap_stat {
	int64_t count, sum, minimum, maximum;
	unsigned __int128 squares;
	uint64_t *buckets; /* NULL: no histogram */
};

struct stap_entry {
	struct stap_entry *next_of_hash, *before, *behind; /* `behind` came later */
	uint64_t hash;
	struct stap_value value; /* the text is malloc'd */
	struct stap_stat stat;
	struct stap_value keys[]; /* the texts follow */
};

struct stap_map {
	const struct stap_variable *variable;
	struct stap_entry **heads;
	size_t count, capacity;
	struct stap_entry *first, *last;
	unsigned int iterating;
};

struct stap_map *stap_map_create(const struct stap_variable *variable);
void stap_map_destroy(struct stap_map *map);
struct stap_entry *stap_map_find(const struct stap_map *map, const struct stap_value *keys);
/* A new one, which is not there yet. NULL when memory is short. */
struct stap_entry *stap_map_add(struct stap_map *map, const struct stap_value *keys);
/* What is removed is freed when the record is done; with no run at once. */
void stap_map_remove(struct stap_run *run, struct stap_map *map, struct stap_entry *entry);
void stap_map_clear(struct stap_run *run, struct stap_map *map);

/* False when memory is short. */
bool stap_stat_add(const struct stap_variable *variable, struct stap_stat *stat, int64_t value);
void stap_stat_clear(struct stap_stat *stat);
uint32_t stap_bucket_count(const struct stap_variable *variable);
/* The lowest value of a bucket. */
int64_t stap_bucket_value(const struct stap_variable *variable, uint32_t bucket);

/* --- the run --- */

enum stap_flow { FLOW_ON, FLOW_BREAK, FLOW_CONTINUE, FLOW_NEXT, FLOW_RETURN, FLOW_ERROR };

struct stap_chunk {
	struct stap_chunk *next;
	size_t used, size;
	char bytes[];
};

struct stap_frame {
	struct stap_value *locals;
	struct stap_value result;
};

struct stap_run {
	struct compiler *c; /* const in truth: what the script has is in its state */
	struct stap_state *state;
	const struct printer *p;
	/* the record */
	const struct stap_handler *handler;
	const struct stap_place *place;
	const struct stap_layout *layout;
	const struct type *arguments;
	const uint8_t *bytes;
	/* how it goes on */
	enum stap_flow flow;
	struct stap_frame *frame;
	const struct stap_node *at; /* what is done */
	char error[1024];
	int64_t actions;
	unsigned int nesting;
	/* the script */
	struct stap_chunk *chunks;
	VEC(void *) old; /* what was replaced or removed, and may still be in use */
	int64_t errors;
	uint64_t skipped;
	bool exited, failed;
	struct stap_map *indent; /* of thread_indent() */
	struct stap_map *family; /* of target_set_pid(): processes that belong to the target */
	char *tokens;            /* of tokenize() */
	size_t tokens_at;
	uint64_t random;
};

/* Memory until the record is done. NULL, and an error, when it is short. */
char *stap_room(struct stap_run *run, size_t size);
/* A text of `size` bytes at most MAXSTRINGLEN - 1. */
const char *stap_text(struct stap_run *run, const char *text, size_t size);
/* Reports an error: execution continues at the next catch. */
void stap_fail(struct stap_run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Numbers and texts of the record. */
int64_t stap_need_number(const struct stap_run *run, enum stap_need need);
const char *stap_need_text(struct stap_run *run, enum stap_need need);
/* stacks.c: frames, one a line. */
enum stap_stack_form {
	STAP_STACK_FULL,   /* address : name+offset/size [file] */
	STAP_STACK_SIMPLE, /* name+offset [the file's last component] */
	STAP_STACK_BRIEF   /* name+offset */
};
const char *stap_stack_text(struct stap_run *run, enum stap_need need, enum stap_stack_form form);
/* A slot's type and place in the record; NULL: there is none. */
const struct type_field *stap_slot_field(const struct stap_run *run, uint32_t slot);
int64_t stap_slot_number(const struct stap_run *run, uint32_t slot);
const char *stap_slot_text(struct stap_run *run, uint32_t slot);
/* Bytes of the record: how many; 0: there are none. */
uint32_t stap_slot_bytes(const struct stap_run *run, uint32_t slot, const uint8_t **ret);

/* Writes a line to standard error, without sequences that would control a terminal. */
void stap_tell(struct stap_run *run, const char *before, const char *text);
/* Frees it. */
void stap_run_end(struct stap_run *run);

/* interpret.c */
void stap_run_statement(struct stap_run *run, const struct stap_node *node);
struct stap_value stap_run_value(struct stap_run *run, const struct stap_node *node);
/* The statistics that an expression names; NULL: nothing was added yet. */
const struct stap_stat *stap_run_stat(struct stap_run *run, const struct stap_node *node);

/* histogram.c */
void stap_print_histogram(FILE *out, const struct stap_variable *variable, const struct stap_stat *stat);
/* What is written and never read is printed at the end. */
void stap_print_unread(struct stap_run *run);

#endif

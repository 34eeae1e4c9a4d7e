/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file_rows: the unwind rows of one file, as bytes that another process may have written.
 *
 *   file_rows_write()   parses the file: .eh_frame, the tables of runtimes, little code without either. Run by the
 *                       analyser (engine/analyser.h), or here if there is none
 *   file_rows_read()    trusts none of the bytes: counts, the order of rows, and each rule are checked
 *
 *   question   struct file_rows_question
 *              with FILE_ROWS_FOLLOWED, what came of following the code
 *   answer     struct file_rows_head
 *              rule_count times struct unwind_rule, row_count times struct unwind_row
 *
 * Much code without unwind tables is not followed at once, since that takes long: the answer says how much there is.
 * Another process follows it (ANALYSER_FOLLOW), and the question is asked again with what came of that.
 *
 * Whether a row is right cannot be checked. But a wrong answer about a file affects only the walks through that file.
 */
#ifndef STRATA_ENGINE_FILE_ROWS_H
#define STRATA_ENGINE_FILE_ROWS_H

#include "base/cache.h"
#include "unwind/unwind_parts.h"

enum file_rows_what {
	FILE_ROWS_ALL,
	FILE_ROWS_PARTS, /* can they be made in parts? If not, the error is -ENOTSUP (unwind_parts_create()) */
	FILE_ROWS_PART   /* those in [from, to) */
};

/* What is done with much code without unwind tables. */
enum file_rows_code {
	FILE_ROWS_ASK,      /* the answer says that there is some, and has no rows */
	FILE_ROWS_FOLLOW,   /* it is followed here */
	FILE_ROWS_FOLLOWED, /* it was followed elsewhere */
	FILE_ROWS_GIVE_UP   /* it has the rule UNWIND_OVER_BUDGET */
};

struct file_rows_question {
	uint32_t what;     /* enum file_rows_what */
	uint32_t code;     /* enum file_rows_code */
	uint32_t from, to; /* offsets from the lowest vaddr of the executable segments */
};

struct file_rows_head {
	int32_t err; /* as unwind_table_compile(); with -ENOENT, too, there may be rows */
	uint32_t reserved;
	uint64_t code; /* so many bytes of code are to be followed first; 0: none */
	uint64_t base, end;
	uint32_t rule_count, row_count;
};

_Static_assert(sizeof(struct file_rows_head) % sizeof(struct unwind_rule) == 0, "rules are aligned");

/* Keeps where things are in the large files that were asked about last: reading their index takes a while. */
struct file_rows_keeper;
struct file_rows_keeper *file_rows_keeper_create(void); /* NULL when memory is short */
void file_rows_keeper_destroy(struct file_rows_keeper *keeper);

/* What is asked. */
struct file_rows_source {
	struct file_rows_keeper *keeper;
	const struct elf_file *elf;
	struct foreign_file *file; /* of it; NULL: none, as of the vDSO */
	struct cache *cache;       /* for code that is followed here; may be NULL */
	const void *question;      /* which may be any bytes */
	size_t question_size;
	void (*pause)(void *context); /* as in struct unwind_options; may be NULL */
	void *context;
};

/* Writes the answer as at most `most` bytes, malloc'd. 0; -EINVAL: that is no question; -E2BIG; or -ENOMEM. */
int file_rows_write(const struct file_rows_source *source, size_t most, uint8_t **bytes, size_t *size);

struct file_rows {
	int err;       /* of the head; if it is 0 or -ENOENT, and no code is to be followed: */
	uint64_t code; /* of the head */
	struct unwind_table table; /* without the numbers that are only shown; unwind_table_deinit() */
};

/*
 * Reads an answer about a file whose executable segments are from `base` to `end`. 0, -EBADMSG, or -ENOMEM; *ret is to
 * be released only after 0.
 */
int file_rows_read(const uint8_t *bytes, size_t size, uint64_t base, uint64_t end, struct file_rows *ret);

/* A table in which all of a file's code has one rule. 0 or -ENOMEM. */
int file_rows_fill(uint64_t base, uint64_t end, enum unwind_kind kind, struct unwind_table *ret);

#endif

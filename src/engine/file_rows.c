// SPDX-License-Identifier: GPL-2.0-or-later
#include "engine/file_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/foreign.h"
#include "unwind/source.h"

#define KEPT_MAX 16 /* large files whose index is kept */

/* Which content a file has. */
struct identity {
	uint64_t device, inode, size;
	struct timespec modified, changed;
};

struct kept {
	struct identity identity;
	struct unwind_parts *parts;
};

/* The one that was used last is at the end. */
struct file_rows_keeper {
	struct kept kept[KEPT_MAX];
	size_t count;
};

struct file_rows_keeper *file_rows_keeper_create(void)
{
	return calloc(1, sizeof(struct file_rows_keeper));
}

void file_rows_keeper_destroy(struct file_rows_keeper *keeper)
{
	size_t i;

	for (i = 0; keeper && i < keeper->count; i++)
		unwind_parts_destroy(keeper->kept[i].parts);
	free(keeper);
}

static bool identify(struct foreign_file *file, struct identity *ret)
{
	struct stat status;

	if (!file || foreign_stat(file, &status))
		return false;
	*ret = (struct identity){.device = status.st_dev,
				 .inode = status.st_ino,
				 .size = (uint64_t)status.st_size,
				 .modified = status.st_mtim,
				 .changed = status.st_ctim};
	return true;
}

static bool is_same(const struct identity *a, const struct identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->size == b->size &&
	       a->modified.tv_sec == b->modified.tv_sec && a->modified.tv_nsec == b->modified.tv_nsec &&
	       a->changed.tv_sec == b->changed.tv_sec && a->changed.tv_nsec == b->changed.tv_nsec;
}

static void forget(struct file_rows_keeper *keeper, size_t i)
{
	unwind_parts_destroy(keeper->kept[i].parts);
	keeper->count--;
	memmove(&keeper->kept[i], &keeper->kept[i + 1], (keeper->count - i) * sizeof(keeper->kept[i]));
}

/* The parts of a file, which the keeper owns. 0, or as unwind_parts_create(). */
static int find_parts(const struct file_rows_source *source, struct unwind_parts **ret)
{
	struct file_rows_keeper *keeper = source->keeper;
	struct kept kept = {};
	size_t i;
	int err = 0;

	if (!identify(source->file, &kept.identity))
		return -ENOTSUP;
	for (i = 0; i < keeper->count && !is_same(&keeper->kept[i].identity, &kept.identity); i++)
		;
	if (i < keeper->count) {
		kept = keeper->kept[i];
		keeper->kept[i].parts = NULL;
		forget(keeper, i);
	} else {
		err = unwind_parts_create(source->elf, &kept.parts, NULL);
	}
	if (err)
		return err;
	if (keeper->count == KEPT_MAX)
		forget(keeper, 0);
	keeper->kept[keeper->count++] = kept;
	*ret = kept.parts;
	return 0;
}

/* One compilation. */
struct work {
	const struct file_rows_source *source;
	struct file_rows_question question;
	const uint8_t *followed; /* what came of following the code */
	size_t followed_size;
	uint64_t code; /* to be followed first */
};

static int follow(void *context, uint64_t code, const uint8_t **bytes, size_t *size)
{
	struct work *work = context;

	switch (work->question.code) {
	case FILE_ROWS_FOLLOW:
		return 0;
	case FILE_ROWS_FOLLOWED:
		*bytes = work->followed;
		*size = work->followed_size;
		return 0;
	case FILE_ROWS_GIVE_UP:
		return -ECANCELED;
	default:
		work->code = code;
		return -EINPROGRESS;
	}
}

static void pause_here(void *context)
{
	const struct file_rows_source *source = ((const struct work *)context)->source;

	if (source->pause)
		source->pause(source->context);
}

static int compile(struct work *work, struct unwind_table *ret)
{
	const struct file_rows_source *source = work->source;
	const struct file_rows_question *question = &work->question;
	const struct unwind_options options = {
		.cache = source->cache, .pause = pause_here, .follow = follow, .context = work};
	struct unwind_parts *parts;
	int err;

	if (question->what == FILE_ROWS_ALL)
		return unwind_table_compile(source->elf, &options, ret, NULL);
	err = find_parts(source, &parts);
	if (err || question->what == FILE_ROWS_PARTS)
		return err;
	return unwind_parts_compile(parts, source->elf, &options, question->from, question->to, ret, NULL);
}

static int write_table(const struct file_rows_head *head, const struct unwind_table *table, size_t most,
		       uint8_t **bytes, size_t *size)
{
	size_t rules = head->rule_count * sizeof(struct unwind_rule), rows = head->row_count * sizeof(*table->rows);

	*size = sizeof(*head) + rules + rows;
	if (*size > most)
		return -E2BIG;
	*bytes = malloc(*size);
	if (!*bytes)
		return -ENOMEM;
	memcpy(*bytes, head, sizeof(*head));
	if (rules)
		memcpy(*bytes + sizeof(*head), table->rules, rules);
	if (rows)
		memcpy(*bytes + sizeof(*head) + rules, table->rows, rows);
	return 0;
}

int file_rows_write(const struct file_rows_source *source, size_t most, uint8_t **bytes, size_t *size)
{
	struct work work = {.source = source};
	struct unwind_table table = {};
	struct file_rows_head head = {};
	int err;

	if (source->question_size < sizeof(work.question))
		return -EINVAL;
	memcpy(&work.question, source->question, sizeof(work.question));
	if (work.question.what > FILE_ROWS_PART || work.question.code > FILE_ROWS_GIVE_UP ||
	    work.question.from > work.question.to)
		return -EINVAL;
	work.followed = (const uint8_t *)source->question + sizeof(work.question);
	work.followed_size = source->question_size - sizeof(work.question);

	head.err = compile(&work, &table);
	if (head.err == -ENOMEM)
		return -ENOMEM;
	head.code = head.err ? work.code : 0;
	head.base = table.base;
	head.end = table.end;
	head.rule_count = (uint32_t)table.rule_count;
	head.row_count = (uint32_t)table.row_count;
	err = write_table(&head, &table, most, bytes, size);
	unwind_table_deinit(&table);
	return err;
}

/* One of those that a file's table may have. */
static bool is_rule(const struct unwind_rule *rule)
{
	if (rule->kind >= UNWIND_STEPS)
		return unwind_source_of(rule->kind) != NULL;
	return rule->kind == UNWIND_FP_CHAIN ? rule->param == UNWIND_CHAIN_OF_FILE
					     : rule->kind <= UNWIND_SP_INDEXED || rule->kind == UNWIND_CLONE ||
						       rule->kind == UNWIND_OTHER_STACK ||
						       rule->kind == UNWIND_OVER_BUDGET;
}

static bool is_sound(const struct unwind_table *table)
{
	uint64_t size = table->end - table->base;
	size_t i;

	for (i = 0; i < table->rule_count; i++)
		if (!is_rule(&table->rules[i]))
			return false;
	for (i = 0; i < table->row_count; i++)
		if (table->rows[i].offset >= size || table->rows[i].rule >= table->rule_count ||
		    (i && table->rows[i].offset <= table->rows[i - 1].offset))
			return false;
	return true;
}

static int copy_table(const uint8_t *bytes, const struct file_rows_head *head, struct unwind_table *ret)
{
	struct unwind_table table = {
		.base = head->base, .end = head->end, .rule_count = head->rule_count, .row_count = head->row_count};
	size_t rules = table.rule_count * sizeof(*table.rules), rows = table.row_count * sizeof(*table.rows);

	table.rules = malloc(rules + 1);
	table.rows = malloc(rows + 1);
	if (!table.rules || !table.rows) {
		unwind_table_deinit(&table);
		return -ENOMEM;
	}
	memcpy(table.rules, bytes + sizeof(*head), rules);
	memcpy(table.rows, bytes + sizeof(*head) + rules, rows);
	if (!is_sound(&table)) {
		unwind_table_deinit(&table);
		return -EBADMSG;
	}
	*ret = table;
	return 0;
}

int file_rows_read(const uint8_t *bytes, size_t size, uint64_t base, uint64_t end, struct file_rows *ret)
{
	struct file_rows_head head;

	*ret = (struct file_rows){};
	if (size < sizeof(head))
		return -EBADMSG;
	memcpy(&head, bytes, sizeof(head));
	if (head.err > 0 || head.err < -4095 || head.row_count > UNWIND_ROWS_MAX ||
	    size != sizeof(head) + head.rule_count * sizeof(struct unwind_rule) +
			    head.row_count * sizeof(struct unwind_row))
		return -EBADMSG;
	ret->err = head.err;
	ret->code = head.code;
	ret->table = (struct unwind_table){.base = base, .end = end};
	if (head.code || (head.err && head.err != -ENOENT) || !head.row_count)
		return 0;
	if (head.base != base || head.end != end)
		return -EBADMSG;
	return copy_table(bytes, &head, &ret->table);
}

int file_rows_fill(uint64_t base, uint64_t end, enum unwind_kind kind, struct unwind_table *ret)
{
	*ret = (struct unwind_table){.base = base, .end = end, .row_count = 1, .rule_count = 1};
	ret->rows = calloc(1, sizeof(*ret->rows));
	ret->rules = calloc(1, sizeof(*ret->rules));
	if (!ret->rows || !ret->rules) {
		unwind_table_deinit(ret);
		return -ENOMEM;
	}
	ret->rules->kind = (uint8_t)kind;
	return 0;
}

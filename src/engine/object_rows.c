// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An object's unwind rows: who compiles them, and when they get into the kernel's tables.
 *
 *   object_compile() ──► large? ── no ──► all rows
 *                          └─ yes ─► its place ──► object_fill(): a part, where a walk needs it
 *
 * Rows are asked of another process (object_compiling.rows), or compiled here.
 *
 * If much code has no unwind tables, the answer says so instead: another process follows that code first
 * (object_compiling.follow), unless the cache has what came of it.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "engine/file_rows.h"
#include "engine/objects_parts.h"
#include "unwind/derived.h"

/* From the lowest vaddr of the executable segments to one past the highest. 0, or a negative errno and a diag. */
static int find_text(const struct object *object, uint64_t *base, uint64_t *end, struct diag *diag)
{
	const char *path = object->file->path;
	size_t i;

	*base = UINT64_MAX;
	*end = 0;
	for (i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];

		if (!(segment->flags & PF_X) || !segment->memsz)
			continue;
		if (segment->vaddr < *base)
			*base = segment->vaddr;
		if (segment->vaddr + segment->memsz > *end)
			*end = segment->vaddr + segment->memsz;
	}
	if (*end <= *base)
		return diag_fail(diag, EBADMSG, "unwind.text", "%s: has no executable segment", path);
	if (*end - *base > UINT32_MAX)
		return diag_fail(diag, E2BIG, "unwind.size", "%s: its code spans more than 4 GiB", path);
	if (!arch_of(object->machine)->unwind)
		return diag_fail(diag, ENOTSUP, "unwind.machine", "%s: strata cannot unwind this architecture", path);
	return 0;
}

/* Compiles here what another process is asked otherwise. */
static int write_rows_here(const struct object *object, const struct object_compiling *how, const void *question,
			   size_t question_size, uint8_t **bytes, size_t *size)
{
	struct elf_file *elf;
	int err = object_parse(object, &elf, NULL);

	if (err)
		return err;
	err = file_rows_write(&(struct file_rows_source){.keeper = object->keeper,
							 .elf = elf,
							 .file = object->content,
							 .cache = object->cache,
							 .question = question,
							 .question_size = question_size,
							 .pause = how->pause,
							 .context = how->context},
			      SIZE_MAX, bytes, size);
	elf_file_close(elf);
	return err;
}

/* Did another process fail? Other errors are those of the file, or pass. */
static bool is_failure(int err)
{
	return err == -ETIME || err == -ECHILD || err == -EBADMSG || err == -EINVAL || err == -E2BIG;
}

/* Asks for rows, once. 0 and *ret, or a negative errno. */
static int ask_rows(struct object *object, const struct object_compiling *how, const void *question,
		    size_t question_size, struct file_rows *ret)
{
	uint8_t *bytes = NULL;
	uint64_t base, end;
	size_t size = 0;
	int err = -ENOSYS;

	*ret = (struct file_rows){};
	if (how->rows && object->content)
		err = how->rows(how->context, object, question, question_size, &bytes, &size);
	if (err == -ENOSYS)
		err = write_rows_here(object, how, question, question_size, &bytes, &size);
	if (!err) {
		err = find_text(object, &base, &end, NULL);
		if (!err)
			err = file_rows_read(bytes, size, base, end, ret);
	}
	free(bytes);
	if (is_failure(err)) {
		object->is_rowless = true;
		if (how->failed)
			how->failed(how->context, object, err);
	}
	return err;
}

/* What comes of following its code: 0 and the bytes, or no bytes: here; or what how->follow() says. */
static int follow(struct object *object, const struct object_compiling *how, uint64_t code, const uint8_t **bytes,
		  size_t *size)
{
	char name[CACHE_NAME_MAX + 1];
	struct elf_file *elf;
	int err = object_parse(object, &elf, NULL);

	if (err)
		return err;
	derived_name(elf, name);
	elf_file_close(elf);
	if (*name && object->cache && cache_get(object->cache, name, bytes, size))
		return 0;
	return how->follow ? how->follow(how->context, object, name, code, bytes, size) : 0;
}

/* The same question again, with what came of following the code. */
static int ask_rows_again(struct object *object, const struct object_compiling *how,
			  const struct file_rows_question *question, struct file_rows *rows)
{
	struct file_rows_question again = *question;
	const uint8_t *followed = NULL;
	size_t size = 0;
	VEC(uint8_t) bytes = {};
	int err = follow(object, how, rows->code, &followed, &size);

	if (err && err != -ECANCELED)
		return err;
	again.code = err ? FILE_ROWS_GIVE_UP : followed ? FILE_ROWS_FOLLOWED : FILE_ROWS_FOLLOW;
	err = vec_reserve(&bytes, sizeof(again) + size);
	if (!err) {
		memcpy(bytes.at, &again, sizeof(again));
		if (size)
			memcpy(bytes.at + sizeof(again), followed, size);
		err = ask_rows(object, how, bytes.at, sizeof(again) + size, rows);
	}
	vec_free(&bytes);
	return !err && rows->code ? -EIO : err;
}

/*
 * Asks for rows. 0; -ENOENT: the file tells nothing of its code, but there is a table; -EINPROGRESS: its code is being
 * followed; or another negative errno.
 */
static int find_rows(struct object *object, const struct object_compiling *how,
		     const struct file_rows_question *question, struct unwind_table *ret)
{
	struct file_rows rows = {};
	uint64_t base, end;
	int err = object_changed(object) ? -ESTALE : find_text(object, &base, &end, NULL);

	if (err)
		return err;
	if (!object->is_rowless)
		err = ask_rows(object, how, question, sizeof(*question), &rows);
	if (!err && rows.code)
		err = ask_rows_again(object, how, question, &rows);
	if (object->is_rowless)
		return file_rows_fill(base, end, UNWIND_OVER_BUDGET, ret);
	*ret = rows.table;
	return err ? err : rows.err;
}

/* The place of a table whose rows are still to come. */
static int reserve(struct object *object, struct tables *tables, struct diag *diag)
{
	uint64_t base, end;
	int err = find_text(object, &base, &end, diag);

	return err ? err : tables_reserve(tables, base, end, &object->run, diag);
}

static bool is_large(const struct object *object)
{
	uint64_t base, end;

	return !find_text(object, &base, &end, NULL) && end - base >= UNWIND_PARTS_LEAST;
}

static int fail(const struct object *object, int err, struct diag *diag)
{
	return diag_fail(diag, -err, "unwind.read", "%s: %s", object->file->path,
			 err == -EBADMSG ? "nothing in its .eh_frame makes sense" : strerror(-err));
}

/* A table of all of the text, or of a large file the place for parts of it. */
static int compile(struct object *object, struct tables *tables, const struct object_compiling *how, struct diag *diag)
{
	struct unwind_table table;
	uint64_t base, end;
	int err = find_text(object, &base, &end, diag);

	if (err)
		return err;
	if (!how->whole && is_large(object)) {
		err = find_rows(object, how, &(struct file_rows_question){.what = FILE_ROWS_PARTS}, &table);
		if (!err && !object->is_rowless) {
			object->in_parts = true;
			return reserve(object, tables, diag);
		}
		if (!err)
			unwind_table_deinit(&table);
		if (err && err != -ENOTSUP)
			return fail(object, err, diag);
	}
	err = find_rows(object, how, &(struct file_rows_question){.what = FILE_ROWS_ALL}, &table);
	if (how->pause)
		how->pause(how->context);
	if (err == -EINPROGRESS) {
		object->is_reserved = true;
		return reserve(object, tables, diag);
	}
	if (err && err != -ENOENT)
		return fail(object, err, diag);
	err = tables_add(tables, &table, &object->run, diag);
	unwind_table_deinit(&table);
	return err;
}

/* Was it refused for its size, here or in the tables, or because there is no process now? */
static bool is_beyond(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG || err == -EAGAIN;
}

void object_compile(struct object *object, struct tables *tables, const struct object_compiling *how)
{
	struct diag diag = {};
	int err;

	if (object->table != OBJECT_TABLE_UNKNOWN || !object->opened)
		return;
	object->table = OBJECT_TABLE_NONE;
	if (!object->readable)
		return;
	object->in_parts = object->is_reserved = false;
	err = compile(object, tables, how, &diag);
	if (err)
		object_set_problem(object, diag.text);
	object->too_large = err == -EFBIG;
	object->table = is_beyond(err) ? OBJECT_TABLE_FULL : err ? OBJECT_TABLE_NONE : OBJECT_TABLE_READY;
	if (object->table == OBJECT_TABLE_NONE)
		object_check_answers(object);
}

/* Rows that were learnt before there were others: by an earlier run. */
static void add_learnt(const struct object *object, struct tables *tables, uint64_t from, uint64_t to)
{
	size_t i;

	for (i = 0; object->learnt && i < object->learnt->ranges.count; i++) {
		const struct rule_range *range = &object->learnt->ranges.at[i];

		if (range->start < to && range->end > from &&
		    tables_learn(tables, &object->run, range->start, range->end, &range->rule))
			break;
	}
}

/* The pages that are given at once: 1 MiB of code, in 1 to 3 ms. */
#define PART_PAGES ((1u << 20) >> UNWIND_PAGE_SHIFT)

/* The rows from one vaddr to another, or all. */
static int compile_rows(struct object *object, const struct object_compiling *how, uint64_t from, uint64_t to,
			struct unwind_table *ret)
{
	struct file_rows_question question = {.what = FILE_ROWS_ALL};
	uint64_t base, end;
	int err = find_text(object, &base, &end, NULL);

	if (err)
		return err;
	if (!object->is_reserved) {
		question.what = FILE_ROWS_PART;
		question.from = from > base ? (uint32_t)(from - base) : 0;
		question.to = (uint32_t)((to < end ? to : end) - base);
	}
	err = find_rows(object, how, &question, ret);
	return err == -ENOENT ? 0 : err;
}

void object_fill(struct object *object, struct tables *tables, uint32_t page, const struct object_compiling *how)
{
	uint32_t first = (page - object->run.page_first) / PART_PAGES * PART_PAGES, count = PART_PAGES;
	uint64_t from, to;
	struct unwind_table table;
	int err;

	if (object->analysis.asked)
		return;
	if (object->is_reserved) {
		first = 0;
		count = object->run.page_count;
	}
	if (count > object->run.page_count - first)
		count = object->run.page_count - first;
	from = object->run.base + ((uint64_t)first << UNWIND_PAGE_SHIFT);
	to = from + ((uint64_t)count << UNWIND_PAGE_SHIFT);
	err = compile_rows(object, how, from, to, &table);
	if (err == -EINPROGRESS)
		return;
	if (!err) {
		err = tables_fill(tables, &object->run, first, count, &table);
		if (!err) {
			add_learnt(object, tables, from, to);
			object_forget_answer(object);
		}
		unwind_table_deinit(&table);
	}
	if (is_beyond(err)) {
		object->lacks_parts = true;
		tables_refuse(tables, &object->run, first, count);
	}
	/* Memory may be there the next time, and its file system answer; else it will be as now. */
	if (err && err != -ENOMEM && !(object->content && foreign_unanswered(object->content)))
		tables_fill(tables, &object->run, first, count, NULL);
	if (how->pause)
		how->pause(how->context);
}

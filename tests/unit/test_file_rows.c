// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/file_rows.h"
#include "tap.h"

static const char *const small[] = {"/proc/self/exe", "/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/bash"};
/* Of clang: more than 8 MiB of code. */
static const char *const large[] = {"/usr/lib/x86_64-linux-gnu/libLLVM-14.so.1",
				    "/usr/lib/llvm-14/lib/libclang-cpp.so.14"};
static const char musl[] = "/usr/lib/x86_64-linux-musl/libc.so"; /* without .eh_frame */

struct asked {
	struct file_rows_source source;
	struct file_rows_question question;
	struct elf_file *elf;
	uint64_t base, end;
};

static bool open_file(const char *path, struct file_rows_keeper *keeper, struct asked *ret)
{
	const struct elf_segment *segments;
	size_t count, i;

	*ret = (struct asked){.source = {.keeper = keeper}, .base = UINT64_MAX};
	if (access(path, R_OK))
		return false;
	ret->source.file = foreign_wrap(open(path, O_RDONLY | O_CLOEXEC));
	if (elf_file_open_foreign(ret->source.file, path, &ret->elf, NULL))
		return false;
	ret->source.elf = ret->elf;
	segments = elf_file_segments(ret->elf, &count);
	for (i = 0; i < count; i++) {
		if (!(segments[i].flags & 1) || !segments[i].memsz)
			continue;
		if (segments[i].vaddr < ret->base)
			ret->base = segments[i].vaddr;
		if (segments[i].vaddr + segments[i].memsz > ret->end)
			ret->end = segments[i].vaddr + segments[i].memsz;
	}
	return true;
}

static void close_file(struct asked *asked)
{
	elf_file_close(asked->elf);
	foreign_close(asked->source.file);
}

/* The question, with other bytes behind it; 0 and an answer that was read, or a negative errno. */
static int ask(struct asked *asked, const void *followed, size_t size, struct file_rows *ret)
{
	uint8_t *question = malloc(sizeof(asked->question) + size), *bytes = NULL;
	size_t count = 0;
	int err;

	memcpy(question, &asked->question, sizeof(asked->question));
	if (size)
		memcpy(question + sizeof(asked->question), followed, size);
	asked->source.question = question;
	asked->source.question_size = sizeof(asked->question) + size;
	err = file_rows_write(&asked->source, SIZE_MAX, &bytes, &count);
	if (!err)
		err = file_rows_read(bytes, count, asked->base, asked->end, ret);
	free(bytes);
	free(question);
	return err;
}

static bool is_same(const struct unwind_table *a, const struct unwind_table *b)
{
	return a->base == b->base && a->end == b->end && a->row_count == b->row_count &&
	       a->rule_count == b->rule_count && !memcmp(a->rows, b->rows, a->row_count * sizeof(*a->rows)) &&
	       !memcmp(a->rules, b->rules, a->rule_count * sizeof(*a->rules));
}

static void test_whole(struct file_rows_keeper *keeper, const char *path)
{
	struct unwind_table table = {};
	struct file_rows rows;
	struct asked asked;

	if (!ok(open_file(path, keeper, &asked), "%s", path))
		return;
	is_int(ask(&asked, NULL, 0, &rows), 0, "asked for all rows");
	is_int(unwind_table_compile(asked.elf, NULL, &table, NULL), 0, "compiled");
	ok(!rows.err && !rows.code && is_same(&rows.table, &table), "the same %zu rows", rows.table.row_count);
	unwind_table_deinit(&rows.table);
	unwind_table_deinit(&table);
	asked.question.what = FILE_ROWS_PARTS;
	ok(!ask(&asked, NULL, 0, &rows) && rows.err == -ENOTSUP, "it is not large: %d", rows.err);
	close_file(&asked);
}

static void test_parts(struct file_rows_keeper *keeper, const char *path)
{
	struct unwind_parts *parts = NULL;
	struct unwind_table table;
	struct file_rows rows;
	struct asked asked;
	unsigned int i;

	if (!open_file(path, keeper, &asked)) {
		ok(true, "# SKIP there is no %s", path);
		return;
	}
	asked.question.what = FILE_ROWS_PARTS;
	ok(!ask(&asked, NULL, 0, &rows) && !rows.err && !rows.table.row_count, "%s can be compiled in parts", path);
	is_int(unwind_parts_create(asked.elf, &parts, NULL), 0, "here, too");
	for (i = 0; i < 3; i++) {
		uint32_t from = (uint32_t)((asked.end - asked.base) / 4) * (i + 1);

		asked.question = (struct file_rows_question){
			.what = FILE_ROWS_PART, .code = FILE_ROWS_FOLLOW, .from = from, .to = from + (1 << 20)};
		ok(!ask(&asked, NULL, 0, &rows) && !rows.err, "part %u", i);
		ok(!unwind_parts_compile(parts, asked.elf, NULL, from, from + (1 << 20), &table, NULL) &&
			   is_same(&rows.table, &table),
		   "the same %zu rows", rows.table.row_count);
		unwind_table_deinit(&rows.table);
		unwind_table_deinit(&table);
	}
	unwind_parts_destroy(parts);
	close_file(&asked);
}

struct found {
	uint8_t *bytes;
	size_t size;
};

static void take_found(void *context, const void *bytes, size_t size)
{
	struct found *found = context;

	found->bytes = malloc(size);
	memcpy(found->bytes, bytes, size);
	found->size = size;
}

static void test_code(struct file_rows_keeper *keeper)
{
	struct found found = {};
	const struct unwind_options options = {.found = take_found, .context = &found};
	struct file_rows rows, followed;
	struct unwind_table table;
	struct asked asked;

	if (!open_file(musl, keeper, &asked)) {
		ok(true, "# SKIP there is no %s", musl);
		return;
	}
	ok(!ask(&asked, NULL, 0, &rows) && rows.code > 100000 && !rows.table.row_count, "%llu bytes are to be followed",
	   (unsigned long long)rows.code);
	is_int(unwind_follow(asked.elf, &options, NULL), 0, "which is done elsewhere");
	asked.question.code = FILE_ROWS_FOLLOWED;
	ok(!ask(&asked, found.bytes, found.size, &followed) && !followed.code, "rows by what came of it");
	unwind_table_compile(asked.elf, NULL, &table, NULL);
	ok(is_same(&followed.table, &table), "the same %zu as here", table.row_count);
	unwind_table_deinit(&followed.table);
	asked.question.code = FILE_ROWS_FOLLOW;
	ok(!ask(&asked, NULL, 0, &rows) && is_same(&rows.table, &table), "or it is followed at once");
	unwind_table_deinit(&rows.table);
	unwind_table_deinit(&table);
	found.bytes[found.size - 1] = 0xff;
	asked.question.code = FILE_ROWS_FOLLOWED;
	ok(!ask(&asked, found.bytes, found.size, &followed) &&
		   unwind_table_lookup(&followed.table, asked.base + 0x8000).kind == UNWIND_OVER_BUDGET,
	   "what makes no sense is worth nothing");
	unwind_table_deinit(&followed.table);
	asked.question.code = FILE_ROWS_GIVE_UP;
	ok(!ask(&asked, NULL, 0, &rows) &&
		   unwind_table_lookup(&rows.table, asked.base + 0x8000).kind == UNWIND_OVER_BUDGET,
	   "or never");
	unwind_table_deinit(&rows.table);
	free(found.bytes);
	close_file(&asked);
}

static void test_questions(struct file_rows_keeper *keeper)
{
	struct file_rows rows;
	struct asked asked;
	uint8_t *bytes;
	size_t size;

	open_file("/proc/self/exe", keeper, &asked);
	asked.source.question = &asked.question;
	asked.source.question_size = sizeof(asked.question) - 1;
	is_int(file_rows_write(&asked.source, SIZE_MAX, &bytes, &size), -EINVAL, "half a question");
	asked.question.what = FILE_ROWS_PART + 1;
	is_int(ask(&asked, NULL, 0, &rows), -EINVAL, "for what there is not");
	asked.question = (struct file_rows_question){.code = FILE_ROWS_GIVE_UP + 1};
	is_int(ask(&asked, NULL, 0, &rows), -EINVAL, "in a way that there is not");
	asked.question = (struct file_rows_question){.from = 1};
	is_int(ask(&asked, NULL, 0, &rows), -EINVAL, "for less than nothing");
	asked.question = (struct file_rows_question){};
	asked.source.question_size = sizeof(asked.question);
	asked.source.question = &asked.question;
	is_int(file_rows_write(&asked.source, 1000, &bytes, &size), -E2BIG, "more than there is room for");
	close_file(&asked);
}

/* A file with one row, and the answer about it. */
struct answer {
	struct file_rows_head head;
	struct unwind_rule rules[2];
	struct unwind_row rows[3];
};

static int read_answer(const struct answer *answer, size_t size)
{
	struct file_rows rows;
	int err = file_rows_read((const uint8_t *)answer, size, 0x1000, 0x3000, &rows);

	if (!err)
		unwind_table_deinit(&rows.table);
	return err;
}

static void test_lies(void)
{
	const struct answer honest = {
		.head = {.base = 0x1000, .end = 0x3000, .rule_count = 2, .row_count = 3},
		.rules = {{.kind = UNWIND_NO_RULE}, {.kind = UNWIND_SP, .cfa_offset = 8}},
		.rows = {{0, 0}, {0x10, 1}, {0x1fff, 0}}};
	struct answer lie;

	is_int(read_answer(&honest, sizeof(honest)), 0, "an answer");
	is_int(read_answer(&honest, sizeof(honest) - 1), -EBADMSG, "cut");
	is_int(read_answer(&honest, 10), -EBADMSG, "in its head");
	lie = honest;
	lie.head.row_count = UINT32_MAX;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "more rows than it has");
	lie = honest;
	lie.head.err = 1;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "a result that there is not");
	lie = honest;
	lie.head.end = 0x4000;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "other code");
	lie = honest;
	lie.rows[1].rule = 2;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "a rule that there is not");
	lie = honest;
	lie.rows[2].offset = 0x10;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "two rows at one place");
	lie = honest;
	lie.rows[2].offset = 0x2000;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "a row behind the code");
	lie = honest;
	lie.rules[1].kind = UNWIND_ABSENT;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "a rule that is the walker's own");
	lie.rules[1] = (struct unwind_rule){.kind = UNWIND_FP_CHAIN};
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "or one of generated code");
	lie.rules[1].kind = 255;
	is_int(read_answer(&lie, sizeof(lie)), -EBADMSG, "or nobody's");
}

int main(void)
{
	struct file_rows_keeper *keeper = file_rows_keeper_create();
	struct unwind_table table;
	size_t i;

	for (i = 0; i < sizeof(small) / sizeof(*small); i++)
		test_whole(keeper, small[i]);
	for (i = 0; i < sizeof(large) / sizeof(*large); i++)
		test_parts(keeper, large[i]);
	test_code(keeper);
	test_questions(keeper);
	test_lies();
	ok(!file_rows_fill(0x1000, 0x2000, UNWIND_OVER_BUDGET, &table) &&
		   unwind_table_lookup(&table, 0x1fff).kind == UNWIND_OVER_BUDGET &&
		   unwind_table_lookup(&table, 0x2000).kind == UNWIND_NO_RULE,
	   "one rule for all");
	unwind_table_deinit(&table);
	file_rows_keeper_destroy(keeper);
	return tap_done();
}

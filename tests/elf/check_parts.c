// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_parts FILE: compiles a large ELF file as a whole, and in parts, and compares: at each row of either one the
 * rule must be the same. Prints "rows N parts N differences N"; "whole" for a file that is not done in parts.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unwind/unwind_parts.h"

#define PART (64u << 10)

static bool same(const struct unwind_table *a, const struct unwind_table *b, uint64_t vaddr)
{
	struct unwind_rule x = unwind_table_lookup(a, vaddr), y = unwind_table_lookup(b, vaddr);

	return !memcmp(&x, &y, sizeof(x));
}

/* The differences at the rows of `rows` in [from, to), the first of which are told. */
static size_t compare(const struct unwind_arch *arch, const struct unwind_table *rows, const struct unwind_table *whole,
		      const struct unwind_table *part, uint32_t from, uint32_t to, size_t told)
{
	size_t low = 0, high = rows->row_count, found = 0;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (rows->rows[middle].offset < from)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < rows->row_count && rows->rows[low].offset < to; low++) {
		uint64_t vaddr = rows->base + rows->rows[low].offset;
		struct unwind_rule x, y;
		char a[128], b[128];

		if (same(whole, part, vaddr))
			continue;
		if (told + found++ >= 10)
			continue;
		x = unwind_table_lookup(whole, vaddr);
		y = unwind_table_lookup(part, vaddr);
		unwind_rule_format(arch, &x, a, sizeof(a));
		unwind_rule_format(arch, &y, b, sizeof(b));
		printf("0x%" PRIx64 " whole: %s; part: %s\n", vaddr, a, b);
	}
	return found;
}

static int check(const struct elf_file *elf, struct unwind_parts *parts)
{
	struct unwind_table whole = {}, part;
	size_t count = 0, differences = 0;
	struct diag diag = {};
	uint32_t from, size;
	int err = unwind_table_compile(elf, NULL, &whole, &diag);

	size = (uint32_t)(whole.end - whole.base);
	for (from = 0; from < size && !err; from += PART, count++) {
		uint32_t to = size - from < PART ? size : from + PART;

		err = unwind_parts_compile(parts, elf, NULL, from, to, &part, &diag);
		if (err)
			break;
		differences += !same(&whole, &part, whole.base + from);
		differences +=
			compare(arch_of(elf_file_machine(elf))->unwind, &whole, &whole, &part, from, to, differences);
		differences +=
			compare(arch_of(elf_file_machine(elf))->unwind, &part, &whole, &part, from, to, differences);
		unwind_table_deinit(&part);
	}
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	else
		printf("rows %zu parts %zu differences %zu\n", whole.row_count, count, differences);
	unwind_table_deinit(&whole);
	return err || differences;
}

int main(int argc, char **argv)
{
	struct unwind_parts *parts = NULL;
	struct diag diag = {};
	struct elf_file *elf;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, err;

	if (fd < 0)
		return 2;
	err = elf_file_open(fd, argv[1], &elf, &diag);
	close(fd);
	if (err) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	err = unwind_parts_create(elf, &parts, &diag);
	if (err == -ENOTSUP)
		puts("whole");
	else if (!err)
		err = check(elf, parts);
	unwind_parts_destroy(parts);
	elf_file_close(elf);
	return err && err != -ENOTSUP;
}

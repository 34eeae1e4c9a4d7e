// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump_rows FILE: the unwind table of an ELF file, a row a line, "ADDRESS rule", and on stderr one line of
 * counts. With --time it compiles ten times and prints the best time in microseconds instead.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind/unwind_table.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compile(const char *path, struct unwind_table *table, const struct arch **arch)
{
	struct diag diag = {};
	struct elf_file *elf;
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	if (fd < 0) {
		perror(path);
		return -errno;
	}
	err = elf_file_open(fd, path, &elf, &diag);
	close(fd);
	if (!err) {
		err = unwind_table_compile(elf, NULL, table, &diag);
		*arch = arch_of(elf_file_machine(elf));
		elf_file_close(elf);
	}
	if (err)
		fprintf(stderr, "%s\n", diag.text);
	return err == -ENOENT ? 0 : err;
}

int main(int argc, char **argv)
{
	bool timed = argc == 3 && !strcmp(argv[1], "--time");
	struct unwind_table table = {};
	const struct arch *arch = NULL;
	double best = 1e12;
	char text[128];
	size_t i;

	if (argc < 2)
		return 2;
	for (i = 0; i < (timed ? 10 : 1); i++) {
		double start = now_us();

		unwind_table_deinit(&table);
		if (compile(argv[argc - 1], &table, &arch))
			return 1;
		if (now_us() - start < best)
			best = now_us() - start;
	}
	if (timed)
		printf("%.0f\n", best);
	for (i = 0; i < table.row_count && !timed; i++) {
		unwind_rule_format(arch->unwind, &table.rules[table.rows[i].rule], text, sizeof(text));
		printf("%" PRIx64 " %s\n", table.base + table.rows[i].offset, text);
	}
	fprintf(stderr,
		"rows %zu rules %zu fdes %zu skipped %zu unsupported %zu text %" PRIu64 " covered %" PRIu64
		" derived %" PRIu64 "\n",
		table.row_count, table.rule_count, table.fde_count, table.fde_skipped, table.unsupported,
		table.text_bytes, table.covered_bytes, table.derived_bytes);
	unwind_table_deinit(&table);
	return 0;
}

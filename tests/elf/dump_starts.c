// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump_starts FILE: for each address on standard input, hexadecimal, a line with where its function begins, or "-".
 * What the first answer and all took, in us, is on stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "unwind/function_starts.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

int main(int argc, char **argv)
{
	struct function_starts *starts;
	struct diag diag = {};
	struct elf_file *elf;
	uint64_t vaddr, start;
	double begin, first = 0, all = 0;
	int fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, err;

	if (fd < 0) {
		fprintf(stderr, "usage: dump_starts FILE < ADDRESSES\n");
		return 2;
	}
	if (elf_file_open(fd, argv[1], &elf, &diag) || function_starts_create(elf, &starts)) {
		fprintf(stderr, "%s: %s\n", argv[1], diag.text);
		return 1;
	}
	while (scanf("%" SCNx64, &vaddr) == 1) {
		begin = now_us();
		err = function_starts_find(starts, vaddr, &start);
		all += now_us() - begin;
		if (!first)
			first = all;
		if (err)
			puts("-");
		else
			printf("%" PRIx64 "\n", start);
	}
	fprintf(stderr, "first %.1f all %.1f\n", first, all);
	function_starts_destroy(starts);
	close(fd);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dump_symbols [--root DIR] FILE [NAME...]: the symbols of an ELF file, a line each, "ADDRESS SIZE g|l NAME", and on
 * stderr one line of counts and costs. With names, elf_file_find_symbol()'s answers instead, and the time of each.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "elf/symbols.h"

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int dump(const struct elf_file *elf, const char *root)
{
	double start = now_us();
	struct elf_symbols *symbols;
	struct elf_symbol symbol;
	struct diag diag = {};
	size_t i;

	if (elf_symbols_create(elf, root, &symbols, &diag)) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	fprintf(stderr, "symbols %zu bytes %zu sources %s us %.0f\n", elf_symbols_count(symbols),
		elf_symbols_bytes(symbols), elf_symbols_sources(symbols), now_us() - start);
	for (i = 0; elf_symbols_at(symbols, i, &symbol); i++)
		printf("%" PRIx64 " %" PRIu64 " %c %s\n", symbol.vaddr, symbol.size, symbol.local ? 'l' : 'g',
		       symbol.name);
	elf_symbols_destroy(symbols);
	return 0;
}

static void find(const struct elf_file *elf, const char *name)
{
	double start = now_us();
	uint64_t vaddr = 0, size = 0;
	bool found = elf_file_find_symbol(elf, name, &vaddr, &size);

	printf("%s %s %" PRIx64 " %" PRIu64 "\n", found ? "found" : "none", name, vaddr, size);
	fprintf(stderr, "us %.1f\n", now_us() - start);
}

int main(int argc, char **argv)
{
	const char *root = "";
	struct diag diag = {};
	struct elf_file *elf;
	double start = now_us();
	int fd, i, status = 0;

	if (argc > 3 && !strcmp(argv[1], "--root")) {
		root = argv[2];
		argc -= 2;
		argv += 2;
	}
	if (argc < 2)
		return 2;
	fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	if (fd < 0 || elf_file_open(fd, argv[1], &elf, &diag)) {
		fprintf(stderr, "%s: %s\n", argv[1], fd < 0 ? strerror(errno) : diag.text);
		return 1;
	}
	close(fd);
	if (argc > 2)
		fprintf(stderr, "open us %.1f\n", now_us() - start);
	for (i = 2; i < argc; i++)
		find(elf, argv[i]);
	if (argc == 2)
		status = dump(elf, root);
	elf_file_close(elf);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * check_wanted FILE [COUNT]: looks addresses up among all symbols of an ELF file, and among those that were gathered
 * for them, some at a time, and compares. The addresses are at random, and at and around the ends of symbols. Prints
 * "addresses N named N differences N".
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/symbols.h"

#define AT_ONCE 500

static uint64_t rnd(uint64_t *random)
{
	*random ^= *random << 13, *random ^= *random >> 7, *random ^= *random << 17;
	return *random >> 11;
}

/* An address to be looked up. */
static uint64_t choose(const struct elf_symbols *all, const struct elf_segment *text, uint64_t *random)
{
	size_t count = elf_symbols_count(all);
	struct elf_symbol symbol;

	if (!count || rnd(random) % 3 == 0)
		return text->vaddr + rnd(random) % text->memsz;
	elf_symbols_at(all, rnd(random) % count, &symbol);
	if (rnd(random) % 2)
		return symbol.vaddr + rnd(random) % (symbol.size + 1);
	return (rnd(random) % 2 ? symbol.vaddr : symbol.vaddr + symbol.size) + rnd(random) % 5 - 2;
}

static bool same(const struct elf_symbols *all, const struct elf_symbols *some, uint64_t vaddr, size_t *named)
{
	struct elf_symbol a, b;
	bool has_a = elf_symbols_lookup(all, vaddr, &a), has_b = elf_symbols_lookup(some, vaddr, &b);

	*named += has_a;
	if (has_a == has_b && (!has_a || (!strcmp(a.name, b.name) && a.vaddr == b.vaddr && a.local == b.local)))
		return true;
	printf("0x%" PRIx64 ": %s among all, %s among some\n", vaddr, has_a ? a.name : "none", has_b ? b.name : "none");
	return false;
}

static int check(const struct elf_file *elf, const struct elf_symbols *all, size_t count)
{
	const struct elf_segment *segments, *text = NULL;
	uint64_t random = 0x9e3779b97f4a7c15ull, vaddrs[AT_ONCE];
	size_t segment_count, done, i, named = 0, differences = 0;
	struct elf_symbols *some;

	segments = elf_file_segments(elf, &segment_count);
	for (i = 0; i < segment_count; i++)
		if (segments[i].flags & 1 && (!text || segments[i].memsz > text->memsz))
			text = &segments[i];
	for (done = 0; done < count && text; done += AT_ONCE) {
		for (i = 0; i < AT_ONCE; i++)
			vaddrs[i] = choose(all, text, &random);
		if (elf_symbols_create_for(elf, "", vaddrs, AT_ONCE, &some, NULL))
			return 1;
		for (i = 0; i < AT_ONCE; i++)
			differences += !same(all, some, vaddrs[i], &named);
		differences += strcmp(elf_symbols_sources(all), elf_symbols_sources(some)) != 0;
		elf_symbols_destroy(some);
	}
	printf("addresses %zu named %zu differences %zu\n", done, named, differences);
	return differences != 0;
}

int main(int argc, char **argv)
{
	struct elf_symbols *all;
	struct diag diag = {};
	struct elf_file *elf;
	int fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1, err;

	if (fd < 0)
		return 2;
	err = elf_file_open(fd, argv[1], &elf, &diag);
	close(fd);
	if (!err)
		err = elf_symbols_create(elf, "", &all, &diag);
	if (err) {
		fprintf(stderr, "%s\n", diag.text);
		return 1;
	}
	err = check(elf, all, argc > 2 ? strtoul(argv[2], NULL, 10) : 10000);
	elf_symbols_destroy(all);
	elf_file_close(elf);
	return err;
}

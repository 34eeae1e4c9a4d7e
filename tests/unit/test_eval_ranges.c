// SPDX-License-Identifier: GPL-2.0-or-later
/* The interpreter loop by what its code does: asm/loop_*.s says what must come out. */
#include "assemble.h"
#include "runtime/python/interpreter.h"
#include "tap.h"

static const struct python_range *find(const struct elf_file *elf, const char *name, const struct python_range *ranges,
				       size_t count)
{
	uint64_t vaddr, size;
	size_t i;

	if (!elf_file_find_symbol(elf, name, &vaddr, &size))
		return NULL;
	for (i = 0; i < count; i++)
		if (ranges[i].start == vaddr && ranges[i].end == vaddr + size)
			return &ranges[i];
	return NULL;
}

static void test_machine(const char *machine, const char *evidence)
{
	const struct python_interpreter interpreter = {.version = 0x030b};
	const struct python_range *hot, *cold, *dead;
	struct python_range *ranges = NULL;
	struct elf_file *elf;
	size_t count = 0;
	char name[32];

	snprintf(name, sizeof(name), "loop_%s", machine);
	elf = assemble(name, machine);
	ok(elf, "%s: assembled", machine);
	if (!elf)
		return;
	is_int(python_eval_ranges(elf, &interpreter, &ranges, &count, NULL), 0, "%s: found", machine);
	hot = find(elf, "hot", ranges, count);
	cold = find(elf, "cold", ranges, count);
	dead = find(elf, "dead", ranges, count);
	ok(hot && !strcmp(hot->evidence, evidence), "%s: the hot part", machine);
	ok(cold && !strcmp(cold->evidence, "messages of the loop"), "%s: the cold part, by its messages", machine);
	ok(!find(elf, "stranger", ranges, count), "%s: not the function that it ends with", machine);
	is_int(count, 3, "%s: and nothing else", machine);
	ok(dead && !strcmp(dead->evidence, "jump into FDE, same CFA"), "a part that never comes back");
	ok(hot && !hot->cold && cold && cold->cold && dead && dead->cold, "which is hot, which cold");
	free(ranges);
	elf_file_close(elf);
}

/* A loop by its names. */
static void test_names(const char *machine)
{
	const struct python_interpreter interpreter = {.version = 0x030e};
	struct python_range *ranges = NULL;
	char path[256], line[256], name[64], what[32], found[32];
	struct elf_file *elf = assemble("loop_names", machine);
	size_t count = 0, named = 0;
	FILE *source;

	snprintf(path, sizeof(path), "%s/unit/asm/loop_names.s", TEST_DIR);
	source = fopen(path, "re");
	if (!ok(elf && source, "%s: names are assembled", machine))
		exit(tap_done());
	is_int(python_eval_ranges(elf, &interpreter, &ranges, &count, NULL), 0, "%s: found", machine);
	while (fgets(line, sizeof(line), source)) {
		const struct python_range *range;

		if (sscanf(line, "part %63s // %31[^\n]", name, what) != 2)
			continue;
		range = find(elf, name, ranges, count);
		named += range != NULL;
		snprintf(found, sizeof(found), "%s%s%s",
			 !range           ? "none"
			 : range->cold    ? "cold"
			 : range->handler ? ""
					  : "hot",
			 range && range->cold && range->handler ? " " : "", range && range->handler ? "handler" : "");
		is_str(found, what, "%s: %s", machine, name);
	}
	is_int((int64_t)count, (int64_t)named, "%s: and nothing else", machine);
	fclose(source);
	free(ranges);
	elf_file_close(elf);
}

int main(void)
{
	if (!can_assemble()) {
		puts("1..0 # SKIP no clang or no lld");
		return 0;
	}
	test_machine("x86_64", "jump into FDE, same CFA");
	test_machine("aarch64", "jump into FDE, jumps back");
	test_names("x86_64");
	test_names("aarch64");
	return tap_done();
}

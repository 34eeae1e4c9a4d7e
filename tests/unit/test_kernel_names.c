// SPDX-License-Identifier: GPL-2.0-or-later
/* What the running kernel says of its own functions, beside /proc/kallsyms. Skipped where that hides addresses. */
#include <stdio.h>

#include "kernel/kernel_names.h"
#include "tap.h"

#define SYMBOLS_MAX 400000
#define EVERY       50 /* of the addresses one is asked */

struct symbol {
	uint64_t address;
	char name[120];
};

static struct symbol *symbols;
static size_t count;

/* Functions with an address, of all but programs: those come and go. */
static void read_symbols(void)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	char line[1024], type;

	symbols = calloc(SYMBOLS_MAX, sizeof(*symbols));
	while (file && symbols && count < SYMBOLS_MAX && fgets(line, sizeof(line), file)) {
		struct symbol *symbol = &symbols[count];

		if (!strstr(line, "[bpf]") && !strstr(line, "[__builtin") &&
		    sscanf(line, "%" SCNx64 " %c %119s", &symbol->address, &type, symbol->name) == 3 &&
		    symbol->address && strchr("tTwW", type))
			count++;
	}
	if (file)
		fclose(file);
}

static int compare(const void *left, const void *right)
{
	const struct symbol *a = left, *b = right;

	return (a->address > b->address) - (a->address < b->address);
}

static uint64_t address_of(const char *name)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!strcmp(symbols[i].name, name))
			return symbols[i].address;
	return 0;
}

/* One byte behind the start of symbols that are longer: the name is one of those that start there. */
static void test_lookup(struct kernel_names *names)
{
	size_t first, next, i, asked = 0, wrong = 0;

	for (first = 0; first < count; first = next) {
		uint64_t at = symbols[first].address, offset = 0;
		const char *name;
		bool found = false;

		for (next = first; next < count && symbols[next].address == at; next++)
			;
		if (next == count || symbols[next].address < at + 2 || !strcmp(symbols[first].name, "_etext") ||
		    !strcmp(symbols[first].name, "_einittext") || first % EVERY)
			continue;
		name = kernel_names_lookup(names, at + 1, &offset);
		for (i = first; name && i < next; i++)
			found |= !strncmp(symbols[i].name, name, sizeof(symbols[i].name) - 1);
		asked++;
		if (found && offset == 1)
			continue;
		if (wrong++ < 10)
			printf("# %#" PRIx64 ": %s+%" PRIu64 ", not %s+1\n", at + 1, name ? name : "nothing", offset,
			       symbols[first].name);
	}
	ok(asked > 100 && !wrong, "the names of functions, with the distance: %zu, %zu wrong", asked, wrong);
	ok(!kernel_names_lookup(names, 0x1000, NULL), "an address of no function has none");
	ok(!kernel_names_lookup(names, 0, NULL), "nor has 0");
}

static void test_scheduler(const struct kernel_names *names)
{
	uint64_t schedule = address_of("schedule"), other = address_of("vfs_read");

	ok(schedule && kernel_names_is_scheduler(names, schedule + 1), "schedule() is one of the scheduler's");
	ok(other && !kernel_names_is_scheduler(names, other), "vfs_read() is not");
	ok(kernel_names_stay(names, other), "the kernel's own functions stay");
}

int main(void)
{
	struct kernel_names *names;
	bool asks = true;

	read_symbols();
	if (!count || !address_of("schedule")) {
		printf("1..0 # SKIP /proc/kallsyms has no addresses\n");
		return 0;
	}
	qsort(symbols, count, sizeof(*symbols), compare);
	do {
		names = kernel_names_create(asks);
		if (ok(names && !kernel_names_read(names, false), "the kernel's names, %s",
		       asks ? "one at a time" : "all at once")) {
			test_lookup(names);
			test_scheduler(names);
		}
		kernel_names_destroy(names);
		asks = !asks;
	} while (!asks);
	free(symbols);
	return tap_done();
}

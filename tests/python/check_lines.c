// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reads what dump_lines.py writes on stdin and compares every line with python_line(). Prints counts and the first
 * differences on stdout; status 0 when there are none and something was compared.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/python/lines.h"

#define SHOWN     10
#define TABLE_MAX (64 << 20)

struct counts {
	unsigned long codes, units, different;
};

static bool read_all(void *ret, size_t size)
{
	return fread(ret, 1, size, stdin) == size;
}

static void check(uint16_t version, int32_t firstlineno, const uint8_t *table, size_t size, const int32_t *lines,
		  uint32_t units, struct counts *counts)
{
	uint32_t unit;
	int line;

	counts->codes++;
	counts->units += units;
	for (unit = 0; unit < units; unit++) {
		line = python_line(version, table, size, firstlineno, (int)unit * 2);
		if (line == lines[unit])
			continue;
		if (counts->different++ < SHOWN)
			printf("code %lu (first line %d), offset %u: %d, expected %d\n", counts->codes, firstlineno,
			       unit * 2, line, lines[unit]);
	}
}

/* One code object; false at the end of the input, *damaged when it ends in the middle. */
static bool check_next(uint16_t version, struct counts *counts, bool *damaged)
{
	struct {
		int32_t firstlineno;
		uint32_t size, units;
	} head;
	uint8_t *table = NULL;
	int32_t *lines = NULL;

	if (!read_all(&head, sizeof(head)))
		return false;
	*damaged = head.size > TABLE_MAX || head.units > TABLE_MAX;
	if (!*damaged) {
		table = malloc(head.size + 1);
		lines = malloc((head.units + 1) * sizeof(*lines));
		*damaged = !table || !lines || !read_all(table, head.size) ||
			   !read_all(lines, head.units * sizeof(*lines));
	}
	if (!*damaged)
		check(version, head.firstlineno, table, head.size, lines, head.units, counts);
	free(table);
	free(lines);
	return !*damaged;
}

int main(void)
{
	struct counts counts = {};
	bool damaged = false;
	struct {
		uint32_t version, asked;
	} head;

	if (!read_all(&head, sizeof(head))) {
		printf("no input\n");
		return 1;
	}
	while (check_next((uint16_t)head.version, &counts, &damaged))
		;
	printf("Python %u.%u: %lu code objects, %lu code units, %lu different lines than %s%s\n", head.version >> 8,
	       head.version & 0xff, counts.codes, counts.units, counts.different,
	       head.asked ? "PyCode_Addr2Line()" : "its own tables say", damaged ? ", input cut short" : "");
	return damaged || counts.different || !counts.units;
}

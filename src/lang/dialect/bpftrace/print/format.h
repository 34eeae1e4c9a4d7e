/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * format: parses the formats of printf, in one place for the checker and for printing. A conversion is
 * `%[flags][width][.precision] [length]letter`. The letters are C's for integers and characters; s for everything that
 * is printed as text; r for bytes (rx and rh: as hexadecimal digits); and gr for the flags of an allocation in the
 * kernel.
 */
#ifndef STRATA_LANG_DIALECT_BPFTRACE_PRINT_FORMAT_H
#define STRATA_LANG_DIALECT_BPFTRACE_PRINT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

struct conversion {
	const char *begin, *end; /* in the format, end exclusive */
	char letter;             /* d i u x X o c p s r, and g for gr; 0: not a valid one */
	char variant;            /* of r: 'x' or 'h', else 0 */
	int width;               /* -1: none */
	int precision;           /* -1: none */
	bool left, zero, plus, space, hash;
	int bytes; /* of the number, by the length, as in C: 1, 2, 4, 8 */
};

/* Finds the next conversion at or behind `at`; "%%" is none. False at the end. */
bool format_next(const char *at, struct conversion *ret);

#endif

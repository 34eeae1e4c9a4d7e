/* SPDX-License-Identifier: GPL-2.0-or-later */
/* number: how numbers are written in scripts, attach points and options, whatever the dialect. */
#ifndef STRATA_LANG_CORE_NUMBER_H
#define STRATA_LANG_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * 10, 0x10, 010, 1e6, 1_000, 10UL; and durations, which are nanoseconds: 5ms. False when `text` is no number or too
 * large.
 */
bool number_parse(const char *text, size_t size, uint64_t *ret);

/* What a digit of any base up to 16 is worth; 99: it is none. */
int number_digit(char c);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * text: makes names that somebody else chose (symbols, files, comms) safe for a line of output.
 */
#ifndef STRATA_PROFILE_TEXT_H
#define STRATA_PROFILE_TEXT_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes `string` as valid UTF-8 on one line without `;` into a buffer as snprintf does: returns the length that it
 * would need without the terminator; terminates if size > 0, and never cuts inside a character.
 *   `;`                                            becomes `:`
 *   C0 and C1 controls, DEL, U+2028, U+2029        become '?' each
 *   controls of text direction (U+202E and such)   become '?' each: they make text look different from what it is
 *   each byte that is not part of valid UTF-8      becomes '?'
 */
size_t text_clean(const char *string, char *buffer, size_t size);

/*
 * Writes bytes for people: what text_clean() replaces, except `;`, is written as "\xNN" for each byte, so that it can
 * neither end a line nor control a terminal. For programs, inside JSON's quotes: these are written as \u, and each byte
 * that is not valid UTF-8 as U+FFFD.
 */
void text_print(FILE *out, const char *bytes, size_t size);
void text_print_json(FILE *out, const char *bytes, size_t size);

/*
 * The length (1 to 4) of the valid UTF-8 character at `bytes`, a terminated string; 0 when it is not valid (overlong
 * forms, surrogates and values past U+10FFFF are not: Unicode 15, table 3-7). `code_point` may be NULL.
 */
unsigned int text_character(const char *bytes, unsigned int *code_point);

#endif

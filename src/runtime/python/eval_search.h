/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * eval_search: the interpreter loop of a file without its symbol, by what the code does; for src/runtime/python/ only.
 *
 * The loop alone refers to certain messages ("bad RAISE_VARARGS oparg"). The functions that do are anchors: two
 * messages in one function, its cold parts included, make it the loop (eval_ranges.c). In 3.14's tail-call interpreter
 * each message is in another function, and all of these are in one table of at least 256 functions: the dispatch table.
 *
 * Plain values; -ENOMEM is the only failure. Nothing found is no failure.
 */
#ifndef STRATA_PYTHON_EVAL_SEARCH_H
#define STRATA_PYTHON_EVAL_SEARCH_H

#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

#define EVAL_MESSAGES_NEEDED 2

/* An FDE whose code refers to messages: a bit for each. */
struct eval_anchor {
	uint64_t start, end;
	uint32_t messages;
};
typedef VEC(struct eval_anchor) eval_anchors;
typedef VEC(uint64_t) eval_addresses;

/* Appends the anchors. Takes some 10 ms, because all code is searched. */
int eval_find_anchors(const struct elf_file *elf, eval_anchors *ret);

/*
 * Appends the distinct functions of the dispatch table that has the functions of EVAL_MESSAGES_NEEDED messages or more
 * in it, and sets *table to its vaddr; 0 when there is none.
 */
int eval_find_dispatch(const struct elf_file *elf, const eval_anchors *anchors, uint64_t *table, eval_addresses *ret);

/* Appends the vaddr of each direct call (x86-64: also each `lea`) to, or of, an address that `wanted` says yes to. */
int eval_find_references(const struct elf_file *elf, bool (*wanted)(void *context, uint64_t target), void *context,
			 eval_addresses *ret);

#endif

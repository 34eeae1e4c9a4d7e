/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_symbols: kernel address → symbol, from /proc/kallsyms (text symbols: types t, T, w, W; modules too).
 * Loaded once, 150,000 symbols in some 6 MB; immutable afterwards, so lookups are thread-safe.
 */
#ifndef STRATA_SYMBOL_KERNEL_SYMBOLS_H
#define STRATA_SYMBOL_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diag.h"

struct kernel_symbols;

/*
 * `path` is /proc/kallsyms, or a file of that format for tests. -EACCES when all addresses read as 0 (kptr_restrict);
 * -EINVAL when no line is a text symbol. Lines that do not parse are skipped.
 */
int kernel_symbols_create(const char *path, struct kernel_symbols **ret, struct diag *diag);
void kernel_symbols_destroy(struct kernel_symbols *symbols);

/*
 * The symbol that covers an address, without "[module]", and the distance from its start (`offset` may be NULL).
 * NULL if the address is below the first symbol, or in the gap after the kernel's own text (_etext, _einittext).
 * Of several names at one address the best is kept: global over weak over local, fewer leading underscores, shorter.
 */
const char *kernel_symbols_lookup(const struct kernel_symbols *symbols, uint64_t address, uint64_t *offset);

/* Does an address lie in the kernel's own text? Symbols of modules and of BPF programs come and go. */
bool kernel_symbols_stay(const struct kernel_symbols *symbols, uint64_t address);

/* Is an address in the scheduler's functions (.sched.text)? The kernel leaves these out of a sleeping thread's stack.
 */
bool kernel_symbols_is_scheduler(const struct kernel_symbols *symbols, uint64_t address);

#endif

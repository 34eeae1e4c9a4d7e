/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: takes away from the calling process, for good, everything but reading and writing the descriptors that it
 * has, allocating memory, and ending. For processes that parse bytes which others wrote: if such bytes take one over,
 * it can do nothing else.
 *
 *   no_new_privs, no capabilities    no program that it starts gains rights, and it has none itself
 *   seccomp                          only the system calls listed in confine.c; all others, such as open(), fork(),
 *                                    kill(), fail with EPERM
 *   limits                           of address space, and of the size of files that it writes; no core dumps. Lower
 *                                    ones that it has already stay
 *
 * If it was root, it stays root: otherwise processes of another user could kill it. Libraries must be loaded before.
 */
#ifndef STRATA_BASE_CONFINE_H
#define STRATA_BASE_CONFINE_H

#include <stdint.h>

/*
 * `machine`: AUDIT_ARCH_* of the machine that strata runs on (struct arch). `memory`, `file_size`: limits, in bytes. 0;
 * or a negative errno if this kernel lacks something: then the process must not do its work.
 */
int confine(uint32_t machine, uint64_t memory, uint64_t file_size);

#endif

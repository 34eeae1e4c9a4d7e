/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * confine: makes the calling process one that can do nothing, for good, but read and write the descriptors that it
 * holds, take memory, and end: for one that works on what others wrote, and may be turned by it.
 *
 *   no_new_privs, no capabilities    nothing that it runs has more rights than it has: none
 *   seccomp                          the system calls of confine.c; all others, such as open(), fork(), kill(), are
 *                                    EPERM
 *   limits                           of address space, and of files that it writes; no core
 *
 * It stays root, if it was: as another user it could be killed by that user's processes. Libraries must be loaded
 * before.
 */
#ifndef STRATA_BASE_CONFINE_H
#define STRATA_BASE_CONFINE_H

#include <stdint.h>

/*
 * `machine`: AUDIT_ARCH_*, the one that strata runs on (struct arch). `memory`, `file_size`: limits, in bytes. 0, or
 * the negative errno of what this kernel does not give: then the process is to do nothing.
 */
int confine(uint32_t machine, uint64_t memory, uint64_t file_size);

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/* syscalls: the names and numbers of the machine's system calls. */
#ifndef STRATA_LANG_CORE_SYSCALLS_H
#define STRATA_LANG_CORE_SYSCALLS_H

#include <stdint.h>

/* "read" and so on; NULL when there is none of this number. */
const char *syscall_name(uint64_t number);
/* The number of "read"; -1 when there is no such call. */
int syscall_number(const char *name);

#endif

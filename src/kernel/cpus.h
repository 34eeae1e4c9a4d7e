/* SPDX-License-Identifier: GPL-2.0-or-later */
/* cpus: which CPUs are online. They may come and go at any time. */
#ifndef STRATA_KERNEL_CPUS_H
#define STRATA_KERNEL_CPUS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Reads a list such as "0-3,8" (/sys/devices/system/cpu/online) into online[0 .. count). All of them are taken to be
 * online if the file cannot be read or is no such list: then opening an event fails. True if it could be read.
 */
bool cpus_online(const char *path, bool *online, size_t count);

/*
 * Parses a list from a user: ret[N] is set for each CPU N in it. 0; -EINVAL: it is not a list; -ERANGE: it contains
 * *beyond, which is not below `count`.
 */
int cpus_parse(const char *text, bool *ret, size_t count, unsigned long *beyond);

#define CPUS_ONLINE "/sys/devices/system/cpu/online"

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * core_types: a small BTF of the few kernel structs that the CO-RE relocations of src/bpf name, with the kernel's
 * offsets. Otherwise libbpf would parse all types of the kernel: 14 ms and 11 MB.
 *
 * No state; any thread.
 */
#ifndef STRATA_KERNEL_CORE_TYPES_H
#define STRATA_KERNEL_CORE_TYPES_H

#include <stdbool.h>

/*
 * A descriptor of an anonymous file with the BTF, for bpf_object_open_opts.btf_custom_path by way of /proc/self/fd; the
 * caller closes it. *can_find: core_types_can_find(). -EFBIG: `ulimit -f` allows no such file. Another negative errno
 * if the kernel's BTF cannot be read or lacks a member: then libbpf reports what is missing.
 */
int core_types_open(bool *can_find);

/* The same from the kernel's types, which were already read. */
struct kernel_btf;
int core_types_write(const struct kernel_btf *k);

/*
 * Does this kernel keep a process's mappings as bpf/find.h reads them: in a maple tree, with a count of its lock's
 * writers? From 6.6 on, with CONFIG_PER_VMA_LOCK.
 */
bool core_types_can_find(const struct kernel_btf *k);

#endif

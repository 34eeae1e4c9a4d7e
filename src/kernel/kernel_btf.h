/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_btf: the types of the running kernel, searched in place. libbpf would parse and copy all of them: 14 ms and 11
 * MB.
 *
 * No state; any thread.
 */
#ifndef STRATA_KERNEL_KERNEL_BTF_H
#define STRATA_KERNEL_KERNEL_BTF_H

#include <linux/btf.h>
#include <stddef.h>
#include <stdint.h>

struct kernel_btf {
	const uint8_t *bytes;
	size_t size;
	const uint8_t *types, *types_end;
	const char *strings;
	size_t strings_size;
};

/* 0, or a negative errno: the kernel has none, or it cannot be read. */
int kernel_btf_open(struct kernel_btf *ret);
void kernel_btf_close(struct kernel_btf *k);

/* The number of a function's type; 0: there is none. */
uint32_t kernel_btf_function(const struct kernel_btf *k, const char *name);

/* A struct, also one that only a typedef names; NULL: there is none of this name. It points into the types. */
const struct btf_type *kernel_btf_record(const struct kernel_btf *k, const char *name);

/*
 * The bit at which a struct's member begins, also in unnamed structs and unions within it; negative if there is no
 * member of this name, or it is a bit field. `record` may be NULL.
 */
int64_t kernel_btf_member(const struct kernel_btf *k, const struct btf_type *record, const char *name);

/* The bytes of a struct's member that is an integer; 0 if there is none of this name, or it is something else. */
uint32_t kernel_btf_integer(const struct kernel_btf *k, const struct btf_type *record, const char *name);

#endif

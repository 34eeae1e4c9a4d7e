/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * kernel_types: the kernel's types, from its BTF. The BTF is read when a script first asks for a name. It is searched,
 * not loaded: a type table of libbpf costs some 14 ms and 11 MB.
 */
#ifndef STRATA_LANG_KERNEL_KERNEL_TYPES_H
#define STRATA_LANG_KERNEL_KERNEL_TYPES_H

#include "lang/core/types.h"

/*
 * From now on names that a script does not declare are looked up in the kernel. kernel_types_detach() frees the memory.
 */
void kernel_types_attach(struct types *types);
void kernel_types_detach(struct types *types);

/*
 * The arguments of a raw tracepoint, as a record of 8-byte words; NULL when there is none of this name or no BTF.
 * `is_known` tells the two apart and may be NULL.
 */
const struct type *kernel_types_tracepoint(struct types *types, const char *name, bool *is_known);

/*
 * Makes the types of a module known beside the kernel's, if it has BTF; else false. Modules have numbers of their own
 * for their types and functions, so what goes into programs by its number must be the kernel's.
 */
bool kernel_types_module(struct types *types, const char *name);
/* The same, from a file. */
bool kernel_types_add_module(struct types *types, const char *name, const char *path);

/*
 * The arguments of a function of the kernel ("vmlinux") or of a module that was made known, as a record of 8-byte
 * words; NULL when BTF has none of this name.
 * *result is what it returns (TYPE_NONE: nothing), in the word behind its arguments.
 */
const struct type *kernel_types_function(struct types *types, const char *module, const char *name,
					 struct type_field *result);

/* The number of a function of the kernel itself, for programs that call it; 0: there is none of this name. */
uint32_t kernel_types_function_number(struct types *types, const char *name);

/*
 * The number of a per-CPU variable of the kernel itself; 0: there is none of this name. *ret is its type.
 */
uint32_t kernel_types_per_cpu(struct types *types, const char *name, const struct type **ret);

/* Calls back with the names of all raw tracepoints. */
void kernel_types_each_tracepoint(struct types *types, void (*each)(void *context, const char *name), void *context);

/* Calls back with the names of all structs that begin with `prefix`, without it. */
void kernel_types_each_record(struct types *types, const char *prefix, void (*each)(void *context, const char *name),
			      void *context);

#endif

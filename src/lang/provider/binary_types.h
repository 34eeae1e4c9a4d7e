/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * binary_types: the types from a binary's own DWARF, like those of the kernel from BTF. It is a types_source, which is
 * asked before the kernel in the probes of this binary. A file is opened when a script first asks for a name, for
 * `args`, or for a source line, and only once. Converted types stay in the arena; binary_types_close() frees libdw's
 * tables.
 */
#ifndef STRATA_LANG_PROVIDER_BINARY_TYPES_H
#define STRATA_LANG_PROVIDER_BINARY_TYPES_H

#include "dwarf/debug_info.h"
#include "lang/core/compiler.h"

struct binary;

/*
 * The DWARF of the file at `path`. NULL: it has none; then *why is the reason, in the arena. *vaddr, on entry an offset
 * in the file, becomes its address. `why` and `vaddr` may be NULL.
 */
struct binary *binary_debug_info(struct compiler *c, const char *path, uint64_t *vaddr, const char **why);
/* The same for debug information that is already open, under any name. Takes ownership of it. NULL: memory is short. */
struct binary *binary_of(struct compiler *c, const char *path, struct debug_info *info);
struct debug_info *binary_info(struct binary *binary);

/* A source of types for a probe at this place of the file, an offset: types of its compile unit come first. */
const struct types_source *binary_types(struct compiler *c, const char *path, uint64_t offset);

/* The type that an entry describes; TYPE_NONE for what the language has no values of. Never NULL. */
const struct type *binary_type(struct compiler *c, struct binary *binary, Dwarf_Die *die);

/* The same as its source would name it: "const char*". */
const char *binary_type_text(struct compiler *c, Dwarf_Die *die);

/* Closes what was opened. From then on types are not completed any more. */
void binary_types_close(struct compiler *c);

#endif

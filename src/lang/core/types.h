/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * types: the named types of a script. A name is looked up in the language's own types (uint64), the script's C
 * declarations, the probe's binary, and the kernel's BTF, in this order. All live in the arena. Not thread-safe.
 */
#ifndef STRATA_LANG_CORE_TYPES_H
#define STRATA_LANG_CORE_TYPES_H

#include "base/vec.h"
#include "lang/core/type.h"

struct types;

/* Where names are looked up that the script does not declare. */
struct types_source {
	void *context;
	/* "struct task_struct", "union x", "enum y", or a typedef's name; NULL when there is none. */
	const struct type *(*find)(void *context, struct types *types, const char *name);
	/* The fields of a type that `find` gave and that is incomplete. */
	bool (*complete)(void *context, struct types *types, struct type *record);
	/* An enum's constant; NULL when there is none. */
	const struct type *(*find_constant)(void *context, struct types *types, const char *name, int64_t *ret);
};

struct named_type {
	const char *name; /* with "struct " and the like */
	struct type *type;
	bool is_found; /* the source's, and not the script's */
};

struct named_constant {
	const char *name;
	int64_t value;
	const struct type *type; /* the enum, or an integer */
};

struct types {
	struct arena *arena;
	struct types_source source;
	const struct types_source *local; /* of the probe that is being checked, asked before `source`; NULL: none */
	VEC(struct named_type) named;
	VEC(struct named_constant) constants;
	bool declares; /* parameters of the kernel's functions have their declarations, for those that list them */
};

void types_init(struct types *types, struct arena *arena);
void types_deinit(struct types *types);

/* The type of this name, or NULL. A record may be incomplete. Names are copied. */
const struct type *types_find(struct types *types, const char *name);

/* Is this the name of a type of the language itself, such as uint64, or of C, such as int? */
const struct type *types_builtin(const char *name);

/* A new incomplete record of this name, or the existing one if it is incomplete. */
struct type *types_declare(struct types *types, const char *name, bool is_union);
/* Gives a name to a type, in place of what it named before. */
void types_define(struct types *types, const char *name, const struct type *type);
void types_define_constant(struct types *types, const char *name, int64_t value, const struct type *type);
const struct named_constant *types_constant(struct types *types, const char *name);

/* Finds the record's fields. False if they cannot be found. */
bool types_complete(struct types *types, const struct type *record);

/* A record's field, also one of its anonymous members, with the offset in the record. False when there is none. */
bool types_field(struct types *types, const struct type *record, const char *name, struct type_field *ret);

#endif

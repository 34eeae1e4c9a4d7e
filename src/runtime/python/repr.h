/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repr: the value of a Python object as text, read from the memory of its process.
 *
 *   None, bool, int, float, str, bytes    as repr() writes them
 *   tuple, list, dict, set, frozenset     the same, with `...` for what is after the eighth item or two levels down
 *   the rest, subclasses included         as object.__repr__() does: <module.Class object at 0x...>
 *
 * No code of the process runs. What is not as it must be, or cannot be read, is `?`. A string's characters that are not
 * assigned in Unicode are written as they are, since which ones these are depends on the interpreter's version; those
 * that are not printable are escaped as Python does.
 *
 * The bytes are hostile: every size is bounded, and so is the depth. The process runs on meanwhile, so an object may
 * change or vanish at any time; what is read then is some value, or `?`.
 */
#ifndef STRATA_PYTHON_REPR_H
#define STRATA_PYTHON_REPR_H

#include <stdbool.h>

#include "proc/memory.h"
#include "runtime/python/objects.h"
#include "runtime/runtime.h"

#define PY_TEXT_MAX 200 /* bytes of a text; a longer one is cut at a character, and ends in CUT */
#define PY_TEXT_CUT "…"

struct py_text {
	char bytes[PY_TEXT_MAX + sizeof(PY_TEXT_CUT)]; /* UTF-8, terminated */
	size_t length;
	bool cut;
};

enum py_kind {
	PY_OTHER,
	PY_NONE,
	PY_BOOL,
	PY_INT,
	PY_FLOAT,
	PY_STR,
	PY_BYTES,
	PY_TUPLE,
	PY_LIST,
	PY_DICT,
	PY_SET,
	PY_FROZENSET,
	PY_CELL,
	PY_CODE
};

struct py_type {
	uint64_t at; /* 0: none */
	enum py_kind kind;
	struct py_text name; /* with its module, if that is not `builtins` */
};

#define PY_TYPES 32

/* Reads one process. Types are kept as long as it lives: at most for the time of one stack. */
struct py_reader {
	const struct memory *memory;
	const struct py_layout *layout;
	const struct py_objects *objects;
	struct runtime_effort *effort;
	uint64_t digest; /* of all bytes that were read, but for those of types */
	struct py_type types[PY_TYPES];
};

/* False: not readable, or the effort is spent. */
bool py_read(struct py_reader *reader, void *ret, size_t size, uint64_t address);
bool py_read_u64(struct py_reader *reader, uint64_t address, uint64_t *ret);

/* What an object is; NULL: no object. Valid until the next call. */
const struct py_type *py_type_of(struct py_reader *reader, uint64_t object);

/* The name of a type, with its module, if that is not `builtins`. */
bool py_type_name(struct py_reader *reader, uint64_t type, struct py_text *ret);

/* A str object's characters; false, if it is none. */
bool py_read_str(struct py_reader *reader, uint64_t object, struct py_text *ret);

void py_text_add(struct py_text *text, const char *bytes);

/* `text` is written anew. */
void py_repr(struct py_reader *reader, uint64_t object, struct py_text *text);

/* The value of a str key in a dict; 0: not found, among the first of its entries. */
uint64_t py_dict_find(struct py_reader *reader, uint64_t dict, const char *key);

/* The items of an exact dict, in its own order; of the first `bound` entries. */
struct py_dict_items {
	uint64_t entries, values, size;
	uint32_t at, count;
	bool has_hash;
};
bool py_dict_begin(struct py_reader *reader, uint64_t dict, struct py_dict_items *items);
/* The same of keys with values apart, as instances have them; `size` stays 0. */
bool py_keys_begin(struct py_reader *reader, uint64_t keys, uint64_t values, struct py_dict_items *items);
bool py_dict_next(struct py_reader *reader, struct py_dict_items *items, uint64_t *key, uint64_t *value);

/* The items of a set, in its own order; of the first `places` of its table. */
struct py_set_items {
	uint64_t used, mask, table, at, places;
	bool damaged; /* it could not be read to its end */
};
bool py_set_begin(struct py_reader *reader, uint64_t set, uint64_t places, struct py_set_items *items);
bool py_set_next(struct py_reader *reader, struct py_set_items *items, uint64_t *key);

#endif

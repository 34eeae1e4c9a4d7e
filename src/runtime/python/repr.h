/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * repr: the value of a Python object as text, read from the memory of its process.
 *
 *   None, bool, int, float, str, bytes    as repr() writes them
 *   tuple, list, dict, set, frozenset     the same, with `...` for items after the eighth, and below the second level
 *   other types, and all subclasses       as object.__repr__() writes them: <module.Class object at 0x...>
 *
 * No code of the process runs. A value that is invalid, or cannot be read, is `?`. Characters that cannot be printed
 * are escaped as Python does. Characters that are not assigned in Unicode are written as they are, because it depends
 * on the interpreter's version which ones these are.
 *
 * The bytes are hostile: every size is bounded, and so is the depth. The process goes on running, so an object may
 * change or vanish at any time. Then the text is some value, or `?`.
 *
 * Not thread-safe: a reader is used by one thread.
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

/* Reads one process. It caches types, so it must not live longer than it takes to read one stack. */
struct py_reader {
	const struct memory *memory;
	const struct py_layout *layout;
	const struct py_objects *objects;
	struct runtime_effort *effort;
	uint64_t digest; /* of all bytes that were read, except those of types */
	struct py_type types[PY_TYPES];
};

/* Reads memory. False: it cannot be read, or the effort (number of reads, time) is used up. */
bool py_read(struct py_reader *reader, void *ret, size_t size, uint64_t address);
bool py_read_u64(struct py_reader *reader, uint64_t address, uint64_t *ret);

/* The type of an object; NULL: it is no object. Valid until the next call. */
const struct py_type *py_type_of(struct py_reader *reader, uint64_t object);

/* The name of a type, with its module, if that is not `builtins`. */
bool py_type_name(struct py_reader *reader, uint64_t type, struct py_text *ret);

/* The characters of a str object; false if it is no str, or cannot be read. */
bool py_read_str(struct py_reader *reader, uint64_t object, struct py_text *ret);

void py_text_add(struct py_text *text, const char *bytes);

/* The object as text. Replaces what is in `text`. */
void py_repr(struct py_reader *reader, uint64_t object, struct py_text *text);

/* The value of a str key in a dict. 0: not found; only the first entries are searched. */
uint64_t py_dict_find(struct py_reader *reader, uint64_t dict, const char *key);

/* Iterates over the items of a dict (no subclass), in its own order. */
struct py_dict_items {
	uint64_t entries, values, size;
	uint32_t at, count;
	bool has_hash;
};
bool py_dict_begin(struct py_reader *reader, uint64_t dict, struct py_dict_items *items);
/* The same for keys whose values are stored elsewhere, as those of instances are; `size` stays 0. */
bool py_keys_begin(struct py_reader *reader, uint64_t keys, uint64_t values, struct py_dict_items *items);
bool py_dict_next(struct py_reader *reader, struct py_dict_items *items, uint64_t *key, uint64_t *value);

/* Iterates over the items of a set, in its own order: those in the first `places` slots of its table. */
struct py_set_items {
	uint64_t used, mask, table, at, places;
	bool damaged; /* it could not be read to its end */
};
bool py_set_begin(struct py_reader *reader, uint64_t set, uint64_t places, struct py_set_items *items);
bool py_set_next(struct py_reader *reader, struct py_set_items *items, uint64_t *key);

#endif

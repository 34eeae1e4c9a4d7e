// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the slots of a frame are, and what is in them.
 *
 *   3.6-3.10   f_localsplus: co_nlocals variables, then a cell for each of co_cellvars, then those of co_freevars. The
 *              slot of a parameter that is in a cell is empty.
 *   3.11+      localsplus: one for each of co_localsplusnames. co_localspluskinds tells which slots will hold a cell;
 *              until the function has made the cell, such a slot holds the parameter itself.
 *   3.14+      slots are tagged. The low two bits say whether the slot counts as a reference, or (3) that it is a small
 *              int.
 */
#include "runtime/python/locals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NAMES_MAX 1024 /* slots that are looked at */

/* Include/internal/pycore_code.h */
#define FAST_CELL 0x40
#define FAST_FREE 0x80
/* Include/cpython/code.h, code.h */
#define CO_OPTIMIZED 1

#define TAG_INT 3 /* Include/internal/pycore_stackref.h, Py_INT_TAG */

/* A tuple of names. */
struct names {
	uint64_t items;
	uint32_t count;
};

static bool read_names(struct py_reader *reader, uint64_t at, struct names *ret)
{
	const struct py_type *type;
	uint64_t tuple, size;

	if (!py_read_u64(reader, at, &tuple))
		return false;
	type = py_type_of(reader, tuple);
	if (!type || type->kind != PY_TUPLE || !py_read_u64(reader, tuple + reader->layout->bytes_size, &size) ||
	    size > NAMES_MAX)
		return false;
	*ret = (struct names){.items = tuple + reader->objects->tuple_items, .count = (uint32_t)size};
	return true;
}

static int add(struct runtime_locals *locals, const char *name, const char *value)
{
	struct runtime_local local = {.name = strdup(name), .value = strdup(value)};

	if (!local.name || !local.value || vec_push(&locals->list, local)) {
		free(local.name);
		free(local.value);
		return -ENOMEM;
	}
	return 0;
}

/* > 0: that was the last one. */
static int add_value(struct py_reader *reader, uint64_t name, uint64_t value, struct runtime_locals *locals)
{
	struct py_text text, repr;

	if (locals->list.count == PY_LOCALS_MAX)
		return add(locals, "...", "") ?: 1;
	if (!py_read_str(reader, name, &text)) {
		text = (struct py_text){};
		py_text_add(&text, RUNTIME_UNREAD);
	}
	py_repr(reader, value, &repr);
	return add(locals, text.bytes, repr.bytes);
}

static int add_slot(struct py_reader *reader, uint64_t name, uint64_t slot, bool has_cell,
		    struct runtime_locals *locals)
{
	uint64_t value = slot & ~(uint64_t)reader->objects->value_tag_mask;
	const struct py_type *type;
	struct py_text text;
	char number[32];

	if (reader->objects->value_tag_mask && (slot & TAG_INT) == TAG_INT) {
		snprintf(number, sizeof(number), "%lld", (long long)slot >> 2);
		return py_read_str(reader, name, &text) ? add(locals, text.bytes, number) : 0;
	}
	if (has_cell && value) {
		type = py_type_of(reader, value);
		if (type && type->kind == PY_CELL && !py_read_u64(reader, value + reader->objects->cell_value, &value))
			return add_value(reader, name, 0, locals);
	}
	return value ? add_value(reader, name, value, locals) : 0;
}

/* Those of one tuple, from a slot on; `kinds` is 0, or where there is a byte for each. */
static int add_slots(struct py_reader *reader, const struct names *names, uint64_t slots, uint64_t kinds, bool cells,
		     struct runtime_locals *locals)
{
	uint64_t name, slot;
	uint8_t kind;
	uint32_t i;
	int err = 0;

	for (i = 0; !err && i < names->count; i++) {
		if (!py_read_u64(reader, names->items + 8ull * i, &name) ||
		    !py_read_u64(reader, slots + 8ull * i, &slot) ||
		    (kinds && !py_read(reader, &kind, sizeof(kind), kinds + i))) {
			locals->known = false;
			return 0;
		}
		err = add_slot(reader, name, slot, kinds ? kind & (FAST_CELL | FAST_FREE) : cells, locals);
	}
	return err;
}

static int add_old(struct py_reader *reader, uint64_t code, uint64_t slots, struct runtime_locals *locals)
{
	const struct py_objects *objects = reader->objects;
	struct names names[3];
	uint32_t count;
	int err;

	locals->known = read_names(reader, code + objects->code_names, &names[0]) &&
			read_names(reader, code + objects->code_cells, &names[1]) &&
			read_names(reader, code + objects->code_free, &names[2]) &&
			py_read(reader, &count, sizeof(count), code + objects->code_nlocals) && count <= NAMES_MAX;
	if (!locals->known)
		return 0;
	if (names[0].count > count)
		names[0].count = count;
	err = add_slots(reader, &names[0], slots, 0, false, locals);
	slots += 8ull * count;
	if (!err)
		err = add_slots(reader, &names[1], slots, 0, true, locals);
	slots += 8ull * names[1].count;
	return err ?: add_slots(reader, &names[2], slots, 0, true, locals);
}

static int add_new(struct py_reader *reader, uint64_t code, uint64_t slots, struct runtime_locals *locals)
{
	const struct py_type *type;
	struct names names;
	uint64_t kinds, size;

	if (!read_names(reader, code + reader->objects->code_names, &names) ||
	    !py_read_u64(reader, code + reader->objects->code_kinds, &kinds))
		return 0;
	type = py_type_of(reader, kinds);
	if (!type || type->kind != PY_BYTES || !py_read_u64(reader, kinds + reader->layout->bytes_size, &size) ||
	    size != names.count)
		return 0;
	locals->known = true;
	return add_slots(reader, &names, slots, kinds + reader->layout->bytes_data, false, locals);
}

/* A class body's, and those of exec() with a mapping of its own. */
static int add_mapping(struct py_reader *reader, uint64_t frame, struct runtime_locals *locals)
{
	uint64_t mapping, globals, key, value;
	const struct py_type *type;
	struct py_dict_items items;
	int err = 0;

	if (!py_read_u64(reader, frame + reader->objects->frame_names, &mapping) ||
	    !py_read_u64(reader, frame + reader->objects->frame_globals, &globals))
		return 0;
	mapping &= ~(uint64_t)reader->objects->value_tag_mask;
	if (!mapping || mapping == (globals & ~(uint64_t)reader->objects->value_tag_mask))
		return 0;
	type = py_type_of(reader, mapping);
	if (!type || type->kind != PY_DICT || !py_dict_begin(reader, mapping, &items))
		return 0;
	while (!err && py_dict_next(reader, &items, &key, &value))
		err = add_value(reader, key, value, locals);
	return err;
}

int python_locals(struct py_reader *reader, uint64_t frame, struct runtime_locals *ret)
{
	const struct py_objects *objects = reader->objects;
	uint64_t code, slots = frame + objects->frame_locals;
	const struct py_type *type;
	uint32_t flags;
	int err;

	if (!py_read_u64(reader, frame + reader->layout->frame_code, &code))
		return 0;
	code &= ~(uint64_t)reader->layout->code_tag_mask;
	type = py_type_of(reader, code);
	if (!type || type->kind != PY_CODE || !py_read(reader, &flags, sizeof(flags), code + objects->code_flags))
		return 0;
	err = objects->code_kinds == PY_NO_OFFSET ? add_old(reader, code, slots, ret)
						  : add_new(reader, code, slots, ret);
	if (!err && !(flags & CO_OPTIMIZED))
		err = add_mapping(reader, frame, ret);
	if (!reader->effort->reads)
		ret->known = false; /* some are missing, or were not read to their end */
	if (!err && !ret->known && ret->list.count)
		err = add(ret, "...", "");
	return err < 0 ? err : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames and code objects differ from version to version, objects hardly do: their fields follow the object's head, of
 * 16 bytes, or 32 in a free-threaded build, in this order:
 *
 *   tuple  ob_size, [ob_hash from 3.14 on,] ob_item[]     list   ob_size, ob_item
 *   int    ob_size, or lv_tag from 3.12 on, ob_digit[]    float  ob_fval
 *   dict   ma_used, ma_version_tag, ma_keys, ma_values    cell   ob_ref
 *   set    fill, used, mask, table                        type   ob_size, tp_name, ..., tp_flags, ..., tp_dict
 *
 * Include/cpython/tupleobject.h and the like, Include/setobject.h, Objects/dict-common.h, internal/pycore_dict.h, at
 * v3.6.15 to v3.15.0. For 3.6 to 3.13 tests/python/layouts.t holds every value against debug information. From 3.13 on
 * the interpreter says most of them itself (interpreter_offsets.c); these then go before what stands here.
 */
#include "runtime/python/objects.h"

#include "runtime/python/interpreter_parts.h"

/* Up to this version. */
struct row {
	uint16_t version;
	uint16_t frame_locals, frame_names, frame_globals;
	uint16_t code_flags, code_nlocals, code_names, code_kinds, code_cells, code_free;
	uint16_t type_qualname;
	uint16_t frame_top, gen_frame, gen_state, gen_qualname;
	uint16_t interp_modules;
};

#define NONE PY_NO_OFFSET
static const struct row rows[] = {
	{0x0306, 376, 56, 48, 32, 24, 64, NONE, 80, 72, 848, NONE, 16, NONE, 56, 16},   /* v3.6.15 */
	{0x0307, 360, 56, 48, 32, 24, 64, NONE, 80, 72, 848, NONE, 16, NONE, 56, 40},   /* v3.7.16 */
	{0x0308, 360, 56, 48, 36, 28, 72, NONE, 88, 80, 864, NONE, 16, NONE, 56, 56},   /* v3.8.18 */
	{0x0309, 360, 56, 48, 36, 28, 72, NONE, 88, 80, 856, NONE, 16, NONE, 56, 856},  /* v3.9.18 */
	{0x030a, 352, 56, 48, 36, 28, 72, NONE, 88, 80, 864, NONE, 16, NONE, 48, 856},  /* v3.10.13 */
	{0x030b, 72, 24, 8, 48, NONE, 96, 104, NONE, NONE, 864, 64, 80, 75, 40, 888},   /* v3.11.7 */
	{0x030c, 72, 40, 24, 48, NONE, 96, 104, NONE, NONE, 872, 64, 72, 67, 32, 944},  /* v3.12.1 */
	{0x030d, 72, 40, 24, 48, NONE, 96, 104, NONE, NONE, 872, 64, 72, 67, 32, 7656}, /* v3.13.0 */
	{0xffff, 80, 40, 24, 48, NONE, 96, 104, NONE, NONE, 872, 64, 72, 67, 32, NONE}, /* v3.14.0, v3.15.0 */
};

/* Include/cpython/object.h, from 3.12 on: what PyHeapTypeObject has before ht_qualname, behind the PyTypeObject. */
#define HEAP_TYPE_QUALNAME 456

struct py_objects python_objects(const struct py_layout *layout, uint16_t type_size)
{
	uint16_t head = layout->bytes_size, more = head - 16; /* of a free-threaded build's head */
	bool is_new = layout->version >= 0x030b;
	const struct row *row = rows;

	while (row->version < layout->version)
		row++;
	return (struct py_objects){
		.frame_locals = row->frame_locals,
		.frame_names = row->frame_names,
		.frame_globals = row->frame_globals,
		.frame_top = row->frame_top,
		.gen_frame = row->gen_frame + more,
		.gen_state = row->gen_state == NONE ? NONE : row->gen_state + more,
		.gen_qualname = row->gen_qualname + more,
		.code_flags = row->code_flags + more,
		.code_nlocals = row->code_nlocals,
		.code_names = row->code_names + more,
		.code_kinds = row->code_kinds == NONE ? NONE : row->code_kinds + more,
		.code_cells = row->code_cells,
		.code_free = row->code_free,
		.tuple_items = head + (layout->version < 0x030e ? 8 : 16),
		.list_items = head + 8,
		.float_value = head,
		.long_digits = head + 8,
		.dict_keys = head + 16,
		.dict_values = head + 24,
		.values_start = layout->version < 0x030d ? 0 : 8,
		.keys_entries = is_new ? 24 : 32,
		.keys_indices = is_new ? 32 : 40,
		.set_used = head + 8,
		.set_mask = head + 16,
		.set_table = head + 24,
		.cell_value = head,
		.type_flags = layout->type_name + 144,
		.type_dict = layout->type_name + 240,
		.type_qualname = type_size ? type_size + HEAP_TYPE_QUALNAME : row->type_qualname,
		.unicode_data = layout->unicode_compact_data,
		.interp_modules = row->interp_modules,
		/* Include/internal/pycore_stackref.h, v3.14.0, v3.15.0. */
		.value_tag_mask = layout->version >= 0x030e ? 3 : 0,
	};
}

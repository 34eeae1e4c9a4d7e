/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * objects: where a CPython keeps the values of variables: the offsets in frames, code objects and built-in types. The
 * walk in the kernel uses struct py_layout; this struct has what only user space reads (locals.h). All offsets are in
 * bytes from the start of the named structure. PY_NO_OFFSET: it has no such field.
 */
#ifndef STRATA_PYTHON_OBJECTS_H
#define STRATA_PYTHON_OBJECTS_H

#include <stdint.h>

#include "runtime/python/abi.h"

struct py_objects {
	/* PyFrameObject (<= 3.10) or _PyInterpreterFrame */
	uint16_t frame_locals; /* f_localsplus, localsplus: the first slot */
	uint16_t frame_names;  /* f_locals: a class body's variables are in this mapping */
	uint16_t frame_globals;
	uint16_t frame_top; /* _PyInterpreterFrame.stacktop (3.11 to 3.13), stackpointer; PY_NO_OFFSET before */
	/* PyGenObject, PyCoroObject, PyAsyncGenObject */
	uint16_t gen_frame;    /* gi_frame, a pointer (<= 3.10), or gi_iframe, the frame itself */
	uint16_t gen_state;    /* gi_frame_state, an s8 (3.11+); else PY_NO_OFFSET */
	uint16_t gen_qualname; /* gi_qualname */
	/* PyCodeObject */
	uint16_t code_flags;   /* co_flags, an int */
	uint16_t code_nlocals; /* co_nlocals, an int: the number of slots before those of cells and free variables
				  (<= 3.10) */
	uint16_t code_names;   /* co_varnames; co_localsplusnames, of all slots (3.11+) */
	uint16_t code_kinds;   /* co_localspluskinds: a byte for each slot (3.11+) */
	uint16_t code_cells, code_free; /* co_cellvars, co_freevars (<= 3.10) */
	/* Objects. py_layout.bytes_size says where a size is (ob_size, ma_used). */
	uint16_t tuple_items, list_items, float_value;
	uint16_t long_digits;
	uint16_t dict_keys, dict_values;
	uint16_t values_start;               /* of an instance's values, from where ma_values points to */
	uint16_t keys_entries, keys_indices; /* PyDictKeysObject.dk_nentries, dk_indices */
	uint16_t set_used, set_mask, set_table;
	uint16_t cell_value;
	uint16_t type_flags, type_dict, type_qualname; /* tp_flags, tp_dict, PyHeapTypeObject.ht_qualname */
	uint16_t unicode_data;                         /* of a string that is not compact: PyUnicodeObject.data */
	uint16_t interp_modules;                       /* PyInterpreterState.modules, imports.modules (3.12+) */
	uint32_t interp_size, thread_size; /* sizeof(PyInterpreterState), sizeof(PyThreadState) (3.13+); 0: not known */
	uint8_t value_tag_mask;            /* low bits to clear in a slot (3.14+: tagged _PyStackRef), else 0 */
};

/* The offsets of a version, 3.6 or later, by its layout. `type_size` is sizeof(PyTypeObject); 0: that of 3.12. */
struct py_objects python_objects(const struct py_layout *layout, uint16_t type_size);

#endif

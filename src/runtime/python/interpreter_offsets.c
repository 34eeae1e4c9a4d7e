// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * _Py_DebugOffsets: from 3.13 on, _PyRuntime starts with a structure in which the interpreter writes down where its
 * fields are. It is initialised data, so the file has it too. Its own shape changes from version to version:
 *
 *   3.13   Include/internal/pycore_runtime.h at v3.13.0
 *   3.14   Include/internal/pycore_debug_offsets.h at v3.14.0
 *   3.15   the same at v3.15.0
 *
 * It lacks what is not an offset of a field: those facts stand in fill_unsaid().
 *
 * A version that is not known is read in the shape of one that is: the one whose fields it has where that one declares
 * them, else the newest in which its values can be offsets at all. Neither says that it is true: that is for the live
 * process to show (runtime/python/proof.h).
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "runtime/python/interpreter_parts.h"

#define COOKIE      "xdebugpy"
#define COOKIE_SIZE 8

struct offsets_head {
	char cookie[COOKIE_SIZE];
	uint64_t version; /* PY_VERSION_HEX */
	uint64_t free_threaded;
	struct {
		uint64_t size, finalizing, interpreters_head;
	} runtime;
};

struct offsets_thread {
	uint64_t size, prev, next, interp, current_frame, thread_id, native_thread_id, datastack_chunk, status;
};

struct offsets_thread_3_15 {
	uint64_t size, prev, next, interp, current_frame, base_frame, last_profiled_frame, last_profiled_frame_seq,
		thread_id, native_thread_id, datastack_chunk, status, holds_gil, gil_requested, current_exception,
		exc_state;
};

struct offsets_type {
	uint64_t size, tp_name, tp_repr, tp_flags;
};

/* A size and two offsets: tuple, list, dict, long, bytes. */
struct offsets_pair {
	uint64_t size, first, second;
};

struct offsets_unicode {
	uint64_t size, state, length, asciiobject_size;
};

struct offsets_3_13 {
	struct offsets_head head;
	struct {
		uint64_t size, id, next, threads_head, gc, imports_modules, sysdict, builtins, ceval_gil, gil,
			gil_enabled, gil_locked, gil_holder;
	} interp;
	struct offsets_thread thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
			localspluskinds, code_adaptive;
	} code;
	struct {
		uint64_t size, ob_type;
	} object;
	struct offsets_type type;
	struct offsets_pair tuple, list, dict;
	struct {
		uint64_t size, ob_fval;
	} float_object;
	struct offsets_pair long_object, bytes;
	struct offsets_unicode unicode;
};

struct offsets_3_14 {
	struct offsets_head head;
	struct {
		uint64_t size, id, next, threads_head, threads_main, gc, imports_modules, sysdict, builtins, ceval_gil,
			gil, gil_enabled, gil_locked, gil_holder, code_object_generation, tlbc_generation;
	} interp;
	struct offsets_thread thread;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner, stackpointer, tlbc_index;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
			localspluskinds, code_adaptive, tlbc;
	} code;
	struct {
		uint64_t size, ob_type;
	} object;
	struct offsets_type type;
	struct offsets_pair tuple, list;
	struct {
		uint64_t size, used, table, mask;
	} set;
	struct offsets_pair dict;
	struct {
		uint64_t size, ob_fval;
	} float_object;
	struct offsets_pair long_object, bytes;
	struct offsets_unicode unicode;
};

struct offsets_3_15 {
	struct offsets_head head;
	struct {
		uint64_t size, id, next, threads_head, threads_main, gc, imports_modules, sysdict, builtins, ceval_gil,
			gil, gil_enabled, gil_locked, gil_holder, code_object_generation, tlbc_generation;
	} interp;
	struct offsets_thread_3_15 thread;
	struct {
		uint64_t exc_value;
	} err_stackitem;
	struct {
		uint64_t size, previous, executable, instr_ptr, localsplus, owner, stackpointer, tlbc_index;
	} frame;
	struct {
		uint64_t size, filename, name, qualname, linetable, firstlineno, argcount, localsplusnames,
			localspluskinds, code_adaptive, tlbc;
	} code;
	struct {
		uint64_t size, ob_type;
	} object;
	struct {
		uint64_t size, tp_name, tp_repr, tp_flags, tp_basicsize, tp_dictoffset;
	} type;
	struct {
		uint64_t size, ht_cached_keys;
	} heap_type;
	struct offsets_pair tuple, list;
	struct {
		uint64_t size, used, table, mask;
	} set;
	struct offsets_pair dict;
	struct {
		uint64_t size, ob_fval;
	} float_object;
	struct offsets_pair long_object, bytes;
	struct {
		uint64_t size, state, length, asciiobject_size, compactunicodeobject_size;
	} unicode;
};

/* The values that are used, whatever the version; sizes serve as bounds. */
struct offsets {
	uint64_t interp_head, interp_size, interp_next, interp_threads;
	uint64_t thread_size, thread_next, thread_interp, thread_id, thread_frame, thread_base_frame;
	uint64_t frame_size, frame_previous, frame_executable, frame_instr_ptr, frame_owner, frame_tlbc_index;
	uint64_t code_size, code_filename, code_name, code_qualname, code_linetable, code_firstlineno, code_adaptive,
		code_tlbc;
	uint64_t object_size, object_type, type_size, type_name;
	uint64_t bytes_size, bytes_ob_size, bytes_data;
	uint64_t unicode_size, unicode_state, unicode_length, unicode_ascii_size, unicode_compact_size;
	/* Of objects: no bounds, as what is read by them is not believed anyway. */
	uint64_t frame_locals, frame_top, code_names, code_kinds, tuple_items, list_items, float_value, long_digits,
		dict_keys, dict_values, interp_modules;
};

#define COMMON_OFFSETS(from)                                                                                           \
	.interp_head = (from).head.runtime.interpreters_head, .interp_size = (from).interp.size,                       \
	.interp_next = (from).interp.next, .interp_threads = (from).interp.threads_head,                               \
	.thread_size = (from).thread.size, .thread_next = (from).thread.next, .thread_interp = (from).thread.interp,   \
	.thread_id = (from).thread.thread_id, .thread_frame = (from).thread.current_frame,                             \
	.frame_size = (from).frame.size, .frame_previous = (from).frame.previous,                                      \
	.frame_executable = (from).frame.executable, .frame_instr_ptr = (from).frame.instr_ptr,                        \
	.frame_owner = (from).frame.owner, .code_size = (from).code.size, .code_filename = (from).code.filename,       \
	.code_name = (from).code.name, .code_qualname = (from).code.qualname, .code_linetable = (from).code.linetable, \
	.code_firstlineno = (from).code.firstlineno, .code_adaptive = (from).code.code_adaptive,                       \
	.object_size = (from).object.size, .object_type = (from).object.ob_type, .type_size = (from).type.size,        \
	.type_name = (from).type.tp_name, .bytes_size = (from).bytes.size, .bytes_ob_size = (from).bytes.first,        \
	.bytes_data = (from).bytes.second, .unicode_size = (from).unicode.size, .unicode_state = (from).unicode.state, \
	.unicode_length = (from).unicode.length, .unicode_ascii_size = (from).unicode.asciiobject_size,                \
	.unicode_compact_size = (from).unicode.asciiobject_size + 16 /* utf8_length, utf8 */,                          \
	.frame_locals = (from).frame.localsplus, .code_names = (from).code.localsplusnames,                            \
	.code_kinds = (from).code.localspluskinds, .tuple_items = (from).tuple.first, .list_items = (from).list.first, \
	.float_value = (from).float_object.ob_fval, .long_digits = (from).long_object.second,                          \
	.dict_keys = (from).dict.first, .dict_values = (from).dict.second,                                             \
	.interp_modules = (from).interp.imports_modules

bool python_offsets_present(const struct elf_file *elf, uint64_t runtime)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, runtime, sizeof(struct offsets_head));

	return bytes && !memcmp(bytes, COOKIE, COOKIE_SIZE);
}

static bool load(const struct elf_file *elf, uint64_t runtime, void *ret, size_t size)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, runtime, size);

	if (bytes)
		memcpy(ret, bytes, size);
	return bytes;
}

static bool load_3_13(const struct elf_file *elf, uint64_t runtime, struct offsets *ret)
{
	struct offsets_3_13 from;

	if (!load(elf, runtime, &from, sizeof(from)))
		return false;
	*ret = (struct offsets){COMMON_OFFSETS(from)};
	return true;
}

static bool load_3_14(const struct elf_file *elf, uint64_t runtime, struct offsets *ret)
{
	struct offsets_3_14 from;

	if (!load(elf, runtime, &from, sizeof(from)))
		return false;
	*ret = (struct offsets){COMMON_OFFSETS(from), .frame_tlbc_index = from.frame.tlbc_index,
				.code_tlbc = from.code.tlbc, .frame_top = from.frame.stackpointer};
	return true;
}

static bool load_3_15(const struct elf_file *elf, uint64_t runtime, struct offsets *ret)
{
	struct offsets_3_15 from;

	if (!load(elf, runtime, &from, sizeof(from)))
		return false;
	*ret = (struct offsets){COMMON_OFFSETS(from), .thread_base_frame = from.thread.base_frame,
				.frame_tlbc_index = from.frame.tlbc_index, .code_tlbc = from.code.tlbc,
				.frame_top = from.frame.stackpointer};
	ret->unicode_compact_size = from.unicode.compactunicodeobject_size;
	return true;
}

/* A field of `size` bytes at `offset` lies in a structure of `whole` bytes and can be said in a py_layout. */
static bool inside(uint64_t offset, uint64_t size, uint64_t whole)
{
	return whole <= UINT32_MAX && offset < PY_NO_OFFSET && offset + size <= whole;
}

static bool plausible(const struct offsets *o)
{
	uint64_t first = o->thread_id < o->thread_frame ? o->thread_id : o->thread_frame;
	uint64_t last = o->thread_id < o->thread_frame ? o->thread_frame : o->thread_id;

	return last - first <= PY_TSTATE_SPAN - 8 &&
	       (!o->thread_base_frame || (o->thread_base_frame > first && o->thread_base_frame < last)) &&
	       o->interp_head <= UINT32_MAX && inside(o->interp_next, 8, o->interp_size) &&
	       inside(o->interp_threads, 8, o->interp_size) && inside(o->thread_next, 8, o->thread_size) &&
	       inside(o->thread_interp, 8, o->thread_size) && inside(o->thread_id, 8, o->thread_size) &&
	       inside(o->thread_frame, 8, o->thread_size) && inside(o->frame_previous, 8, o->frame_size) &&
	       inside(o->frame_executable, 8, o->frame_size) && inside(o->frame_instr_ptr, 8, o->frame_size) &&
	       inside(o->frame_owner, 1, o->frame_size) && inside(o->frame_tlbc_index, 4, o->frame_size) &&
	       inside(o->code_filename, 8, o->code_size) && inside(o->code_name, 8, o->code_size) &&
	       inside(o->code_qualname, 8, o->code_size) && inside(o->code_linetable, 8, o->code_size) &&
	       inside(o->code_firstlineno, 4, o->code_size) && inside(o->code_adaptive, 1, o->code_size) &&
	       inside(o->code_tlbc, 8, o->code_size) && inside(o->object_type, 8, o->object_size) &&
	       inside(o->type_name, 8, o->type_size) && inside(o->bytes_ob_size, 8, o->bytes_size) &&
	       inside(o->bytes_data, 1, o->bytes_size) && inside(o->unicode_state, 4, o->unicode_size) &&
	       inside(o->unicode_length, 8, o->unicode_size) && inside(o->unicode_ascii_size, 16, o->unicode_size) &&
	       inside(o->unicode_compact_size, 8, o->unicode_size);
}

/*
 * Whether what frames are read by is where the headers of that version declare it. It does not depend on how the
 * interpreter was built, but for the size of an object's head: release, debug, gcc, clang and musl builds of 3.13.0
 * to 3.15.2 agree (tests/lab). So a damaged structure is refused, however plausible: with an offset that is not the
 * right one, strata would show frames that never were. Only where interpreters and their threads are listed may differ;
 * a thread state that was found through these is checked on each use. Include/internal/pycore_frame.h (v3.13.0),
 * pycore_interpframe_structs.h (v3.14.0, v3.15.0), Include/cpython/code.h, pystate.h, unicodeobject.h, bytesobject.h,
 * object.h
 */
static bool as_declared(const struct offsets *o, uint16_t version, bool free_threaded)
{
	uint64_t head = free_threaded ? 32 : 16, adaptive = head + (version < 0x030e ? 184 : free_threaded ? 200 : 192);
	uint64_t owner = version < 0x030e ? 70 : free_threaded ? 78 : 74;
	uint64_t thread_id = version < 0x030f ? 152 : 176;
	bool own_bytecode = version >= 0x030e && free_threaded;

	return o->object_size == head && o->object_type == head - 8 && o->type_name == head + 8 &&
	       o->thread_next == 8 && o->thread_interp == 16 && o->thread_frame == 72 && o->thread_id == thread_id &&
	       o->thread_base_frame == (version < 0x030f ? 0 : 80) && o->frame_executable == 0 &&
	       o->frame_previous == 8 && o->frame_instr_ptr == 56 && o->frame_owner == owner &&
	       o->code_filename == head + 96 && o->code_name == head + 104 && o->code_qualname == head + 112 &&
	       o->code_linetable == head + 120 && o->code_firstlineno == head + 52 && o->code_adaptive == adaptive &&
	       o->bytes_ob_size == head && o->bytes_data == head + 16 && o->unicode_length == head &&
	       o->unicode_state == head + 16 && o->unicode_ascii_size == head + 24 &&
	       o->unicode_compact_size == head + 40 && o->frame_tlbc_index == (own_bytecode ? 72 : 0) &&
	       o->code_tlbc == (own_bytecode ? head + 192 : 0);
}

/*
 * The words of a code object that do not change. Between PyVarObject's ob_size and co_linetable every field is of that
 * kind (Include/cpython/code.h at v3.13.0 to v3.15.0).
 */
static uint32_t stable_words(const struct offsets *o)
{
	uint64_t first = o->object_size / 8, last = o->code_linetable / 8;
	uint32_t words = 0;

	for (; first <= last && first < 32; first++)
		words |= 1u << first;
	return words;
}

/* What the structure leaves out, by version. */
static void fill_unsaid(const struct offsets *o, uint16_t version, bool free_threaded, struct py_layout *layout)
{
	/*
	 * Include/cpython/code.h: after PyVarObject come three pointers, twelve ints of which co_flags is the first,
	 * co_firstlineno the sixth and co_version the twelfth, and six pointers of which co_linetable is the last.
	 */
	uint64_t fields = o->object_size + 8;

	layout->version = version;
	layout->lasti = PY_LASTI_POINTER;
	layout->entry = PY_ENTRY_SHIM;
	/* Include/internal/pycore_frame.h, v3.13.0: FRAME_OWNED_BY_CSTACK; pycore_interpframe_structs.h, v3.14.0:
	 * FRAME_OWNED_BY_INTERPRETER, and BY_CSTACK = 4 after it. */
	layout->shim_owner = 3;
	/* Include/internal/pycore_stackref.h, v3.14.0: Py_TAG_BITS is 3 with a GIL and 1 without, v3.15.0: 3;
	 * f_executable is a plain pointer in v3.13.0. Objects are aligned to 8 bytes at least. */
	layout->code_tag_mask = version >= 0x030e ? 3 : 0;
	/* Include/cpython/unicodeobject.h, v3.14.0: without a GIL `interned` is a byte of its own. */
	layout->unicode_kind_shift = version >= 0x030e && free_threaded ? 8 : 2;
	layout->unicode_compact_shift = layout->unicode_kind_shift + 3;
	layout->cframe_current = PY_NO_OFFSET;
	layout->tstate_stack_top = layout->tstate_tracing = layout->frame_stack = PY_NO_OFFSET;
	layout->tstate_cframe = PY_NO_OFFSET;
	layout->code_version = (uint16_t)(fields + 68);
	layout->code_stable = stable_words(o);
}

/* In a version that is not known a code object's identity is made of what is said of it, and is in use. */
static void doubt_unsaid(const struct offsets *o, struct py_layout *layout)
{
	const uint64_t said[] = {o->bytes_ob_size, o->code_firstlineno, o->code_filename,
				 o->code_name,     o->code_qualname,    o->code_linetable};
	size_t i;

	layout->code_version = PY_NO_OFFSET;
	layout->code_stable = 0;
	for (i = 0; i < sizeof(said) / sizeof(*said); i++)
		layout->code_stable |= said[i] < 32 * 8 ? 1u << said[i] / 8 : 0;
}

static void fill_layout(const struct offsets *o, uint16_t version, bool free_threaded, struct py_layout *ret)
{
	*ret = (struct py_layout){
		.interp_next = (uint16_t)o->interp_next,
		.interp_threads = (uint16_t)o->interp_threads,
		.tstate_next = (uint16_t)o->thread_next,
		.tstate_interp = (uint16_t)o->thread_interp,
		.tstate_thread_id = (uint16_t)o->thread_id,
		.tstate_frame = (uint16_t)o->thread_frame,
		.tstate_base_frame = o->thread_base_frame ? (uint16_t)o->thread_base_frame : PY_NO_OFFSET,
		.frame_code = (uint16_t)o->frame_executable,
		.frame_back = (uint16_t)o->frame_previous,
		.frame_lasti = (uint16_t)o->frame_instr_ptr,
		.frame_entry = (uint16_t)o->frame_owner,
		.frame_tlbc_index = o->frame_tlbc_index ? (uint16_t)o->frame_tlbc_index : PY_NO_OFFSET,
		.code_size = (uint16_t)o->code_adaptive,
		.code_filename = (uint16_t)o->code_filename,
		.code_name = (uint16_t)o->code_name,
		.code_qualname = (uint16_t)o->code_qualname,
		.code_linetable = (uint16_t)o->code_linetable,
		.code_firstlineno = (uint16_t)o->code_firstlineno,
		.code_bytecode = (uint16_t)o->code_adaptive,
		.code_tlbc = o->code_tlbc ? (uint16_t)o->code_tlbc : PY_NO_OFFSET,
		.unicode_length = (uint16_t)o->unicode_length,
		.unicode_state = (uint16_t)o->unicode_state,
		.unicode_ascii_data = (uint16_t)o->unicode_ascii_size,
		.unicode_compact_data = (uint16_t)o->unicode_compact_size,
		.bytes_size = (uint16_t)o->bytes_ob_size,
		.bytes_data = (uint16_t)o->bytes_data,
		.type_name = (uint16_t)o->type_name,
		.ob_type = (uint16_t)o->object_type,
	};
	fill_unsaid(o, version, free_threaded, ret);
}

/* What the structure does not say is as in the version whose shape it has. */
static struct py_objects fill_objects(const struct offsets *o, const struct py_layout *layout)
{
	struct py_objects objects = python_objects(layout, (uint16_t)o->type_size);

	objects.interp_modules = (uint16_t)o->interp_modules;
	objects.interp_size = (uint32_t)o->interp_size;
	objects.thread_size = (uint32_t)o->thread_size;
	objects.frame_locals = (uint16_t)o->frame_locals;
	if (o->frame_top)
		objects.frame_top = (uint16_t)o->frame_top;
	objects.code_names = (uint16_t)o->code_names;
	objects.code_kinds = (uint16_t)o->code_kinds;
	objects.tuple_items = (uint16_t)o->tuple_items;
	objects.list_items = (uint16_t)o->list_items;
	objects.float_value = (uint16_t)o->float_value;
	objects.long_digits = (uint16_t)o->long_digits;
	objects.dict_keys = (uint16_t)o->dict_keys;
	objects.dict_values = (uint16_t)o->dict_values;
	return objects;
}

/* Newest first. */
static const struct shape {
	uint16_t version;
	bool (*load)(const struct elf_file *elf, uint64_t runtime, struct offsets *ret);
} shapes[] = {{0x030f, load_3_15}, {0x030e, load_3_14}, {0x030d, load_3_13}};

static const struct shape *shape_of(uint16_t version)
{
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		if (shapes[i].version == version)
			return &shapes[i];
	return NULL;
}

/*
 * What the process cannot well show, and holds in every version that is known. A thread state begins with the previous
 * one, the next one and its interpreter. A code object has its names one behind the other, and ends with the first of
 * its bytecode; in front of that is the pointer to the threads' own, whose index is a u16 before a frame's owner. A
 * string's characters follow the word of flags; if they are not ASCII, behind a size and a pointer more; those of a
 * bytes object its size and its hash.
 */
static bool related(const struct offsets *o, bool free_threaded)
{
	return o->thread_next == 8 && o->thread_interp == 16 && o->code_name == o->code_filename + 8 &&
	       o->code_qualname == o->code_name + 8 && o->code_adaptive % 8 == 0 &&
	       o->code_size == o->code_adaptive + 8 && o->object_type + 8 == o->object_size &&
	       o->bytes_data == o->bytes_ob_size + 16 && o->unicode_ascii_size == o->unicode_state + 8 &&
	       o->unicode_compact_size == o->unicode_ascii_size + 16 && !o->code_tlbc == !free_threaded &&
	       !o->frame_tlbc_index == !free_threaded &&
	       (!free_threaded || (o->code_tlbc + 8 == o->code_adaptive && o->frame_tlbc_index + 6 == o->frame_owner));
}

/* The shape that the structure of a version that is not known is read in; NULL when its values fit none. */
static const struct shape *guess_shape(const struct elf_file *elf, uint64_t runtime, bool free_threaded)
{
	const struct shape *newest = NULL;
	struct offsets offsets;
	size_t i;

	for (i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		if (!shapes[i].load(elf, runtime, &offsets) || !plausible(&offsets))
			continue;
		if (as_declared(&offsets, shapes[i].version, free_threaded))
			return &shapes[i];
		if (!newest && related(&offsets, free_threaded))
			newest = &shapes[i];
	}
	return newest;
}

static int refuse(const struct elf_file *elf, uint16_t version, int err, const char *words, struct diag *diag)
{
	return diag_fail(diag, err, "python.offsets", "%s: _Py_DebugOffsets %s Python %d.%d", elf_file_path(elf), words,
			 version >> 8, version & 0xff);
}

int python_offsets_read(const struct elf_file *elf, uint64_t runtime, struct python_interpreter *ret, struct diag *diag)
{
	struct python_version version;
	const struct shape *shape;
	struct offsets_head head;
	struct offsets offsets;
	bool known;

	if (!load(elf, runtime, &head, sizeof(head)))
		return diag_fail(diag, EBADMSG, "python.offsets", "%s: _Py_DebugOffsets is not in the file",
				 elf_file_path(elf));
	version = python_version_of_hex(head.version, "_Py_DebugOffsets");
	shape = shape_of(version.version);
	known = shape;
	if (!known && version.version > PYTHON_NEWEST && head.free_threaded <= 1)
		shape = guess_shape(elf, runtime, head.free_threaded);
	if (!shape)
		return python_not_known(elf, version.version, diag);
	if (!shape->load(elf, runtime, &offsets) || !plausible(&offsets))
		return refuse(elf, version.version, EBADMSG, "has impossible values for", diag);
	if (known && (head.free_threaded > 1 || !as_declared(&offsets, version.version, head.free_threaded)))
		return refuse(elf, version.version, EBADMSG, "is not that of", diag);
	ret->version = version.version;
	ret->micro = version.micro;
	ret->version_exact = version.exact;
	ret->version_source = version.source;
	ret->free_threaded = head.free_threaded;
	ret->to_prove = !known;
	ret->layout_source = "_Py_DebugOffsets";
	ret->interp_head = runtime + offsets.interp_head;
	fill_layout(&offsets, shape->version, ret->free_threaded, &ret->layout);
	if (!known)
		doubt_unsaid(&offsets, &ret->layout);
	ret->layout.version = ret->version;
	ret->objects = fill_objects(&offsets, &ret->layout);
	return 0;
}

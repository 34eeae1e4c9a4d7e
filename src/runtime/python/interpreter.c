// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What makes a file a CPython: it defines _PyRuntime (3.7 and later; the state of the whole interpreter, in a
 * section .PyRuntime of its own when symbols are gone) or PyInterpreterState_Head() (before). A program that merely
 * links to a libpython has neither: its symbols of these names are undefined.
 */
#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/python/interpreter_parts.h"

#define HEAD_CODE_MAX 24 /* bytes of PyInterpreterState_Head() that are looked at */

struct layout_row {
	uint16_t runtime_interp_head, runtime_tstate_current;
	const char *source;
	struct py_layout layout;
};

// clang-format off
#define LAYOUT(major, minor, head, current, ...)                                                                       \
	{.runtime_interp_head = (head), .runtime_tstate_current = (current), .source = "table " #major "." #minor,     \
	 .layout = {.version = (major) << 8 | (minor), __VA_ARGS__}},
// clang-format on
static const struct layout_row layouts[] = {
#include "runtime/python/layouts.def"
};
#undef LAYOUT

static const struct layout_row *find_layout(uint16_t version)
{
	size_t i;

	for (i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].layout.version == version)
			return &layouts[i];
	return NULL;
}

bool python_find_runtime(const struct elf_file *elf, uint64_t *ret)
{
	struct elf_section section;
	uint64_t size;

	if (elf_file_section_header(elf, ".PyRuntime", &section)) {
		*ret = section.vaddr;
		return true;
	}
	return python_find_exported(elf, "_PyRuntime", ret, &size);
}

/*
 * 3.6 has no _PyRuntime; PyInterpreterState_Head() returns the static variable:
 *     [endbr64] [push rbp; mov rbp,rsp] mov rax,[rip+variable] ...
 */
static uint64_t decode_head(const struct elf_file *elf)
{
	static const uint8_t endbr[] = {0xf3, 0x0f, 0x1e, 0xfa}, frame[] = {0x55, 0x48, 0x89, 0xe5},
			     load[] = {0x48, 0x8b, 0x05};
	uint64_t vaddr, size;
	const uint8_t *bytes;
	int32_t displacement;
	struct cursor c;

	if (!python_find_exported(elf, "PyInterpreterState_Head", &vaddr, &size))
		return 0;
	if (!size || size > HEAD_CODE_MAX)
		size = HEAD_CODE_MAX;
	bytes = elf_file_bytes_at(elf, vaddr, size);
	if (!bytes)
		return 0;
	c = cursor_init(bytes, size);
	if (cursor_left(&c) >= sizeof(endbr) && !memcmp(bytes + c.at, endbr, sizeof(endbr)))
		cursor_take(&c, sizeof(endbr));
	if (cursor_left(&c) >= sizeof(frame) && !memcmp(bytes + c.at, frame, sizeof(frame)))
		cursor_take(&c, sizeof(frame));
	bytes = cursor_take(&c, sizeof(load));
	if (!bytes || memcmp(bytes, load, sizeof(load)))
		return 0;
	displacement = cursor_s32(&c);
	return cursor_ok(&c) ? vaddr + cursor_position(&c) + (uint64_t)(int64_t)displacement : 0;
}

static void find_head_3_6(const struct elf_file *elf, struct python_interpreter *ret)
{
	uint64_t vaddr, size;

	ret->interp_head = decode_head(elf);
	if (!ret->interp_head && elf_file_find_symbol(elf, "interp_head", &vaddr, &size))
		ret->interp_head = vaddr;
	if (elf_file_find_symbol(elf, "_PyThreadState_Current", &vaddr, &size))
		ret->current_tstate = vaddr;
}

int python_not_known(const struct elf_file *elf, uint16_t version, struct diag *diag)
{
	return diag_fail(diag, ENOTSUP, "python.version",
			 "%s: Python %d.%d is not known to this version of strata (3.6 to %d.%d are)",
			 elf_file_path(elf), version >> 8, version & 0xff, PYTHON_NEWEST >> 8, PYTHON_NEWEST & 0xff);
}

/* An interpreter that does not describe itself: its layout comes from the table. */
static int recognise_by_table(const struct elf_file *elf, bool has_runtime, uint64_t runtime,
			      struct python_interpreter *ret, struct diag *diag)
{
	const struct layout_row *row;
	struct python_version version;

	if (!python_version_find(elf, has_runtime, &version))
		return diag_fail(diag, ENOTSUP, "python.version", "%s: contains a Python whose version cannot be told",
				 elf_file_path(elf));
	row = find_layout(version.version);
	if (!row || (row->runtime_interp_head == PY_NO_OFFSET) == has_runtime)
		return python_not_known(elf, version.version, diag);
	if (python_exports(elf, "_Py_PrintReferences"))
		return diag_fail(diag, ENOTSUP, "python.trace_refs",
				 "%s: Python %d.%d built with Py_TRACE_REFS is not supported", elf_file_path(elf),
				 version.version >> 8, version.version & 0xff);
	ret->version = version.version;
	ret->micro = version.micro;
	ret->version_exact = version.exact;
	ret->version_source = version.source;
	ret->layout = row->layout;
	ret->objects = python_objects(&row->layout, 0);
	ret->layout_source = row->source;
	if (!has_runtime)
		find_head_3_6(elf, ret);
	else
		ret->interp_head = runtime + row->runtime_interp_head;
	if (row->runtime_tstate_current != PY_NO_OFFSET && elf_file_machine(elf) == PYTHON_TABLES_OF)
		ret->current_tstate = runtime + row->runtime_tstate_current;
	return 0;
}

int python_interpreter_recognise(const struct elf_file *elf, struct python_interpreter *ret, struct diag *diag)
{
	struct python_interpreter interpreter = {};
	uint64_t runtime = 0;
	bool has_runtime;
	int err;

	has_runtime = python_find_runtime(elf, &runtime);
	if (!has_runtime && !python_exports(elf, "PyInterpreterState_Head"))
		return 0;
	if (has_runtime && python_offsets_present(elf, runtime))
		err = python_offsets_read(elf, runtime, &interpreter, diag);
	else
		err = recognise_by_table(elf, has_runtime, runtime, &interpreter, diag);
	if (err)
		return err;
	interpreter.debug_build = python_exports(elf, "_Py_NegativeRefcount");
	*ret = interpreter;
	return 1;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which CPython is it, without running it? From 3.11 on the constant Py_Version says so (Python/getversion.c).
 * Before, PY_VERSION is only a string literal, which Py_GetVersion() passes to a formatting function: so the
 * literal is looked for among what the code of Py_GetVersion() refers to. Functions that appeared in the C API with a
 * certain version bound the answer from below. When nothing is exported (an interpreter embedded in a stripped
 * program), .rodata is searched for a version text that something else confirms.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cursor.h"
#include "runtime/python/interpreter_parts.h"

#define TEXT_MAX         16  /* bytes of a version text that are looked at, "3.10.0rc1+" and its terminator */
#define GET_VERSION_MAX  192 /* bytes of Py_GetVersion() that are looked at: it has 49 to 91 */
#define GET_VERSION_SIZE 64  /* when its symbol has no size */

struct python_version python_version_of_hex(uint64_t hex, const char *source)
{
	return (struct python_version){
		.version = (uint16_t)(hex >> 16), .micro = (uint8_t)(hex >> 8), .exact = true, .source = source};
}

/* A decimal number of at most three digits; fails the cursor when there is none. */
static unsigned int number(struct cursor *c)
{
	unsigned int value = 0, digits = 0;

	while (cursor_left(c) && isdigit(c->base[c->at])) {
		value = value * 10 + (cursor_u8(c) - '0');
		if (++digits > 3)
			cursor_fail(c);
	}
	if (!digits)
		cursor_fail(c);
	return value;
}

bool python_version_parse(const uint8_t *text, size_t size, struct python_version *ret)
{
	struct cursor c = cursor_init(text, size < TEXT_MAX ? size : TEXT_MAX);
	unsigned int major, minor, micro;
	uint8_t byte;

	major = number(&c);
	if (cursor_u8(&c) != '.')
		return false;
	minor = number(&c);
	if (cursor_u8(&c) != '.')
		return false;
	micro = number(&c);
	while ((byte = cursor_u8(&c)))
		if (!isalnum(byte) && byte != '+')
			return false;
	if (!cursor_ok(&c) || major > 9 || minor > 99 || micro > 99)
		return false;
	*ret = (struct python_version){
		.version = (uint16_t)(major << 8 | minor), .micro = (uint8_t)micro, .exact = true};
	return true;
}

static bool parse_at(const struct elf_file *elf, uint64_t vaddr, struct python_version *ret)
{
	const uint8_t *bytes = elf_file_bytes_at(elf, vaddr, TEXT_MAX);

	return bytes && python_version_parse(bytes, TEXT_MAX, ret);
}

/*
 * Tries every four bytes of Py_GetVersion() as what x86-64 code has for an address: a displacement from the end of
 * the instruction (which here ends with it) or an absolute address. No other literal of the function parses as a
 * version.
 */
static bool find_in_get_version(const struct elf_file *elf, struct python_version *ret)
{
	uint64_t vaddr, size, i;
	const uint8_t *code;
	int32_t operand;

	if (!python_find_exported(elf, "Py_GetVersion", &vaddr, &size))
		return false;
	if (!size)
		size = GET_VERSION_SIZE;
	if (size > GET_VERSION_MAX)
		size = GET_VERSION_MAX;
	code = elf_file_bytes_at(elf, vaddr, size);
	for (i = 0; code && i + sizeof(operand) <= size; i++) {
		memcpy(&operand, code + i, sizeof(operand));
		if (!operand)
			continue;
		if (parse_at(elf, vaddr + i + sizeof(operand) + (uint64_t)(int64_t)operand, ret) ||
		    parse_at(elf, (uint32_t)operand, ret)) {
			ret->source = "Py_GetVersion";
			return true;
		}
	}
	return false;
}

bool python_find_exported(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size)
{
	struct elf_section section;

	if (elf_file_find_dynamic_symbol(elf, name, vaddr, size))
		return true;
	if (elf_file_find_dynamic_symbol(elf, "PyInterpreterState_Head", vaddr, size))
		return false;
	if (elf_file_section_header(elf, ".dynamic", &section) && !elf_file_section_header(elf, ".PyRuntime", &section))
		return false;
	return elf_file_find_symbol(elf, name, vaddr, size);
}

bool python_exports(const struct elf_file *elf, const char *name)
{
	uint64_t vaddr, size;

	return python_find_exported(elf, name, &vaddr, &size);
}

/* The least minor version that has what is exported. */
static int least_minor(const struct elf_file *elf, bool has_runtime)
{
	static const struct {
		const char *function;
		int minor;
	} added[] = {{"Py_NewRef", 10}, {"PyFrame_GetCode", 9}, {"PyCode_NewWithPosOnlyArgs", 8}};
	size_t i;

	if (!has_runtime)
		return 6;
	for (i = 0; i < sizeof(added) / sizeof(*added); i++)
		if (python_exports(elf, added[i].function))
			return added[i].minor;
	return 7;
}

static bool contains(const struct elf_section *section, const char *text)
{
	return memmem(section->bytes, section->size, text, strlen(text));
}

/*
 * Whether something else than the text speaks for the version: up to 3.10 the path of the library ("lib/python3.8",
 * Modules/getpath.c), from 3.11 on the constant Py_Version.
 */
static bool confirmed(const struct elf_section *rodata, const struct python_version *version)
{
	struct cursor c = cursor_init(rodata->bytes, rodata->size);
	char name[sizeof("python3.255")];

	snprintf(name, sizeof(name), "python3.%d", version->version & 0xff);
	if (contains(rodata, name))
		return true;
	while (cursor_left(&c) >= sizeof(uint64_t))
		if (cursor_u64(&c) >> 8 == (uint64_t)(version->version << 8 | version->micro))
			return true;
	return false;
}

static bool find_in_rodata(const struct elf_file *elf, struct python_version *ret)
{
	struct elf_section rodata;
	struct python_version found;
	size_t i;

	if (!elf_file_section(elf, ".rodata", &rodata) || !rodata.bytes)
		return false;
	for (i = 0; i + 2 < rodata.size; i++) {
		const uint8_t *at = memchr(rodata.bytes + i, '3', rodata.size - i - 2);

		if (!at)
			return false;
		i = (size_t)(at - rodata.bytes);
		if (at[1] != '.' || (i && at[-1]) || !python_version_parse(at, rodata.size - i, &found))
			continue;
		if (found.version < 0x0306 || found.version > 0x030c || !confirmed(&rodata, &found))
			continue;
		*ret = found;
		ret->source = "version text in .rodata";
		return true;
	}
	return false;
}

bool python_version_find(const struct elf_file *elf, bool has_runtime, struct python_version *ret)
{
	const uint8_t *bytes;
	uint64_t vaddr, size, hex;
	int least;

	if (python_find_exported(elf, "Py_Version", &vaddr, &size)) {
		bytes = elf_file_bytes_at(elf, vaddr, sizeof(hex));
		if (bytes) {
			memcpy(&hex, bytes, sizeof(hex));
			*ret = python_version_of_hex(hex, "Py_Version");
			return true;
		}
	}
	least = least_minor(elf, has_runtime);
	if (find_in_get_version(elf, ret) && (ret->version < 0x0300 || ret->version >= 0x0300 + least))
		return true;
	if (find_in_rodata(elf, ret) && ret->version >= 0x0300 + least)
		return true;
	/* 3.11 and later have Py_Version: an interpreter that exports functions but not that is what they say. */
	if (python_exports(elf, "_PyEval_EvalFrameDefault")) {
		*ret = (struct python_version){.version = (uint16_t)(0x0300 + least), .source = "exported functions"};
		return true;
	}
	return false;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where code objects are freed: tp_dealloc of PyCode_Type, which Py_DECREF() calls by this pointer (Objects/object.c,
 * _Py_Dealloc()). A compiler that has seen a profile of the program may compare the pointer with what it was most
 * often, and have the function's code follow (indirect call promotion of gcc and clang). Then code uses the address,
 * and the frees are not all to be seen at the function.
 */
#include <elf.h>
#include <string.h>

#include "arch/arch.h"
#include "runtime/python/interpreter_parts.h"
#include "runtime/python/probe_parts.h"

#define NAME "code"

/* PyTypeObject, behind its head: ob_size, tp_name, tp_basicsize, tp_itemsize, tp_dealloc (Include/cpython/object.h). */
enum { NAME_BEHIND = 8, DEALLOC_BEHIND = 32 };

static bool is_used(const struct elf_file *elf, const struct reference_arch *arch, uint64_t address)
{
	bool is_fixed = elf_file_type(elf) == ET_EXEC, is_code = false;
	const struct elf_segment *segments;
	size_t count, i;

	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++) {
		struct reference_code code = {.size = segments[i].filesz, .vaddr = segments[i].vaddr};

		if (!(segments[i].flags & PF_X))
			continue;
		code.bytes = elf_file_bytes_at(elf, code.vaddr, code.size);
		if (!code.bytes || arch->uses_address(&code, address, is_fixed))
			return true;
		is_code |= address >= code.vaddr && address - code.vaddr < code.size;
	}
	return !is_code;
}

void python_sites_find_frees(struct sites_search *search)
{
	const struct elf_file *elf = search->elf;
	const struct arch *arch = arch_of(elf_file_machine(elf));
	uint64_t type, size, name, address;
	const uint8_t *text;

	if (!arch->references->uses_address || !python_find_exported(elf, "PyCode_Type", &type, &size))
		return;
	type += search->layout->unicode_length;
	name = elf_file_loaded_word(elf, type + NAME_BEHIND, arch->relative);
	address = elf_file_loaded_word(elf, type + DEALLOC_BEHIND, arch->relative);
	text = elf_file_bytes_at(elf, name, sizeof(NAME));
	if (!text || memcmp(text, NAME, sizeof(NAME)) != 0 || is_used(elf, arch->references, address))
		return;
	search->sites->frees = (struct python_site){.vaddr = address,
						    .handler = address,
						    .kind = PYTHON_SITE_FREES,
						    .frame = {PYTHON_IN_REGISTER, arch->spot->arguments[0], 0},
						    .recursion_offset = PY_NO_OFFSET};
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_image: an ELF file with a _Py_DebugOffsets in it, and 3.15.2's on x86-64: what follows cookie, version and
 * free_threaded, in the order of Include/internal/pycore_debug_offsets.h. offsets_3_15: the bytes in Debian's
 * python3.15 3.15.2-1; offsets_3_15t: what the headers of its libpython3.15-dev give with Py_GIL_DISABLED.
 */
#ifndef STRATA_TESTS_PYTHON_IMAGE_H
#define STRATA_TESTS_PYTHON_IMAGE_H

#include <elf.h>
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "runtime/python/interpreter.h"

// clang-format off
static const uint64_t offsets_3_15[] = {
	/* runtime */ 346568, 912, 936,
	/* interp */ 226240, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0, 7752, 7744, 7944, 0,
	/* thread */ 888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288,
	/* err_stackitem */ 0,
	/* frame */ 88, 8, 0, 56, 80, 74, 64, 0,
	/* code */ 216, 112, 120, 128, 136, 68, 52, 96, 104, 208, 0,
	/* object */ 16, 8,
	/* type */ 424, 24, 88, 168, 32, 288,
	/* heap type */ 944, 888,
	/* tuple */ 40, 32, 16,
	/* list */ 40, 24, 16,
	/* set */ 200, 24, 40, 32,
	/* dict */ 48, 32, 40,
	/* float */ 24, 16,
	/* long */ 32, 16, 24,
	/* bytes */ 40, 16, 32,
	/* unicode */ 64, 32, 16, 40, 56,
	/* gc */ 176, 112, 120, 1120, 104,
	/* generator */ 160, 24, 72, 67,
	/* llist */ 0, 8,
	/* debugger */ 24, 344, 8028, 0, 4, 512,
};

static const uint64_t offsets_3_15t[] = {
	/* runtime */ 409296, 912, 936,
	/* interp */ 250328, 7272, 7264, 7336, 7352, 7400, 7592, 7576, 7584, 16, 7736, 0, 7760, 7752, 7952, 17252,
	/* thread */ 888, 0, 8, 16, 72, 80, 88, 96, 176, 184, 256, 32, 36, 40, 136, 288,
	/* err_stackitem */ 0,
	/* frame */ 88, 8, 0, 56, 80, 78, 64, 72,
	/* code */ 240, 128, 136, 144, 152, 84, 68, 112, 120, 232, 224,
	/* object */ 32, 24,
	/* type */ 440, 40, 104, 184, 48, 304,
	/* heap type */ 968, 904,
	/* tuple */ 56, 48, 32,
	/* list */ 56, 40, 32,
	/* set */ 216, 40, 56, 48,
	/* dict */ 64, 48, 56,
	/* float */ 40, 32,
	/* long */ 48, 32, 40,
	/* bytes */ 56, 32, 48,
	/* unicode */ 80, 48, 32, 56, 72,
	/* gc */ 176, 112, 120, 224, 104,
	/* generator */ 176, 40, 88, 83,
	/* llist */ 0, 8,
	/* debugger */ 24, 344, 8036, 0, 4, 512,
};
// clang-format on

/* An ELF file with one loaded segment at vaddr 0 and a section .PyRuntime in it, which holds `words`. */
#define WORDS_MAX 120
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segment;
	Elf64_Shdr sections[3];
	char names[32];
	uint64_t words[WORDS_MAX];
};

static inline void image_init(struct image *image, uint64_t version, bool free_threaded)
{
	static const char names[] = "\0.PyRuntime\0.shstrtab";

	*image = (struct image){
		.header = {.e_type = ET_DYN,
			   .e_machine = EM_X86_64,
			   .e_version = EV_CURRENT,
			   .e_phoff = offsetof(struct image, segment),
			   .e_shoff = offsetof(struct image, sections),
			   .e_ehsize = sizeof(Elf64_Ehdr),
			   .e_phentsize = sizeof(Elf64_Phdr),
			   .e_phnum = 1,
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 2},
		.segment = {.p_type = PT_LOAD, .p_flags = PF_R, .p_filesz = sizeof(*image), .p_memsz = sizeof(*image)},
	};
	memcpy(image->header.e_ident, ELFMAG, SELFMAG);
	image->header.e_ident[EI_CLASS] = ELFCLASS64;
	image->header.e_ident[EI_DATA] = ELFDATA2LSB;
	image->header.e_ident[EI_VERSION] = EV_CURRENT;
	image->sections[1] = (Elf64_Shdr){.sh_name = 1,
					  .sh_type = SHT_PROGBITS,
					  .sh_flags = SHF_ALLOC,
					  .sh_addr = offsetof(struct image, words),
					  .sh_offset = offsetof(struct image, words),
					  .sh_size = sizeof(image->words)};
	image->sections[2] = (Elf64_Shdr){.sh_name = 12,
					  .sh_type = SHT_STRTAB,
					  .sh_offset = offsetof(struct image, names),
					  .sh_size = sizeof(image->names)};
	memcpy(image->names, names, sizeof(names));
	memcpy(image->words, "xdebugpy", 8);
	image->words[1] = version;
	image->words[2] = free_threaded;
}

static inline int image_recognise(const struct image *image, struct python_interpreter *ret)
{
	struct diag diag = {};
	struct elf_file *elf;
	int found;

	if (elf_file_open_memory(image, sizeof(*image), "image", &elf, &diag)) {
		printf("# %s\n", diag.text);
		return -EIO;
	}
	found = python_interpreter_recognise(elf, ret, &diag);
	elf_file_close(elf);
	return found;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * elf_file: one ELF file, opened for reading. Every byte of it is hostile: sizes and offsets are checked
 * against the file's size before use, and a damaged file gives an error or fewer facts, never a crash.
 *
 * The file is never mapped: truncated while it is open, a mapping would raise SIGBUS. What is asked for is read into
 * memory, once, and kept until elf_file_close(); so pointers given out stay valid and their bytes stable, and of a
 * large file only the parts that somebody looked at are read. A const elf_file may therefore still read, and grow.
 * Addresses are ELF virtual addresses ("vaddr"). One elf_file is used by one thread at a time.
 */
#ifndef STRATA_ELF_ELF_FILE_H
#define STRATA_ELF_ELF_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diag.h"
#include "base/foreign.h"

struct elf_file;

/* A PT_LOAD segment. */
struct elf_segment {
	uint64_t vaddr, offset, filesz, memsz;
	uint32_t flags; /* PF_R, PF_W, PF_X */
};

/*
 * A section. `bytes` lives as long as the elf_file; NULL for SHT_NOBITS and from elf_file_section_header(). A part of
 * the image that was found without section headers has the type SHT_NULL.
 */
struct elf_section {
	const char *name;
	const uint8_t *bytes;
	uint64_t vaddr, offset, size;
	uint64_t flags; /* SHF_* */
	uint32_t type;  /* SHT_* */
};

#define ELF_BUILD_ID_MAX  64
#define ELF_BUILD_ID_TEXT (2 * ELF_BUILD_ID_MAX + 1)

/*
 * Opens the ELF file behind `fd`, which stays the caller's. `path` is for messages only. ELF64 in this
 * machine's byte order, x86-64 or AArch64, ET_EXEC, ET_DYN or ET_REL-free; anything else is -ENOEXEC.
 */
int elf_file_open(int fd, const char *path, struct elf_file **ret, struct diag *diag);

/*
 * The same for a file on a file system that may not answer; shared with the caller. Bytes that could not be read count
 * as missing.
 */
int elf_file_open_foreign(struct foreign_file *file, const char *path, struct elf_file **ret, struct diag *diag);

/*
 * The same for one that lies in another file, an archive, at `offset`; `size` bytes, or as many as there are. Offsets,
 * here and below, count from its own beginning.
 */
int elf_file_open_part(struct foreign_file *file, uint64_t offset, uint64_t size, const char *path,
		       struct elf_file **ret, struct diag *diag);

/* The same for an image in memory, e.g. the vDSO; the bytes are borrowed and must outlive the elf_file. */
int elf_file_open_memory(const void *bytes, size_t size, const char *name, struct elf_file **ret, struct diag *diag);
void elf_file_close(struct elf_file *elf);

/* -ENOMEM if memory was short when something was read of the file, so that it seems to have less than it has; else 0.
 */
int elf_file_starved(const struct elf_file *elf);

/* Where it begins in the file that was opened: 0, except in an archive. */
uint64_t elf_file_base(const struct elf_file *elf);

const char *elf_file_path(const struct elf_file *elf);
uint16_t elf_file_machine(const struct elf_file *elf); /* EM_*, one that arch_of() knows */
uint16_t elf_file_type(const struct elf_file *elf);    /* ET_EXEC, ET_DYN */
uint64_t elf_file_entry(const struct elf_file *elf);   /* e_entry */

/* Whether the file can be started as a program: ET_EXEC, an interpreter is named, or marked as PIE. */
bool elf_file_is_program(const struct elf_file *elf);

/* The GNU build id; returns its length in bytes and points *ret at it, or 0 when there is none. */
size_t elf_file_build_id(const struct elf_file *elf, const uint8_t **ret);
/* A build id in hexadecimal digits; "" if it is none, or longer than any. */
void elf_build_id_text(const uint8_t *id, size_t size, char ret[ELF_BUILD_ID_TEXT]);

/*
 * A digest of everything from which facts are derived: headers, segments, symbols, MiniDebugInfo; not debug
 * information. Two files with the same digest are treated as the same file. Reads all of that, some 5 GB/s. False when
 * it is more than `most` bytes, or cannot be read.
 */
bool elf_file_digest(const struct elf_file *elf, uint64_t most, uint64_t ret[2]);

/* The PT_LOAD segments in file order. */
const struct elf_segment *elf_file_segments(const struct elf_file *elf, size_t *count);

/*
 * Translates an offset in the file to a vaddr by the executable segments first. Segments reach to page boundaries, as
 * the kernel maps them; so the offset of a mapping's start has a vaddr too. False when nothing maps it.
 */
bool elf_file_vaddr_of_offset(const struct elf_file *elf, uint64_t offset, uint64_t *ret);

/* Bytes of the loaded image at a vaddr, as stored in the file (relocations not applied); NULL unless `size` bytes are
 * there. */
const uint8_t *elf_file_bytes_at(const struct elf_file *elf, uint64_t vaddr, size_t size);

/*
 * The word at an address when the file is loaded at its own vaddrs: from the file, or from a relocation of type
 * `relative` (R_*_RELATIVE) in .rela.dyn; 0 when there is neither.
 */
uint64_t elf_file_loaded_word(const struct elf_file *elf, uint64_t vaddr, uint32_t relative);

/*
 * The same as a copy: only these bytes are read, and nothing is kept. For looking at a few bytes in many places. False,
 * and nothing in *ret, unless `size` bytes are there.
 */
bool elf_file_copy_at(const struct elf_file *elf, uint64_t vaddr, size_t size, void *ret);

/* Finds a section by name; false when there is none or it lies outside the file. */
bool elf_file_section(const struct elf_file *elf, const char *name, struct elf_section *ret);

/* The same without reading the section's bytes, if only its place and size matter. */
bool elf_file_section_header(const struct elf_file *elf, const char *name, struct elf_section *ret);

/*
 * .eh_frame and .eh_frame_hdr, by section name or, when section headers are stripped, by PT_GNU_EH_FRAME.
 * `eh_frame.size` may then reach to the end of its segment. False when the file has no .eh_frame.
 */
bool elf_file_eh_frame(const struct elf_file *elf, struct elf_section *eh_frame, struct elf_section *hdr);

/*
 * The first error of reading the file, or -ENOMEM; 0: there was none. After an error the file seems to have less than
 * it has, so conclusions from missing parts may be wrong.
 */
int elf_file_unread(const struct elf_file *elf);

/*
 * The path of the first library that the file needs whose name begins with `prefix`, found as the dynamic linker would:
 * by the file's own search path, in which $ORIGIN is `origin`, then in the usual folders. False when there is none.
 */
bool elf_file_needed(const struct elf_file *elf, const char *prefix, const char *origin, char *ret, size_t size);

/* The PT_TLS segment: the image of a thread's block. False when the file has no thread-local storage. */
bool elf_file_tls(const struct elf_file *elf, uint64_t *vaddr, uint64_t *memsz, uint64_t *align);

/*
 * Looks for a defined symbol by its exact name: .dynsym (by its hash table: microseconds), then .symtab, then
 * MiniDebugInfo. Version suffixes are ignored. `size` may be 0. For a thread-local symbol the vaddr is its offset in
 * the TLS image. False when there is none.
 */
bool elf_file_find_symbol(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size);

/* The same among the dynamic symbols only: microseconds in a file of any size, by its hash table. */
bool elf_file_find_dynamic_symbol(const struct elf_file *elf, const char *name, uint64_t *vaddr, uint64_t *size);

/*
 * The ELF file inside .gnu_debugdata (MiniDebugInfo: an xz-compressed .symtab of the functions that .dynsym lacks),
 * decompressed when first asked for. Belongs to `elf`. NULL when there is none or it is damaged.
 */
const struct elf_file *elf_file_minidebug(const struct elf_file *elf);

#endif

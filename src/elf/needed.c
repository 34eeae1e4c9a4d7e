// SPDX-License-Identifier: GPL-2.0-or-later
/* DT_NEEDED, DT_RPATH and DT_RUNPATH: System V ABI, chapter 5, "Dynamic Section"; $ORIGIN: ld.so(8). */
#include <elf.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"
#include "base/cursor.h"
#include "elf/elf_file.h"
#include "elf/internal.h"

/* What is looked for among the entries. */
struct needed {
	const char *names; /* the string table, which ends with a null byte */
	uint64_t size;
	const char *prefix, *library, *folders;
};

static void take_entry(struct needed *needed, int64_t tag, uint64_t value)
{
	const char *text = value < needed->size ? needed->names + value : "", *slash = strrchr(text, '/');
	const char *name = slash ? slash + 1 : text;

	if (tag == DT_NEEDED && !needed->library && !strncmp(name, needed->prefix, strlen(needed->prefix)))
		needed->library = text;
	else if (tag == DT_RUNPATH || (tag == DT_RPATH && !needed->folders))
		needed->folders = text;
}

static bool is_there(const struct elf_file *elf, const char *path)
{
	const struct foreign_request request = {.paths = {path}, .place = foreign_folder(path)};
	struct foreign_file *file;

	if (foreign_open(foreign_files_of(elf->file), &request, &file))
		return false;
	foreign_close(file);
	return true;
}

/* Tries the folders of a search path, separated by colons; those relative to `origin`, the program's folder, as well.
 */
static bool find_in(const struct elf_file *elf, const char *folders, const char *origin, const char *library, char *ret,
		    size_t size)
{
	static const char *const variables[] = {"$ORIGIN", "${ORIGIN}"};
	const char *end, *base;
	size_t i;
	int length;

	for (; *folders; folders = *end ? end + 1 : end) {
		end = strchrnul(folders, ':');
		for (base = "", i = 0; i < 2 && !*base; i++) {
			if (strncmp(folders, variables[i], strlen(variables[i])))
				continue;
			base = origin;
			folders += strlen(variables[i]);
		}
		length = snprintf(ret, size, "%s%.*s/%s", base, (int)(end - folders), folders, library);
		if (length > 0 && (size_t)length < size && is_there(elf, ret))
			return true;
	}
	return false;
}

bool elf_file_needed(const struct elf_file *elf, const char *prefix, const char *origin, char *ret, size_t size)
{
	const struct elf_dynamic *dynamic = elf_file_dynamic(elf);
	const Elf64_Phdr *p = elf_segment_of_type(elf, PT_DYNAMIC);
	const struct arch *arch = arch_of(elf_file_machine(elf));
	struct needed needed = {.prefix = prefix};
	char folders[160], own[PATH_MAX];
	const char *slash;
	const uint8_t *bytes;
	struct cursor c;

	if (!elf->file || !dynamic->needs || !p || !dynamic->strsz)
		return false;
	needed.names = (const char *)elf_file_bytes_at(elf, dynamic->strtab, dynamic->strsz);
	needed.size = dynamic->strsz;
	bytes = elf_file_bytes(elf, p->p_offset, p->p_filesz);
	if (!needed.names || needed.names[needed.size - 1] || !bytes)
		return false;
	c = cursor_init(bytes, p->p_filesz);
	while (cursor_left(&c) >= sizeof(Elf64_Dyn)) {
		int64_t tag = cursor_s64(&c);

		take_entry(&needed, tag, cursor_u64(&c));
		if (tag == DT_NULL)
			break;
	}
	if (!needed.library || !arch)
		return false;
	slash = strrchr(needed.library, '/');
	if (slash) {
		snprintf(own, sizeof(own), "%.*s", (int)(slash - needed.library), needed.library);
		return find_in(elf, own, origin, slash + 1, ret, size);
	}
	snprintf(folders, sizeof(folders), "/lib/%s:/usr/lib/%s:/usr/local/lib:/lib64:/usr/lib64:/lib:/usr/lib",
		 arch->triplet, arch->triplet);
	return find_in(elf, needed.folders ? needed.folders : "", origin, needed.library, ret, size) ||
	       find_in(elf, folders, origin, needed.library, ret, size);
}

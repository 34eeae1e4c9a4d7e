// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a ZIP archive: what it says to hold lies inside, and may be opened as an ELF file. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/zip.h"
#include "fuzz.h"

struct held {
	struct foreign_file *file;
	size_t size;
};

static void each(void *context, const struct zip_entry *entry)
{
	struct held *held = context;
	struct elf_file *elf;
	uint64_t vaddr, size;

	CHECK(entry->size && entry->offset < held->size && entry->size <= held->size - entry->offset);
	CHECK(strlen(entry->name) < 65536);
	if (elf_file_open_part(held->file, entry->offset, entry->size, entry->name, &elf, NULL))
		return;
	CHECK(elf_file_base(elf) == entry->offset);
	elf_file_find_symbol(elf, "main", &vaddr, &size);
	elf_file_close(elf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("archive", MFD_CLOEXEC);
	struct held held = {.size = size};

	if (fd < 0)
		return 0;
	if (write(fd, data, size) != (ssize_t)size) {
		close(fd);
		return 0;
	}
	held.file = foreign_wrap(fd);
	if (held.file)
		zip_each(held.file, each, &held);
	foreign_close(held.file);
	return 0;
}

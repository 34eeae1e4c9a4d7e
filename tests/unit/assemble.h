/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Test programs in assembly: made into a shared library for any machine, by clang and lld, and opened. */
#ifndef STRATA_TESTS_ASSEMBLE_H
#define STRATA_TESTS_ASSEMBLE_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_file.h"

/* Assembles tests/unit/asm/NAME.s, with options of clang's; NULL when the tools are missing or the text is wrong. */
static inline struct elf_file *assemble_with(const char *name, const char *machine, const char *options)
{
	char path[] = "/tmp/strata-asm-XXXXXX", command[512];
	struct elf_file *elf = NULL;
	int fd = mkstemp(path);

	if (fd < 0)
		return NULL;
	snprintf(command, sizeof(command),
		 "cd %s/unit/asm && clang -target %s-linux-gnu -nostdlib -shared -fuse-ld=lld "
		 "-Wl,--apply-dynamic-relocs %s -o %s %s.s",
		 TEST_DIR, machine, options, path, name);
	if (!system(command)) {
		close(fd);
		fd = open(path, O_RDONLY | O_CLOEXEC); /* the linker writes a new file */
		if (fd >= 0 && elf_file_open(fd, path, &elf, NULL))
			elf = NULL;
	}
	unlink(path);
	return elf; /* reads from fd, which the process's end closes */
}

static inline struct elf_file *assemble(const char *name, const char *machine)
{
	return assemble_with(name, machine, "");
}

static bool can_assemble(void)
{
	return !system("command -v clang >/dev/null && command -v ld.lld >/dev/null");
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * mutate_offsets FILE: damages each byte of the file's _Py_DebugOffsets in several ways, one at a time, and looks at
 * what strata makes of it. A damaged structure must be refused, with words, or give the very layout that the whole one
 * gives; only where interpreters and their threads are listed may differ, for what is found there is checked on each
 * use. One that says that it is of a version which is not known is not used before a process has borne it out. Prints
 * "ACCEPTED REFUSED WRONG"; 77 when the file has no such structure.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/python/interpreter_parts.h"

#define STRUCTURE_SIZE 888 /* of 3.15's; behind it lie variables */

static uint8_t *read_file(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat status;
	uint8_t *bytes;

	if (fd < 0 || fstat(fd, &status))
		return NULL;
	*size = (size_t)status.st_size;
	bytes = malloc(*size);
	if (bytes && read(fd, bytes, *size) != status.st_size)
		return NULL;
	close(fd);
	return bytes;
}

/* 1: recognised; 0 or less: not. */
static int recognise(const uint8_t *bytes, size_t size, struct python_interpreter *ret, uint64_t *runtime,
		     struct diag *diag)
{
	struct elf_file *elf;
	int found;

	if (elf_file_open_memory(bytes, size, "image", &elf, diag))
		return -1;
	*runtime = 0;
	python_find_runtime(elf, runtime);
	found = python_interpreter_recognise(elf, ret, diag);
	elf_file_close(elf);
	return found;
}

static bool same_but_lists(struct python_interpreter a, const struct python_interpreter *b)
{
	a.layout.interp_next = b->layout.interp_next;
	a.layout.interp_threads = b->layout.interp_threads;
	return !memcmp(&a.layout, &b->layout, sizeof(a.layout)) && a.version == b->version &&
	       a.free_threaded == b->free_threaded;
}

int main(int argc, char **argv)
{
	struct python_interpreter whole, damaged;
	size_t size = 0, at, i, accepted = 0, refused = 0, wrong = 0;
	uint8_t *bytes = argc == 2 ? read_file(argv[1], &size) : NULL, kept;
	uint64_t runtime;
	uint8_t *found;

	if (!bytes || recognise(bytes, size, &whole, &runtime, &(struct diag){}) != 1)
		return 77;
	found = memmem(bytes, size, "xdebugpy", 8);
	while (found && memcmp(found + 8, &(uint8_t[]){0xf0}, 1) && found[11] != 3)
		found = memmem(found + 1, size - (size_t)(found + 1 - bytes), "xdebugpy", 8);
	if (!found || strcmp(whole.layout_source, "_Py_DebugOffsets") != 0)
		return 77;
	for (at = 0; at < STRUCTURE_SIZE; at++)
		for (i = 0; i < 10; i++) {
			struct diag diag = {};
			uint64_t place;

			kept = found[at];
			found[at] = i < 8 ? kept ^ (uint8_t)(1u << i) : i == 8 ? 0 : 0xff;
			if (found[at] != kept && recognise(bytes, size, &damaged, &place, &diag) == 1) {
				accepted++;
				if (!damaged.to_prove && !same_but_lists(damaged, &whole)) {
					wrong++;
					printf("byte %zu, way %zu: accepted\n", at, i);
				}
			} else if (found[at] != kept) {
				refused++;
				wrong += !*diag.text;
			}
			found[at] = kept;
		}
	printf("%zu accepted, %zu refused, %zu wrong\n", accepted, refused, wrong);
	return wrong ? 1 : 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/* Source lines as bytes (src/engine/file_lines.h): of this program itself; whole, in parts, and damaged. */
#include "engine/file_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/foreign.h"
#include "tap.h"

static struct foreign_file *self; /* the program */

static struct elf_file *open_self(void)
{
	struct elf_file *elf = NULL;

	if (elf_file_open_foreign(self, "/proc/self/exe", &elf, NULL))
		abort();
	return elf;
}

/* Vaddrs in this program's text, sorted. */
static size_t some(uint64_t *vaddrs, size_t count)
{
	struct elf_file *elf = open_self();
	struct elf_section text;
	size_t i;

	if (!elf_file_section(elf, ".text", &text))
		abort();
	for (i = 0; i < count; i++)
		vaddrs[i] = text.vaddr + text.size / (count + 1) * (i + 1);
	elf_file_close(elf);
	return count;
}

static void test_whole(const uint64_t *vaddrs, size_t count)
{
	struct file_lines_source source = {.elf = open_self()};
	struct file_lines lines = {};
	struct source_frame frames[SOURCE_FRAMES_MAX];
	uint8_t *bytes = NULL;
	size_t size = 0, i, known = 0;
	int err = file_lines_write(&source, vaddrs, count, 16u << 20, &bytes, &size);

	is_int(err, 0, "written");
	is_int(file_lines_add(&lines, bytes, size, vaddrs, count), (long)count, "taken, for all addresses");
	ok(file_lines_said(&lines)->has_debug && !file_lines_said(&lines)->wants_debug &&
		   !file_lines_said(&lines)->is_cut,
	   "the file has its debug information itself");
	for (i = 0; i < count; i++) {
		size_t found = file_lines_find(&lines, vaddrs[i], frames);

		known += found && frames[found - 1].file && frames[found - 1].line;
	}
	ok(known > count / 2, "%zu of %zu addresses have lines", known, count);
	is_int(file_lines_find(&lines, vaddrs[0] + 1, frames), 0, "one that was not asked for has none");
	file_lines_deinit(&lines);
}

/* The answer is cut when it would be too long. */
static void test_parts(const uint64_t *vaddrs, size_t count)
{
	struct file_lines_source source = {.elf = open_self()};
	struct file_lines lines = {};
	uint8_t *bytes = NULL;
	size_t size = 0, most = sizeof(struct file_lines_head) + 2 * SOURCE_FRAMES_MAX * (8192 + 1) + 700;
	ssize_t got;

	if (file_lines_write(&source, vaddrs, count, most, &bytes, &size))
		abort();
	ok(size <= most, "no longer than it may be");
	got = file_lines_add(&lines, bytes, size, vaddrs, count);
	ok(got > 0 && (size_t)got < count, "for the first %zd addresses", got);
	file_lines_deinit(&lines);
}

/* Whatever the bytes are, nothing outside of them is read (SANITIZE=1 tells). */
static void test_damaged(const uint64_t *vaddrs, size_t count)
{
	struct file_lines_source source = {.elf = open_self()};
	struct source_frame frames[SOURCE_FRAMES_MAX];
	uint8_t *bytes = NULL;
	size_t size = 0, i, k, refused = 0, sum = 0, taken = 0;

	if (file_lines_write(&source, vaddrs, count, 16u << 20, &bytes, &size))
		abort();
	for (i = 0; i < size && i < 20000; i++) {
		struct file_lines lines = {};
		uint8_t *copy = malloc(size);

		if (!copy)
			abort();
		memcpy(copy, bytes, size);
		copy[i] ^= (uint8_t)(1u << (i & 7)) | 0x80;
		if (file_lines_add(&lines, copy, size, vaddrs, count) < 0) {
			refused++;
			continue;
		}
		for (k = 0; k < count; k++) {
			size_t found = file_lines_find(&lines, vaddrs[k], frames);

			while (found--)
				sum += (frames[found].file ? strlen(frames[found].file) : 0) +
				       (frames[found].function ? strlen(frames[found].function) : 0);
		}
		file_lines_deinit(&lines);
	}
	ok(refused && sum, "damaged bytes: %zu times refused", refused);
	for (i = 0; i < size; i += 1 + i / 16) {
		struct file_lines lines = {};
		uint8_t *copy = malloc(i + 1);

		if (!copy)
			abort();
		memcpy(copy, bytes, i);
		taken += file_lines_add(&lines, copy, i, vaddrs, count) != -EBADMSG;
		file_lines_deinit(&lines);
	}
	free(bytes);
	is_int(taken, 0, "cut off, they are refused");
}

int main(void)
{
	uint64_t vaddrs[40];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	size_t count;

	self = fd < 0 ? NULL : foreign_wrap(fd);
	if (!self)
		abort();
	count = some(vaddrs, sizeof(vaddrs) / sizeof(*vaddrs));

	test_whole(vaddrs, count);
	test_parts(vaddrs, count);
	test_damaged(vaddrs, count);
	foreign_close(self);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/symbols.h"
#include "engine/analyser.h"
#include "engine/file_names.h"
#include "tap.h"

static struct elf_file *open_own(void)
{
	struct elf_file *elf = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	return elf_file_open(fd, "own", &elf, NULL) ? NULL : elf;
}

static uint8_t *copy_of(const uint8_t *bytes, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	memcpy(copy, bytes, size);
	return copy;
}

/* What file_names_add() makes of bytes with one word changed. */
static ssize_t add_changed(const uint8_t *bytes, size_t size, size_t at, uint32_t word, const uint64_t *vaddrs,
			   size_t count)
{
	struct file_names names = {};
	uint8_t *changed = copy_of(bytes, size);
	ssize_t got;

	memcpy(changed + at, &word, sizeof(word));
	got = file_names_add(&names, changed, size, vaddrs, count);
	file_names_deinit(&names);
	return got;
}

static void test_lies(const uint8_t *bytes, size_t size, const uint64_t *vaddrs, size_t count)
{
	const size_t entry = sizeof(struct file_names_head);
	const struct {
		const char *words;
		size_t at;
		uint32_t word;
	} lies[] = {{"more addresses than asked", offsetof(struct file_names_head, count), (uint32_t)count + 1},
		    {"fewer than there are", offsetof(struct file_names_head, count), (uint32_t)count - 1},
		    {"none", offsetof(struct file_names_head, count), 0},
		    {"an amount that wraps", offsetof(struct file_names_head, count), UINT32_MAX},
		    {"more text", offsetof(struct file_names_head, text_size), UINT32_MAX},
		    {"no text", offsetof(struct file_names_head, text_size), 0},
		    {"a long build id",
		     offsetof(struct file_names_head, debug) + offsetof(struct elf_debug_names, build_id_size),
		     ELF_BUILD_ID_MAX + 1},
		    {"another address", entry + offsetof(struct file_names_entry, vaddr), 3},
		    {"a symbol beyond the text", entry + offsetof(struct file_names_entry, symbol), UINT32_MAX - 1},
		    {"a name beyond the text", entry + offsetof(struct file_names_entry, shown), 1u << 30},
		    {"a text without end", size - sizeof(uint32_t), 0x61616161}};
	struct file_names names = {};
	size_t i;

	for (i = 0; i < sizeof(lies) / sizeof(*lies); i++)
		is_int(add_changed(bytes, size, lies[i].at, lies[i].word, vaddrs, count), -EBADMSG, "%s",
		       lies[i].words);
	for (i = 0; i < size && i < 4096; i++)
		if (file_names_add(&names, copy_of(bytes, i), i, vaddrs, count) != -EBADMSG)
			break;
	ok(i == (size < 4096 ? size : 4096), "any part of it is refused");
	is_int(add_changed(bytes, size, entry + offsetof(struct file_names_entry, start), 7, vaddrs, count),
	       (int64_t)count, "a start may be anything");
	file_names_deinit(&names);
}

/* As many as there were symbols, between them, and nowhere. */
static size_t choose(const struct elf_symbols *symbols, uint64_t *ret, size_t most)
{
	struct elf_symbol symbol;
	size_t i, count = 0;

	ret[count++] = 1;
	for (i = 0; i < elf_symbols_count(symbols) && count + 2 < most; i++)
		if (elf_symbols_at(symbols, i, &symbol) && symbol.size > 1 && symbol.vaddr > ret[count - 1]) {
			ret[count++] = symbol.vaddr;
			ret[count++] = symbol.vaddr + 1;
		}
	ret[count++] = UINT64_MAX;
	return count;
}

static bool agrees(const struct file_names *names, const struct elf_symbols *symbols, uint64_t vaddr)
{
	struct elf_symbol symbol;
	struct file_name name;

	if (!file_names_find(names, vaddr, &name))
		return false;
	if (!elf_symbols_lookup(symbols, vaddr, &symbol))
		return !name.symbol && !name.shown;
	return name.symbol && !strcmp(name.symbol, symbol.name) && !strcmp(name.shown, symbol.name) &&
	       name.start == symbol.vaddr;
}

/* The same bytes by the process. */
static void test_process(const uint64_t *vaddrs, size_t count, const uint8_t *bytes, size_t size)
{
	struct foreign_file *file = foreign_wrap(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	const struct analyser_request request = {
		.ask = ANALYSER_NAME, .file = file, .input = vaddrs, .input_size = count * sizeof(*vaddrs)};
	struct foreign_files *files;
	struct analyser *analyser;
	struct analysis answer;

	if (!ok(!foreign_files_create(0, &files, NULL), "the nursery"))
		return;
	analyser = analyser_create(files, NULL);
	is_int(analyser_consult(analyser, &request, NULL, NULL, &answer), 0, "the process answers");
	ok(answer.size == size && !memcmp(answer.bytes, bytes, size), "the same: %zu bytes", answer.size);
	free(answer.bytes);
	analyser_destroy(analyser);
	foreign_files_destroy(files);
	foreign_close(file);
}

int main(void)
{
	static uint64_t vaddrs[FILE_NAMES_AT_ONCE];
	struct file_names_source source = {.elf = open_own(), .debug_root = "/nonexistent"};
	struct elf_symbols *symbols = NULL;
	struct file_names names = {};
	struct file_name name;
	uint8_t *bytes;
	size_t count, size, i, done, parts = 0;

	is_int(elf_symbols_create(source.elf, "/nonexistent", &symbols, NULL), 0, "this program's symbols");
	count = choose(symbols, vaddrs, FILE_NAMES_AT_ONCE);
	is_int(file_names_write(&source, vaddrs, count, ANALYSER_ANSWER_MAX, &bytes, &size), 0,
	       "names of %zu addresses", count);
	is_int(file_names_add(&names, copy_of(bytes, size), size, vaddrs, count), (int64_t)count, "all answered");
	for (i = 0; i < count && agrees(&names, symbols, vaddrs[i]); i++)
		;
	is_int((int64_t)i, (int64_t)count, "as the symbols say");
	ok(!file_names_find(&names, 2, &name), "of an address that was not asked for nothing is known");
	ok(!file_names_said(&names)->wants_debug && !file_names_said(&names)->has_debug, "no debug file is wanted");
	test_lies(bytes, size, vaddrs, count);
	test_process(vaddrs, count, bytes, size);
	free(bytes);
	file_names_deinit(&names);
	for (done = 0; done < count && parts < count; parts++) {
		ssize_t got;

		source.elf = open_own();
		if (file_names_write(&source, vaddrs + done, count - done, 64 << 10, &bytes, &size))
			break;
		got = file_names_add(&names, bytes, size, vaddrs + done, count - done);
		if (got <= 0)
			break;
		done += (size_t)got;
	}
	ok(done == count && parts > 1, "in %zu parts", parts);
	for (i = 0; i < count && agrees(&names, symbols, vaddrs[i]); i++)
		;
	is_int((int64_t)i, (int64_t)count, "the same");
	file_names_deinit(&names);
	elf_symbols_destroy(symbols);
	return tap_done();
}

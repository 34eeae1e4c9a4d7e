// SPDX-License-Identifier: GPL-2.0-or-later
/* Instruction sequences, and near misses, in asm/key_*.s: each says in a comment what must come out. */
#include <stdarg.h>

#include "assemble.h"
#include "runtime/python/key_decoder.h"
#include "tap.h"

static void append(char *text, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void append(char *text, size_t size, const char *fmt, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + used, size - used, fmt, args);
	va_end(args);
}

/* An address as a symbol of the test's and an offset, or "slot". */
static void append_address(const struct elf_file *elf, uint64_t address, char *text, size_t size)
{
	static const char *const symbols[] = {"_PyRuntime", "hidden_runtime"};
	/* One case uses an offset beyond the 4096 bytes of the variable; it comes after the other one. */
	static const uint64_t sizes[] = {4096, 4096};
	uint64_t vaddr, bytes;
	size_t i;

	if (elf_file_find_symbol(elf, symbols[0], &vaddr, &bytes) && address == vaddr + 0x10604) {
		append(text, size, "_PyRuntime+0x10604");
		return;
	}
	for (i = 0; i < 2; i++)
		if (elf_file_find_symbol(elf, symbols[i], &vaddr, &bytes) && address - vaddr < sizes[i]) {
			append(text, size, "%s+%#" PRIx64, symbols[i], address - vaddr);
			return;
		}
	append(text, size, "slot");
}

static void value_text(const struct elf_file *elf, const struct key_value *value, char *text, size_t size)
{
	static const char *const bases[] = {"", "index", "desc", "code", "stack", "import"};
	char before[128];
	size_t i;

	*text = '\0';
	for (i = 0; i <= value->loads; i++) {
		if (i) {
			snprintf(before, sizeof(before), "%s", text);
			*text = '\0';
			append(text, size, "%s[%s]", i == value->loads && value->width == 4 ? "u32" : "", before);
		} else {
			append(text, size, "%s", bases[value->base]);
		}
		if (value->pointer[i])
			append(text, size, "%s", *text ? "+tp" : "tp");
		if (*text && value->offset[i])
			append(text, size, "%+" PRId64, value->offset[i]);
		else if (!*text)
			append_address(elf, (uint64_t)value->offset[i], text, size);
	}
}

static void evaluate(const struct elf_file *elf, const struct key_image *image, uint64_t vaddr, char *text, size_t size)
{
	struct key_evaluation evaluation;
	char value[128];

	*text = '\0';
	if (key_evaluate(elf_file_machine(elf), image, vaddr, KEY_ARGUMENT_NONE, false, &evaluation)) {
		append(text, size, "error");
		return;
	}
	if (evaluation.keys.count > 1) {
		append(text, size, "key %zu answers", evaluation.keys.count);
	} else if (evaluation.keys.count) {
		append(text, size, "key ");
		append_address(elf, (uint64_t)evaluation.keys.at[0].offset[0], text, size);
	} else if (evaluation.returns.count) {
		value_text(elf, &evaluation.returns.at[0], value, sizeof(value));
		append(text, size, "returns %s%s", value, evaluation.returns.count > 1 ? " and more" : "");
	} else {
		append(text, size, "nothing");
	}
}

static void test_corpus(const char *name, const char *machine)
{
	char path[256], line[256], function[64], expected[64], text[160];
	struct elf_file *elf = assemble(name, machine);
	struct key_image image;
	struct key_file *file;
	uint64_t vaddr, size;
	FILE *source;

	snprintf(path, sizeof(path), "%s/unit/asm/%s.s", TEST_DIR, name);
	source = fopen(path, "re");
	if (!ok(elf && source && !key_file_create(elf, &file), "%s is assembled", name)) {
		if (source)
			fclose(source);
		elf_file_close(elf);
		return;
	}
	image = key_file_image(file);
	while (fgets(line, sizeof(line), source)) {
		if (sscanf(line, "case %63s %*s %63[^\n]", function, expected) != 2)
			continue;
		if (elf_file_find_symbol(elf, function, &vaddr, &size))
			evaluate(elf, &image, vaddr, text, sizeof(text));
		else
			strcpy(text, "no such function");
		is_str(text, expected, "%s: %s: %s", machine, function, expected);
	}
	fclose(source);
	key_file_destroy(file);
	elf_file_close(elf);
}

int main(void)
{
	if (!can_assemble()) {
		printf("1..0 # SKIP needs clang and lld\n");
		return 0;
	}
	test_corpus("key_x86_64", "x86_64");
	test_corpus("key_aarch64", "aarch64");
	return tap_done();
}

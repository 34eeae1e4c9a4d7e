// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>

#include "base/strings.h"
#include "elf_builder.h"
#include "runtime/python/cache.h"
#include "tap.h"

struct file {
	uint8_t code;           /* first byte of the loop */
	const char *more_names; /* appended to the string table: what stripping or patching changes */
	bool no_id;
};

static struct elf_file *build(const struct file *file, struct elf_builder *b)
{
	static const uint8_t note[] = {4, 0, 0, 0, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 0xde, 0xad, 0xbe, 0xef};
	char strings[256] = "\0_PyEval_EvalFrameDefault";
	size_t size = sizeof("\0_PyEval_EvalFrameDefault");
	uint64_t text = ELF_BUILDER_BASE + ELF_BUILDER_HEADERS;
	const Elf64_Sym symbols[] = {{}, {1, ELF64_ST_INFO(STB_LOCAL, STT_FUNC), 0, 1, text, 0x80}};
	struct elf_file *elf = NULL;
	uint8_t code[0x100] = {file->code};
	Elf64_Shdr *symtab;

	*b = elf_builder_init();
	elf_builder_section(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, code, sizeof(code));
	strcpy(strings + size, file->more_names);
	elf_builder_section(b, ".strtab", SHT_STRTAB, 0, strings, size + strlen(file->more_names) + 1);
	symtab = elf_builder_section(b, ".symtab", SHT_SYMTAB, 0, symbols, sizeof(symbols));
	symtab->sh_link = 2;
	symtab->sh_entsize = sizeof(*symbols);
	if (!file->no_id)
		elf_builder_segment(b, PT_NOTE,
				    elf_builder_section(b, ".note", SHT_NOTE, SHF_ALLOC, note, sizeof(note)));
	elf_builder_finish(b, 0);
	elf_file_open_memory(b->bytes, b->size, "image", &elf, NULL);
	return elf;
}

/* 1: found in the cache, 0: found anew, -1: wrong. */
static int ask(struct python_cache *cache, const struct file *file, uint16_t version)
{
	struct python_interpreter interpreter = {.version = version};
	struct python_range *ranges = NULL;
	struct elf_builder b;
	struct elf_file *elf = build(file, &b);
	bool cached = false;
	size_t count = 0;
	int result = -1;

	if (!python_cache_eval_ranges(cache, elf, &interpreter, &ranges, &count, &cached, NULL) && count == 1 &&
	    ranges->start == ELF_BUILDER_BASE + ELF_BUILDER_HEADERS && ranges->end == ranges->start + 0x80 &&
	    !ranges->cold && !strcmp(ranges->evidence, "symbol"))
		result = cached;
	free(ranges);
	elf_file_close(elf);
	elf_builder_deinit(&b);
	return result;
}

static void test_ranges(void)
{
	const struct file file = {0x90, ""}, patched = {0xc3, ""}, twin = {0x90, "main"}, no_id = {0x90, "", true},
			  no_id_patched = {0xc3, "", true};
	struct python_cache *cache = python_cache_create(NULL);

	is_int(ask(cache, &file, 0x30b), 0, "found");
	is_int(ask(cache, &file, 0x30b), 1, "then cached");
	is_int(ask(cache, &patched, 0x30b), 0, "other code under the same build id: found anew");
	is_int(ask(cache, &patched, 0x30b), 1, "and cached");
	is_int(ask(cache, &twin, 0x30b), 0, "other sections under the same build id");
	is_int(ask(cache, &twin, 0x30c), 0, "another version");
	is_int(ask(cache, &no_id, 0x30b), 0, "no build id");
	is_int(ask(cache, &no_id, 0x30b), 1, "is cached as well");
	is_int(ask(cache, &no_id_patched, 0x30b), 0, "but not for other code");
	is_int(ask(NULL, &file, 0x30b), 0, "no cache at all");
	python_cache_destroy(cache);
	python_cache_destroy(NULL);
}

struct bytes {
	uint8_t at[256];
	size_t size;
};

static void put(struct bytes *b, const void *bytes, size_t size)
{
	memcpy(b->at + b->size, bytes, size);
	b->size += size;
}

static struct bytes entry(uint32_t count)
{
	struct bytes b = {};

	put(&b, "digest!!", 8);
	put(&b, &count, 4);
	return b;
}

static void put_range(struct bytes *b, uint64_t start, uint64_t end, uint8_t cold, const char *evidence)
{
	put(b, &start, 8);
	put(b, &end, 8);
	put(b, &cold, 1);
	put(b, evidence, strlen(evidence) + 1);
}

static bool decodes(const struct bytes *b, size_t size)
{
	struct string_pool *strings = string_pool_create();
	struct python_range *ranges = NULL;
	uint64_t digest;
	size_t count;
	bool done = python_cache_decode(b->at, size, strings, &digest, &ranges, &count);

	if (done)
		free(ranges);
	string_pool_destroy(strings);
	return done;
}

static bool decodes_range(uint64_t start, uint64_t end, uint8_t cold, const char *evidence)
{
	struct bytes b = entry(2);

	put_range(&b, 0x100, 0x200, 0, "symbol");
	put_range(&b, start, end, cold, evidence);
	return decodes(&b, b.size);
}

static void test_decode(void)
{
	struct bytes b = entry(1);
	size_t i, wrong = 0;

	put_range(&b, 0x100, 0x200, 1, "jump into FDE, jumps back");
	ok(decodes(&b, b.size), "an entry");
	for (i = 0; i < b.size; i++)
		wrong += decodes(&b, i);
	is_int(wrong, 0, "cut off anywhere");
	ok(!decodes(&b, b.size + 1), "a byte too many");
	ok(decodes_range(0x200, 0x300, 1, "x"), "a second range");
	ok(!decodes_range(0x80, 0x90, 1, "x"), "not in order");
	ok(!decodes_range(0x100, 0x300, 1, "x"), "twice");
	ok(!decodes_range(0x300, 0x300, 1, "x"), "empty");
	ok(!decodes_range(0x300, 0x200, 1, "x"), "backwards");
	ok(!decodes_range(0x300, 0x400, 4, "x"), "a flag that there is not");
	ok(!decodes_range(0x300, 0x400, 1, ""), "without evidence");
	ok(!decodes_range(0x300, 0x400, 1, "\033[2J"), "evidence with control characters");
	b = entry(0);
	ok(!decodes(&b, b.size), "no ranges");
	b = entry(UINT32_MAX);
	ok(!decodes(&b, b.size), "four billion");
}

static void put_layer(struct bytes *b, uint32_t kind, const char *source, const char *result)
{
	uint8_t stays = kind == PYTHON_THREAD_TLS_STATIC;

	put(b, &kind, 4);
	put(b, &stays, 1);
	put(b, "offset__address_created_", 24);
	put(b, source, strlen(source) + 1);
	put(b, result, strlen(result) + 1);
}

static bool decodes_layers(const struct bytes *b, size_t size, struct python_thread_layer *layers)
{
	struct string_pool *strings = string_pool_create();
	uint64_t digest;
	size_t count = 0;
	bool done = python_cache_decode_layers(b->at, size, strings, &digest, layers, &count);

	string_pool_destroy(strings);
	return done;
}

static void test_decode_layers(void)
{
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	struct bytes b = entry(2);
	char text[200] = "";
	size_t i, wrong = 0;

	put_layer(&b, PYTHON_THREAD_NONE, "key code", "why not");
	put_layer(&b, PYTHON_THREAD_KEY, "key table", "what");
	ok(decodes_layers(&b, b.size, layers), "two layers");
	ok(!layers[0].found && layers[1].found, "found or not");
	ok(layers[1].answer.kind == PYTHON_THREAD_KEY && !memcmp(&layers[1].answer.address, "address_", 8),
	   "the recipe");
	is_str(layers[1].result, "what", "the words");
	for (i = 0; i < b.size; i++)
		wrong += decodes_layers(&b, i, layers);
	is_int(wrong, 0, "cut off anywhere");
	ok(!decodes_layers(&b, b.size + 1, layers), "a byte too many");
	b = entry(1);
	put_layer(&b, PYTHON_THREAD_LIST + 1, "a", "b");
	ok(!decodes_layers(&b, b.size, layers), "a kind that there is not");
	memset(text, 'x', sizeof(layers->result));
	b = entry(1);
	put_layer(&b, PYTHON_THREAD_LIST, "a", text);
	ok(!decodes_layers(&b, b.size, layers), "more words than there is room for");
	text[sizeof(layers->result) - 1] = '\0';
	b = entry(1);
	put_layer(&b, PYTHON_THREAD_LIST, "a", text);
	ok(decodes_layers(&b, b.size, layers), "just as many");
	b = entry(PYTHON_THREAD_LAYERS + 1);
	ok(!decodes_layers(&b, sizeof(b.at), layers), "too many layers");
}

/* Twice the same answer, the second one from the cache. */
static void test_layers(void)
{
	struct python_thread_layer first[PYTHON_THREAD_LAYERS], second[PYTHON_THREAD_LAYERS];
	const struct python_interpreter interpreter = {.version = 0x30b, .interp_head = 0x1234};
	const struct file file = {0x90, ""};
	struct python_cache *cache = python_cache_create(NULL);
	bool cached = true, cached_again = false;
	struct elf_builder b;
	struct elf_file *elf = build(&file, &b);
	size_t count = 0, again = 0, i, wrong = 0;

	python_cache_thread_layers(cache, elf, &interpreter, first, PYTHON_THREAD_LAYERS, &count, &cached);
	python_cache_thread_layers(cache, elf, &interpreter, second, PYTHON_THREAD_LAYERS, &again, &cached_again);
	ok(!cached && cached_again && count && count == again, "layers: found, then cached");
	for (i = 0; i < count && count == again; i++)
		wrong += strcmp(first[i].source, second[i].source) || strcmp(first[i].result, second[i].result) ||
			 first[i].found != second[i].found || first[i].answer.kind != second[i].answer.kind ||
			 first[i].answer.offset != second[i].answer.offset ||
			 first[i].answer.address != second[i].answer.address ||
			 first[i].answer.created != second[i].answer.created;
	is_int(wrong, 0, "the same");
	python_cache_thread_layers(cache, elf, &interpreter, second, 1, &again, NULL);
	is_int(again, 1, "no more than there is room for");
	elf_file_close(elf);
	elf_builder_deinit(&b);
	python_cache_destroy(cache);
}

/* Another process finds what is not in the cache. */
static void test_elsewhere(void)
{
	const struct python_interpreter interpreter = {.version = 0x30b, .interp_head = 0x1234},
					other = {.version = 0x30c};
	const struct file file = {0x90, ""}, patched = {0xc3, ""};
	struct cache *entries = cache_create(NULL, 1), *process = cache_create(NULL, 0);
	struct python_cache *cache = python_cache_share(entries), *there = python_cache_share(process);
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	struct python_range *ranges = NULL, *found = NULL;
	struct elf_builder b, patched_b;
	struct elf_file *elf = build(&file, &b), *patched_elf = build(&patched, &patched_b);
	struct py_keys keys = {.stride = 1};
	uint8_t *bytes = NULL;
	size_t count = 0, size = 0;
	bool cached = false;

	cache_set_way(entries, CACHE_ELSEWHERE);
	cache_set_way(process, CACHE_FOR_OTHERS);
	is_int(python_cache_thread_layers(cache, elf, &interpreter, layers, PYTHON_THREAD_LAYERS, &count, NULL),
	       -EINPROGRESS, "layers are not found here");
	is_int(python_cache_keys(cache, elf, &keys), -EINPROGRESS, "nor are keys");
	ok(!keys.stride, "which are none then");
	is_int(python_cache_eval_ranges(cache, elf, &interpreter, &ranges, &count, NULL, NULL), -EINPROGRESS,
	       "nor is the loop");
	ok(cache_wants(entries), "that is wanted now");
	is_int(python_cache_eval_ranges(there, patched_elf, &interpreter, &found, &count, NULL, NULL), 0,
	       "a process tells of another file with that build id");
	free(found);
	is_int(cache_write(process, &bytes, &size), 0, "what it found");
	is_int(cache_read(entries, bytes, size), -ENOENT, "it is not taken");
	free(bytes);
	is_int(python_cache_eval_ranges(there, elf, &other, &found, &count, NULL, NULL), 0, "or as another version");
	free(found);
	is_int(cache_write(process, &bytes, &size), 0, "what it found");
	is_int(cache_read(entries, bytes, size), -ENOENT, "it is not taken");
	free(bytes);
	is_int(python_cache_eval_ranges(there, elf, &interpreter, &found, &count, NULL, NULL), 0, "of this file");
	free(found);
	is_int(cache_write(process, &bytes, &size), 0, "what it found");
	is_int(cache_read(entries, bytes, size), 0, "it is");
	free(bytes);
	is_int(python_cache_eval_ranges(cache, elf, &interpreter, &ranges, &count, &cached, NULL), 0,
	       "the loop is known");
	ok(cached && count == 1 && ranges->end == ranges->start + 0x80, "as it was found");
	free(ranges);
	elf_file_close(elf);
	elf_file_close(patched_elf);
	elf_builder_deinit(&b);
	elf_builder_deinit(&patched_b);
	python_cache_destroy(cache);
	python_cache_destroy(there);
	cache_destroy(entries);
	cache_destroy(process);
}

int main(void)
{
	test_ranges();
	test_decode();
	test_layers();
	test_decode_layers();
	test_elsewhere();
	return tap_done();
}

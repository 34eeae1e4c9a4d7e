// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * - BUILD-ID.eval: digest u64, number of ranges u32; each: start u64, end u64, cold | handler << 1 u8, evidence\0
 * - BUILD-ID.threads: digest u64, number of layers u32; each: kind u32, offset s64, address u64, created u64, source\0,
 *   result\0
 * - BUILD-ID.keys: digest u64, struct py_keys
 */
#include "python/cache.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/cache.h"
#include "base/cursor.h"
#include "base/strings.h"
#include "base/vec.h"
#include "python/key_layout.h"

/* ANALYSER_VERSION, made by mk/build.mk from the sources of everything that an answer depends on. */
#include "analyser.inc"

#define RANGES_MAX   4096
#define EVIDENCE_MAX 128

struct python_cache {
	struct cache *cache;
	struct string_pool *strings; /* evidence */
};

typedef VEC(uint8_t) bytes_t;

struct python_cache *python_cache_create(const char *directory)
{
	struct python_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->cache = cache_create(directory, ANALYSER_VERSION);
	cache->strings = string_pool_create();
	if (cache->cache && cache->strings)
		return cache;
	python_cache_destroy(cache);
	return NULL;
}

void python_cache_destroy(struct python_cache *cache)
{
	if (!cache)
		return;
	cache_destroy(cache->cache);
	string_pool_destroy(cache->strings);
	free(cache);
}

struct cache *python_cache_entries(struct python_cache *cache)
{
	return cache ? cache->cache : NULL;
}

struct digest {
	XXH64_hash_t value;
};

static void mix(struct digest *digest, const void *bytes, size_t size)
{
	digest->value = XXH3_64bits_withSeed(bytes, size, digest->value);
}

static void mix_number(struct digest *digest, uint64_t number)
{
	mix(digest, &number, sizeof(number));
}

/* What every answer depends on. `interpreter`: NULL of a file that is none. */
static struct digest digest_of_file(const struct elf_file *elf, const struct python_interpreter *interpreter)
{
	static const char *const sections[] = {".text", ".symtab", ".strtab", ".dynsym", ".eh_frame", ".gnu_debugdata"};
	struct elf_section section;
	struct digest digest = {};
	size_t segment_count, i;
	const struct elf_segment *segments = elf_file_segments(elf, &segment_count);

	if (interpreter)
		mix_number(&digest, (uint64_t)interpreter->version << 8 | interpreter->micro);
	for (i = 0; i < segment_count; i++) {
		mix_number(&digest, segments[i].vaddr);
		mix_number(&digest, segments[i].offset);
		mix_number(&digest, segments[i].filesz);
	}
	for (i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		if (!elf_file_section_header(elf, sections[i], &section))
			continue;
		mix_number(&digest, i);
		mix_number(&digest, section.vaddr);
		mix_number(&digest, section.offset);
		mix_number(&digest, section.size);
	}
	if (elf_file_section(elf, ".eh_frame_hdr", &section) && section.bytes)
		mix(&digest, section.bytes, section.size);
	return digest;
}

/* Named after the build id; without one, as Alpine's gcc writes none, after the digest. */
static void entry_name(const struct elf_file *elf, const struct python_interpreter *interpreter, const char *suffix,
		       char name[static CACHE_NAME_MAX + 1])
{
	const uint8_t *id;
	size_t size = elf_file_build_id(elf, &id), i;

	if (!size)
		sprintf(name, "%016llx%s", (unsigned long long)digest_of_file(elf, interpreter).value, suffix);
	for (i = 0; i < size; i++)
		sprintf(name + 2 * i, "%02x", id[i]);
	if (size)
		strcpy(name + 2 * size, suffix);
}

/* And the loop: its code. False when that is not in the file. */
static bool digest_of_loop(const struct elf_file *elf, const struct python_interpreter *interpreter,
			   const struct python_range *ranges, size_t count, uint64_t *ret)
{
	struct digest digest = digest_of_file(elf, interpreter);
	size_t i;

	for (i = 0; i < count; i++) {
		const uint8_t *code = elf_file_bytes_at(elf, ranges[i].start, ranges[i].end - ranges[i].start);

		if (!code)
			return false;
		mix(&digest, code, ranges[i].end - ranges[i].start);
	}
	*ret = digest.value;
	return true;
}

/* And the ways to the thread state: the code that is asked first. What it calls is not followed; a process has the last
 * word. */
static uint64_t digest_of_getters(const struct elf_file *elf, const struct python_interpreter *interpreter)
{
	static const char *const names[] = {"PyGILState_GetThisThreadState",
					    "PyGILState_Release",
					    "PyGILState_Check",
					    "PyGILState_Ensure",
					    "PyThreadState_Get",
					    "_PyThreadState_UncheckedGet"};
	struct digest digest = digest_of_file(elf, interpreter);
	uint64_t vaddr, size;
	const uint8_t *code;
	size_t i;

	mix_number(&digest, interpreter->interp_head);
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (!elf_file_find_dynamic_symbol(elf, names[i], &vaddr, &size))
			continue;
		code = elf_file_bytes_at(elf, vaddr, size);
		mix_number(&digest, vaddr);
		if (code && size)
			mix(&digest, code, size);
	}
	return digest.value;
}

/* And a libc's keys: the function's code. */
static uint64_t digest_of_keys(const struct elf_file *elf)
{
	struct digest digest = digest_of_file(elf, NULL);
	uint64_t vaddr, size;
	const uint8_t *code;

	if (key_layout_function(elf, true, &vaddr, &size)) {
		code = elf_file_bytes_at(elf, vaddr, size);
		mix_number(&digest, vaddr);
		if (code && size)
			mix(&digest, code, size);
	}
	return digest.value;
}

static int append(bytes_t *bytes, const void *more, size_t size)
{
	if (vec_reserve(bytes, size))
		return -ENOMEM;
	memcpy(bytes->at + bytes->count, more, size);
	bytes->count += size;
	return 0;
}

static int encode(bytes_t *bytes, uint64_t digest, const struct python_range *ranges, size_t count)
{
	uint32_t number = (uint32_t)count;
	int err = append(bytes, &digest, sizeof(digest));
	size_t i;

	if (!err)
		err = append(bytes, &number, sizeof(number));
	for (i = 0; !err && i < count; i++) {
		uint8_t flags = (uint8_t)(ranges[i].cold | ranges[i].handler << 1);

		err = append(bytes, &ranges[i].start, 8);
		if (!err)
			err = append(bytes, &ranges[i].end, 8);
		if (!err)
			err = append(bytes, &flags, 1);
		if (!err)
			err = append(bytes, ranges[i].evidence, strlen(ranges[i].evidence) + 1);
	}
	return err;
}

static int append_layer(bytes_t *bytes, const struct python_thread_layer *layer)
{
	uint32_t kind = layer->answer.kind;
	int err = append(bytes, &kind, sizeof(kind));

	if (!err)
		err = append(bytes, &layer->answer.offset, 8);
	if (!err)
		err = append(bytes, &layer->answer.address, 8);
	if (!err)
		err = append(bytes, &layer->answer.created, 8);
	if (!err)
		err = append(bytes, layer->source, strlen(layer->source) + 1);
	return err ? err : append(bytes, layer->result, strlen(layer->result) + 1);
}

static int encode_layers(bytes_t *bytes, uint64_t digest, const struct python_thread_layer *layers, size_t count)
{
	uint32_t number = (uint32_t)count;
	int err = append(bytes, &digest, sizeof(digest));
	size_t i;

	if (!err)
		err = append(bytes, &number, sizeof(number));
	for (i = 0; !err && i < count; i++)
		err = append_layer(bytes, &layers[i]);
	return err;
}

/* Printable, not empty, shorter than `room`. */
static bool is_text(const char *text, size_t room)
{
	size_t size;

	for (size = 0; text[size]; size++)
		if (text[size] < ' ' || text[size] > '~' || size + 1 == room)
			return false;
	return size;
}

static bool decode_range(struct cursor *c, struct string_pool *strings, const struct python_range *before,
			 struct python_range *ret)
{
	const char *evidence;
	uint8_t flags;

	ret->start = cursor_u64(c);
	ret->end = cursor_u64(c);
	flags = cursor_u8(c);
	evidence = cursor_string(c);
	if (!evidence || !is_text(evidence, EVIDENCE_MAX) || flags > 3 || (before && ret->start <= before->start) ||
	    ret->end <= ret->start)
		return false;
	ret->cold = flags & 1;
	ret->handler = flags >> 1;
	ret->evidence = string_intern(strings, evidence);
	return ret->evidence;
}

bool python_cache_decode(const void *bytes, size_t size, struct string_pool *strings, uint64_t *digest,
			 struct python_range **ret, size_t *count)
{
	struct cursor c = cursor_init(bytes, size);
	uint64_t was_digest = cursor_u64(&c);
	uint32_t number = cursor_u32(&c), i;
	struct python_range *ranges;

	if (!number || number > RANGES_MAX)
		return false;
	ranges = calloc(number, sizeof(*ranges));
	for (i = 0; ranges && i < number; i++)
		if (!decode_range(&c, strings, i ? &ranges[i - 1] : NULL, &ranges[i]))
			break;
	if (!ranges || i < number || !cursor_ok(&c) || !cursor_at_end(&c)) {
		free(ranges);
		return false;
	}
	*digest = was_digest;
	*ret = ranges;
	*count = number;
	return true;
}

static bool decode_layer(struct cursor *c, struct string_pool *strings, struct python_thread_layer *ret)
{
	uint32_t kind = cursor_u32(c);
	const char *source, *result;

	ret->answer = (struct python_thread_source){.kind = kind};
	ret->answer.offset = cursor_s64(c);
	ret->answer.address = cursor_u64(c);
	ret->answer.created = cursor_u64(c);
	source = cursor_string(c);
	result = cursor_string(c);
	if (!source || !result || kind > PYTHON_THREAD_LIST || !is_text(source, EVIDENCE_MAX) ||
	    !is_text(result, sizeof(ret->result)))
		return false;
	ret->found = kind != PYTHON_THREAD_NONE;
	strcpy(ret->result, result);
	ret->source = string_intern(strings, source);
	return ret->source;
}

bool python_cache_decode_layers(const void *bytes, size_t size, struct string_pool *strings, uint64_t *digest,
				struct python_thread_layer layers[static PYTHON_THREAD_LAYERS], size_t *count)
{
	struct cursor c = cursor_init(bytes, size);
	uint32_t number, i;

	*digest = cursor_u64(&c);
	number = cursor_u32(&c);
	if (!number || number > PYTHON_THREAD_LAYERS)
		return false;
	for (i = 0; i < number; i++)
		if (!decode_layer(&c, strings, &layers[i]))
			return false;
	*count = number;
	return cursor_at_end(&c) && cursor_ok(&c);
}

static bool look_up_ranges(struct python_cache *cache, const struct elf_file *elf, const char *name,
			   const struct python_interpreter *interpreter, struct python_range **ret, size_t *count)
{
	struct python_range *ranges;
	uint64_t digest, expected;
	const uint8_t *bytes;
	size_t size, number;

	if (!cache_get(cache->cache, name, &bytes, &size) ||
	    !python_cache_decode(bytes, size, cache->strings, &expected, &ranges, &number))
		return false;
	if (!digest_of_loop(elf, interpreter, ranges, number, &digest) || digest != expected) {
		free(ranges);
		return false;
	}
	*ret = ranges;
	*count = number;
	return true;
}

/* What cannot be kept is found again the next time. */
static void keep_ranges(struct python_cache *cache, const struct elf_file *elf, const char *name,
			const struct python_interpreter *interpreter, const struct python_range *ranges, size_t count)
{
	bytes_t bytes = {};
	uint64_t digest;

	if (count <= RANGES_MAX && digest_of_loop(elf, interpreter, ranges, count, &digest) &&
	    !encode(&bytes, digest, ranges, count))
		cache_put(cache->cache, name, bytes.at, bytes.count);
	vec_free(&bytes);
}

int python_cache_eval_ranges(struct python_cache *cache, const struct elf_file *elf,
			     const struct python_interpreter *interpreter, struct python_range **ret, size_t *count,
			     bool *cached, struct diag *diag)
{
	char name[CACHE_NAME_MAX + 1];
	bool found = false;
	int err = 0;

	if (cache) {
		entry_name(elf, interpreter, ".eval", name);
		found = look_up_ranges(cache, elf, name, interpreter, ret, count);
	}
	if (!found)
		err = python_eval_ranges(elf, interpreter, ret, count, diag);
	if (!found && !err && cache)
		keep_ranges(cache, elf, name, interpreter, *ret, *count);
	if (!err && cached)
		*cached = found;
	return err;
}

static bool look_up_layers(struct python_cache *cache, const char *name, uint64_t digest,
			   struct python_thread_layer layers[static PYTHON_THREAD_LAYERS], size_t *count)
{
	const uint8_t *bytes;
	uint64_t expected;
	size_t size;

	return cache_get(cache->cache, name, &bytes, &size) &&
	       python_cache_decode_layers(bytes, size, cache->strings, &expected, layers, count) && digest == expected;
}

int python_cache_thread_layers(struct python_cache *cache, const struct elf_file *elf,
			       const struct python_interpreter *interpreter, struct python_thread_layer *layers,
			       size_t room, size_t *count, bool *cached)
{
	struct python_thread_layer all[PYTHON_THREAD_LAYERS];
	char name[CACHE_NAME_MAX + 1];
	bool found = false;
	size_t number = 0;
	bytes_t bytes = {};
	uint64_t digest = 0;
	int err = 0;

	if (cache) {
		entry_name(elf, interpreter, ".threads", name);
		digest = digest_of_getters(elf, interpreter);
		found = look_up_layers(cache, name, digest, all, &number);
	}
	if (!found)
		err = python_thread_layers(elf, interpreter, all, PYTHON_THREAD_LAYERS, &number);
	if (err)
		return err;
	if (!found && cache && !encode_layers(&bytes, digest, all, number))
		cache_put(cache->cache, name, bytes.at, bytes.count);
	vec_free(&bytes);
	*count = number < room ? number : room;
	memcpy(layers, all, *count * sizeof(*layers));
	if (cached)
		*cached = found;
	return 0;
}

bool python_cache_decode_keys(const void *bytes, size_t size, uint64_t *digest, struct py_keys *ret)
{
	struct cursor c = cursor_init(bytes, size);
	uint64_t was_digest = cursor_u64(&c);
	const uint8_t *keys = cursor_take(&c, sizeof(*ret));

	if (!keys || !cursor_ok(&c) || !cursor_at_end(&c))
		return false;
	memcpy(ret, keys, sizeof(*ret));
	*digest = was_digest;
	return ret->stride;
}

int python_cache_keys(struct python_cache *cache, const struct elf_file *elf, struct py_keys *ret)
{
	char name[CACHE_NAME_MAX + 1];
	uint64_t digest = 0, expected;
	const uint8_t *bytes;
	bytes_t made = {};
	size_t size;
	int err;

	if (cache) {
		entry_name(elf, NULL, ".keys", name);
		digest = digest_of_keys(elf);
		if (cache_get(cache->cache, name, &bytes, &size) &&
		    python_cache_decode_keys(bytes, size, &expected, ret) && digest == expected)
			return 0;
	}
	err = key_layout_read(elf, ret);
	if (!err && cache && !append(&made, &digest, sizeof(digest)) && !append(&made, ret, sizeof(*ret)))
		cache_put(cache->cache, name, made.at, made.count);
	vec_free(&made);
	return err;
}

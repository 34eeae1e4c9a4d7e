// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * - BUILD-ID.eval: digest u64, number of ranges u32; each: start u64, end u64, cold | handler << 1 u8, evidence\0
 * - BUILD-ID.threads: digest u64, number of layers u32; each: kind u32, offset s64, address u64, created u64, source\0,
 *   result\0
 * - BUILD-ID.keys: digest u64, struct py_keys
 * - BUILD-ID.sites: cache_sites.c
 */
#include "runtime/python/cache_parts.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/cache.h"
#include "base/cursor.h"
#include "base/strings.h"
#include "base/vec.h"
#include "runtime/python/key_layout.h"

/* ANALYSER_VERSION, made by mk/build.mk from the sources of everything that an answer depends on. */
#include "analyser.inc"

#define RANGES_MAX   4096
#define EVIDENCE_MAX 128
#define DIGEST_MAX   (256u << 20) /* bytes, in 50 ms */
#define ANALYSIS   4 /* one more whenever another answer is found in the same file */

struct python_cache *python_cache_create(const char *directory)
{
	struct cache *entries = cache_create(directory, ANALYSER_VERSION);
	struct python_cache *cache = python_cache_share(entries);

	if (cache)
		cache->owned = true;
	else
		cache_destroy(entries);
	return cache;
}

struct python_cache *python_cache_share(struct cache *entries)
{
	struct python_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->cache = entries;
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
	if (cache->owned)
		cache_destroy(cache->cache);
	string_pool_destroy(cache->strings);
	free(cache);
}

struct cache *python_cache_entries(struct python_cache *cache)
{
	return cache ? cache->cache : NULL;
}

/*
 * What an answer depends on: all of the file, as what it was recognised, and how it is analysed; NULL of a file that is
 * no interpreter. False when it cannot be read, or is more than an analysis is worth: then nothing is kept.
 */
static bool digest_of(const struct elf_file *elf, const struct python_interpreter *interpreter, uint64_t *ret)
{
	struct {
		uint64_t file[2], version, interp_head, analysis;
	} all = {.analysis = ANALYSIS};

	if (interpreter) {
		all.version = (uint64_t)interpreter->version << 8 | interpreter->micro;
		all.interp_head = interpreter->interp_head;
	}

	if (!elf_file_digest(elf, DIGEST_MAX, all.file))
		return false;
	*ret = XXH3_64bits(&all, sizeof(all));
	return true;
}

/* Named after the build id; without one, as Alpine's gcc writes none, after the digest. */
static void entry_name(const struct elf_file *elf, uint64_t digest, const char *suffix,
		       char name[static CACHE_NAME_MAX + 1])
{
	const uint8_t *id;
	size_t size = elf_file_build_id(elf, &id), i;

	if (!size)
		sprintf(name, "%016llx%s", (unsigned long long)digest, suffix);
	for (i = 0; i < size; i++)
		sprintf(name + 2 * i, "%02x", id[i]);
	if (size)
		strcpy(name + 2 * size, suffix);
}

bool python_cache_entry(const struct python_cache *cache, const struct elf_file *elf,
			const struct python_interpreter *interpreter, const char *suffix, struct entry *ret)
{
	if (!cache)
		return false;
	if (digest_of(elf, interpreter, &ret->digest)) {
		entry_name(elf, ret->digest, suffix, ret->name);
		return true;
	}
	ret->digest = 0;
	sprintf(ret->name, "undigested%s", suffix);
	return cache_way(cache->cache) != CACHE_HERE;
}

bool python_cache_asks(const struct python_cache *cache, const struct entry *entry)
{
	if (!cache || cache_way(cache->cache) != CACHE_ELSEWHERE)
		return false;
	cache_want(cache->cache, entry->name, entry->digest);
	return true;
}

int python_cache_append(bytes_t *bytes, const void *more, size_t size)
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
	int err = python_cache_append(bytes, &digest, sizeof(digest));
	size_t i;

	if (!err)
		err = python_cache_append(bytes, &number, sizeof(number));
	for (i = 0; !err && i < count; i++) {
		uint8_t flags = (uint8_t)(ranges[i].cold | ranges[i].handler << 1);

		err = python_cache_append(bytes, &ranges[i].start, 8);
		if (!err)
			err = python_cache_append(bytes, &ranges[i].end, 8);
		if (!err)
			err = python_cache_append(bytes, &flags, 1);
		if (!err)
			err = python_cache_append(bytes, ranges[i].evidence, strlen(ranges[i].evidence) + 1);
	}
	return err;
}

static int append_layer(bytes_t *bytes, const struct python_thread_layer *layer)
{
	uint32_t kind = layer->answer.kind;
	uint8_t stays = layer->answer.stays;
	int err = python_cache_append(bytes, &kind, sizeof(kind));

	if (!err)
		err = python_cache_append(bytes, &stays, 1);
	if (!err)
		err = python_cache_append(bytes, &layer->answer.offset, 8);
	if (!err)
		err = python_cache_append(bytes, &layer->answer.address, 8);
	if (!err)
		err = python_cache_append(bytes, &layer->answer.created, 8);
	if (!err)
		err = python_cache_append(bytes, layer->source, strlen(layer->source) + 1);
	return err ? err : python_cache_append(bytes, layer->result, strlen(layer->result) + 1);
}

static int encode_layers(bytes_t *bytes, uint64_t digest, const struct python_thread_layer *layers, size_t count)
{
	uint32_t number = (uint32_t)count;
	int err = python_cache_append(bytes, &digest, sizeof(digest));
	size_t i;

	if (!err)
		err = python_cache_append(bytes, &number, sizeof(number));
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
	uint8_t stays = cursor_u8(c);
	const char *source, *result;

	ret->answer = (struct python_thread_source){.kind = kind, .stays = stays};
	ret->answer.offset = cursor_s64(c);
	ret->answer.address = cursor_u64(c);
	ret->answer.created = cursor_u64(c);
	source = cursor_string(c);
	result = cursor_string(c);
	if (!source || !result || stays > 1 || kind > PYTHON_THREAD_LIST || !is_text(source, EVIDENCE_MAX) ||
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

static bool look_up_ranges(struct python_cache *cache, const char *name, uint64_t digest, struct python_range **ret,
			   size_t *count)
{
	struct python_range *ranges;
	const uint8_t *bytes;
	size_t size, number;
	uint64_t expected;

	if (!cache_get(cache->cache, name, &bytes, &size) ||
	    !python_cache_decode(bytes, size, cache->strings, &expected, &ranges, &number))
		return false;
	if (digest != expected) {
		free(ranges);
		return false;
	}
	*ret = ranges;
	*count = number;
	return true;
}

/* What cannot be kept is found again the next time. */
static void keep_ranges(struct python_cache *cache, const char *name, uint64_t digest,
			const struct python_range *ranges, size_t count)
{
	bytes_t bytes = {};

	if (count <= RANGES_MAX && !encode(&bytes, digest, ranges, count))
		cache_put(cache->cache, name, bytes.at, bytes.count);
	vec_free(&bytes);
}

int python_cache_eval_ranges(struct python_cache *cache, const struct elf_file *elf,
			     const struct python_interpreter *interpreter, struct python_range **ret, size_t *count,
			     bool *cached, struct diag *diag)
{
	struct entry entry;
	bool found = false;
	int err = 0;

	if (!python_cache_entry(cache, elf, interpreter, ".eval", &entry))
		cache = NULL;
	if (cache)
		found = look_up_ranges(cache, entry.name, entry.digest, ret, count);
	if (!found && python_cache_asks(cache, &entry))
		return diag_fail(diag, EINPROGRESS, "python.asked", "%s: where its interpreter loop is is not known",
				 elf_file_path(elf));
	if (!found)
		err = python_eval_ranges(elf, interpreter, ret, count, diag);
	if (!found && !err && cache)
		keep_ranges(cache, entry.name, entry.digest, *ret, *count);
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
	struct entry entry;
	bool found = false;
	size_t number = 0;
	bytes_t bytes = {};
	int err = 0;

	if (!python_cache_entry(cache, elf, interpreter, ".threads", &entry))
		cache = NULL;
	if (cache)
		found = look_up_layers(cache, entry.name, entry.digest, all, &number);
	if (!found && python_cache_asks(cache, &entry))
		return -EINPROGRESS;
	if (!found)
		err = python_thread_layers(elf, interpreter, all, PYTHON_THREAD_LAYERS, &number);
	if (err)
		return err;
	if (!found && cache && !encode_layers(&bytes, entry.digest, all, number))
		cache_put(cache->cache, entry.name, bytes.at, bytes.count);
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
	struct entry entry;
	uint64_t expected;
	const uint8_t *bytes;
	bytes_t made = {};
	size_t size;
	int err;

	if (!python_cache_entry(cache, elf, NULL, ".keys", &entry))
		cache = NULL;
	if (cache && cache_get(cache->cache, entry.name, &bytes, &size) &&
	    python_cache_decode_keys(bytes, size, &expected, ret) && entry.digest == expected)
		return 0;
	if (python_cache_asks(cache, &entry)) {
		*ret = (struct py_keys){};
		return -EINPROGRESS;
	}
	err = key_layout_read(elf, ret);
	if (!err && cache && !python_cache_append(&made, &entry.digest, sizeof(entry.digest)) &&
	    !python_cache_append(&made, ret, sizeof(*ret)))
		cache_put(cache->cache, entry.name, made.at, made.count);
	vec_free(&made);
	return err;
}

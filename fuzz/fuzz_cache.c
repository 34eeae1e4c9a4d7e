// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a file of the cache, as what another process tells of entries, and as what an entry holds. */
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/strings.h"
#include "runtime/python/cache.h"
#include "unwind/derived.h"
#include "fuzz.h"

/* As the answer of a process: it can give the entry that is wanted, with the digest that is, and no other one. */
static void read_answer(const uint8_t *data, size_t size, uint64_t digest)
{
	struct cache *cache = cache_create(NULL, 7);
	const uint8_t *content;
	size_t count;
	int err;

	cache_want(cache, "00ff.eval", digest);
	err = cache_read(cache, data, size);
	CHECK(cache_get(cache, "00ff.eval", &content, &count) == !err);
	CHECK(err || (count >= sizeof(digest) && !memcmp(content, &digest, sizeof(digest))));
	cache_destroy(cache);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct string_pool *strings = string_pool_create();
	struct python_thread_layer layers[PYTHON_THREAD_LAYERS];
	struct python_range *ranges;
	const uint8_t *content;
	struct code_counts counts;
	rule_ranges rules = {};
	size_t count, i;
	struct python_sites sites;
	uint64_t digest;

	read_answer(data, size, 0);
	read_answer(data, size, 1);
	if (cache_entry_parse(data, size, "00ff.eval", 7, &content, &count))
		CHECK(content >= data && content + count == data + size);
	if (python_cache_decode(data, size, strings, &digest, &ranges, &count)) {
		CHECK(count && count < size);
		for (i = 0; i < count; i++) {
			CHECK(ranges[i].start < ranges[i].end && *ranges[i].evidence);
			CHECK(!i || ranges[i - 1].start < ranges[i].start);
		}
		free(ranges);
	}
	if (python_cache_decode_layers(data, size, strings, &digest, layers, &count)) {
		CHECK(count && count <= PYTHON_THREAD_LAYERS);
		for (i = 0; i < count; i++)
			CHECK(*layers[i].source && *layers[i].result &&
			      strlen(layers[i].result) < sizeof(layers[i].result) &&
			      layers[i].found == (layers[i].answer.kind != PYTHON_THREAD_NONE));
	}
	if (python_cache_decode_sites(data, size, &digest, &sites)) {
		CHECK(sites.at.count && sites.at.count < size);
		for (i = 0; i < sites.at.count; i++)
			CHECK(*python_site_name(&sites.at.at[i]) && sites.at.at[i].opcode_count <= PYTHON_SITE_OPCODES);
		python_sites_deinit(&sites);
	}
	if (derived_decode(data, size, &rules, &counts)) {
		CHECK(rules.count < size);
		for (i = 0; i < rules.count; i++)
			CHECK(rules.at[i].start < rules.at[i].end && (!i || rules.at[i - 1].end <= rules.at[i].start));
		vec_free(&rules);
	}
	string_pool_destroy(strings);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * python_cache: facts about an interpreter's file that are slow to find, cached by build id (base/cache.h) for other
 * files and later runs: where its loop is, and in that the places of its probes, how the thread state is reached, and
 * for a libc, where it keeps pthread keys.
 *
 * An entry names the version of the analyser, a checksum of its sources. So a strata with a different analysis does not
 * use it. A build id is only a claim of the file: its stripped version has the same one, and so may a patched file. So
 * an entry also holds a digest of the file (elf_file_digest()), and is used only for files with the same digest. For a
 * file without a build id the name of the entry is derived from the digest. Recognition is not cached: it takes some
 * hash-table lookups, no more than checking that a cached answer belongs to this file.
 *
 * If another process is to find what is not in the cache (CACHE_ELSEWHERE), the functions below fail with -EINPROGRESS,
 * and it is wanted (cache_want()). That is also so for files of which nothing is kept, as they are too large.
 */
#ifndef STRATA_PYTHON_CACHE_H
#define STRATA_PYTHON_CACHE_H

#include "base/cache.h"
#include "runtime/python/probe_sites.h"
#include "runtime/python/thread_state.h"

struct python_cache;

/* `directory` as for cache_create(). NULL when memory is short. */
struct python_cache *python_cache_create(const char *directory);
/* The same, with the entries in a cache that is also used for other things; it is borrowed. */
struct python_cache *python_cache_share(struct cache *entries);
void python_cache_destroy(struct python_cache *cache);

/* The cache with its entries, where other analyses of files keep theirs, too; NULL for no cache. */
struct cache *python_cache_entries(struct python_cache *cache);

/*
 * Like python_eval_ranges(), but looks in the cache first, and stores the answer there. `evidence` lives as long as the
 * cache. *cached (may be NULL) says whether it was in the cache. Without a cache (NULL) it is the same as
 * python_eval_ranges().
 */
int python_cache_eval_ranges(struct python_cache *cache, const struct elf_file *elf,
			     const struct python_interpreter *interpreter, struct python_range **ret, size_t *count,
			     bool *cached, struct diag *diag);

/* The same for python_thread_layers(); `source` lives as long as the cache. */
int python_cache_thread_layers(struct python_cache *cache, const struct elf_file *elf,
			       const struct python_interpreter *interpreter, struct python_thread_layer *layers,
			       size_t room, size_t *count, bool *cached);

/* The same for key_layout_read(), of a libc. */
int python_cache_keys(struct python_cache *cache, const struct elf_file *elf, struct py_keys *ret);

/*
 * The same for python_sites_find() in the ranges of python_eval_ranges(), which is then not needed. Refusals are not
 * kept.
 */
int python_cache_sites(struct python_cache *cache, const struct elf_file *elf,
		       const struct python_interpreter *interpreter, struct python_sites *ret, bool *cached,
		       struct diag *diag);

struct string_pool;

/* Decode entries; false when one is invalid. *ret is malloc'd. For tests and fuzzing. */
bool python_cache_decode(const void *bytes, size_t size, struct string_pool *strings, uint64_t *digest,
			 struct python_range **ret, size_t *count);
bool python_cache_decode_layers(const void *bytes, size_t size, struct string_pool *strings, uint64_t *digest,
				struct python_thread_layer layers[static PYTHON_THREAD_LAYERS], size_t *count);
bool python_cache_decode_sites(const void *bytes, size_t size, uint64_t *digest, struct python_sites *ret);
bool python_cache_decode_keys(const void *bytes, size_t size, uint64_t *digest, struct py_keys *ret);

#endif

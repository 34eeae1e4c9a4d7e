/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cache: small results that are expensive to compute. They are kept by name, in memory and, from run to run, in a
 * directory.
 *
 * An entry on disk is trusted only if nobody else can have written it, and if it is whole. It must be a regular file,
 * no link, of this user, writable by nobody else, in a directory for which the same is true; and have the right magic,
 * `version`, name, size and checksum. Anything else is treated as missing, and is replaced by the next cache_put().
 * Entries are written under another name and renamed, so several readers and writers only see whole entries. If no
 * directory can be used the cache is in memory only; that is no error. The directory keeps 32 MiB. A writer that
 * exceeds this removes what unfinished writers left, and the oldest entries, until a quarter is free. The caller checks
 * whether the content of an entry makes sense.
 *
 * The version is a checksum of the analyser's sources, made by the build (mk/build.mk), so nobody has to remember to
 * raise a number. A build id is only a claim of the file: a stripped twin has the same one, and so may a patched file.
 * So an entry holds a digest of all that it was derived from, and is used only for a file with the same digest
 * (elf_file_digest(), 5 GB/s). tests/inspect/poisoned.t exchanges two symbols of an interpreter.
 *
 * What is kept: the loop of an interpreter, the places of its probes and the paths to its thread state (4 to 20 ms of
 * disassembling each, 1 to 2 ms from the cache; runtime/python/cache.h); rules of code without FDEs (for musl's libc
 * 0.1 s, 1 ms from the cache, 43 KB; unwind/derived.h), also for the code of start files, so that Capstone need not be
 * loaded; rules that were learnt (engine/watch_learn.c).
 *
 * What is not kept: recognition and layouts, which take 0.03 to 0.1 ms, as long as checking that a cached answer
 * belongs to the file; unwind tables, which take 1 to 3 ms to compile, and would need 100 to 300 KB for each of
 * thousands of files.
 *
 * Not thread-safe; several processes may use one directory.
 */
#ifndef STRATA_BASE_CACHE_H
#define STRATA_BASE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_NAME_MAX  160         /* bytes of a name */
#define CACHE_ENTRY_MAX (1u << 20)  /* bytes of an entry */
#define CACHE_MAX       (32u << 20) /* bytes of all, on disk */

struct cache;

/*
 * `directory` and its parent are created when the first entry is written. NULL: in memory only. Entries of another
 * `version` are ignored. NULL when memory is short.
 */
struct cache *cache_create(const char *directory, uint64_t version);
void cache_destroy(struct cache *cache);

/* Changes the bound, CACHE_MAX. For tests. */
void cache_bound(struct cache *cache, uint64_t most);

/*
 * The entry of this name. A name has letters, digits, '-' and '.', and does not begin with '.'. The bytes are valid
 * until the next cache_put() of that name.
 */
bool cache_get(struct cache *cache, const char *name, const uint8_t **ret, size_t *size);

/* Stores a copy. 0 if it is stored at least in memory; -ENOMEM; -E2BIG: too large; -EINVAL: a bad name. */
int cache_put(struct cache *cache, const char *name, const void *bytes, size_t size);

/*
 * Who computes entries that are not there. CACHE_ELSEWHERE: a process that is not trusted. Then who looks for an entry
 * calls cache_want() and does without it for now. The process has a cache of its own, with CACHE_FOR_OTHERS, and tells
 * all that is in it. An answer may give the entry that was wanted, and no other one; and only if its first 8 bytes are
 * the digest that was wanted with it. So it can lie about the file that it was asked about, and about nothing else.
 */
enum cache_way { CACHE_HERE, CACHE_ELSEWHERE, CACHE_FOR_OTHERS };
void cache_set_way(struct cache *cache, enum cache_way way); /* `cache` may be NULL, here and below */
enum cache_way cache_way(const struct cache *cache);

/*
 * An entry is wanted, the one wanted before is not any more. `digest` 0: its content cannot be tied to a file, so it is
 * in the cache until the next cache_want(). `name` NULL: nothing is wanted.
 */
void cache_want(struct cache *cache, const char *name, uint64_t digest);
bool cache_wants(const struct cache *cache);

/* Takes the entry that is wanted from an answer. 0; -ENOENT: it has none; -EBADMSG: it is damaged; or -ENOMEM. */
int cache_read(struct cache *cache, const void *bytes, size_t size);

/* Writes an answer: all entries in memory. *ret is malloc'd. 0 or -ENOMEM. */
int cache_write(const struct cache *cache, uint8_t **ret, size_t *size);

/*
 * The default directory of a program's cache, malloc'd: $XDG_CACHE_HOME/NAME, or /var/cache/NAME for root, or
 * $HOME/.cache/NAME; the first whose parent belongs to this user. NULL: there is none.
 */
char *cache_default_directory(const char *name);

/* Checks the file of an entry, and gives its content; false if it cannot be trusted. For tests and fuzzing. */
bool cache_entry_parse(const void *bytes, size_t size, const char *name, uint64_t version, const uint8_t **ret,
		       size_t *ret_size);

#endif

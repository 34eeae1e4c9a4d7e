// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An entry's file, in the machine's byte order:
 *
 *   "strataC1" · version u64 · checksum u64 · size of the name u32 · size of the content u32 · name · content
 *
 * The checksum is XXH3 of all that follows it, with the version as the seed.
 *
 * An answer (cache_write()) has for each entry:
 *
 *   size of the name u32 · size of the content u32 · name · content
 */
#include "base/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/cursor.h"
#include "base/table.h"
#include "base/vec.h"

#define MAGIC            "strataC1"
#define MAGIC_SIZE       8
#define CHECKED_FROM     (MAGIC_SIZE + 16) /* what the checksum is of */
#define HEADER_SIZE      (CHECKED_FROM + 8)
#define DISK_BLOCK       4096u /* what a file takes at least */
#define LEFT_AFTER_S     3600  /* so long no writer takes */
#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

/* An entry as its file has it; where the content lies in it. */
struct entry {
	struct entry *next; /* of the same hash */
	const uint8_t *content;
	size_t content_size, size;
	char name[CACHE_NAME_MAX + 1];
	uint8_t bytes[];
};

struct cache {
	char *directory; /* NULL: none, or not usable */
	uint64_t version;
	struct table entries; /* hash of the name -> struct entry */
	uint64_t most, held;  /* bytes that the directory may hold, and does, as far as is known */
	bool measured;        /* that is known */
	enum cache_way way;
	char wanted[CACHE_NAME_MAX + 1]; /* "": nothing */
	uint64_t wanted_digest;
	struct entry *passing; /* what was wanted without a digest; or NULL */
};

struct cache *cache_create(const char *directory, uint64_t version)
{
	struct cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	cache->version = version;
	cache->most = CACHE_MAX;
	cache->directory = directory ? strdup(directory) : NULL;
	return cache;
}

void cache_destroy(struct cache *cache)
{
	struct table_slot *slot;
	struct entry *entry, *next;
	size_t at = 0;

	if (!cache)
		return;
	while ((slot = table_next(&cache->entries, &at)))
		for (entry = (struct entry *)(uintptr_t)slot->value; entry; entry = next) {
			next = entry->next;
			free(entry);
		}
	table_deinit(&cache->entries);
	free(cache->passing);
	free(cache->directory);
	free(cache);
}

void cache_bound(struct cache *cache, uint64_t most)
{
	cache->most = most;
}

static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.";
	size_t size = strlen(name);

	return size && size <= CACHE_NAME_MAX && *name != '.' && strspn(name, allowed) == size;
}

static uint64_t key_of(const char *name)
{
	uint64_t hash = XXH3_64bits(name, strlen(name));

	return hash ? hash : 1;
}

static struct entry *find(const struct cache *cache, const char *name)
{
	struct entry *entry;
	uint64_t value;

	if (cache->passing && !strcmp(cache->passing->name, name))
		return cache->passing;
	if (!table_get(&cache->entries, key_of(name), &value))
		return NULL;
	for (entry = (struct entry *)(uintptr_t)value; entry && strcmp(entry->name, name); entry = entry->next)
		;
	return entry;
}

bool cache_entry_parse(const void *bytes, size_t size, const char *name, uint64_t version, const uint8_t **ret,
		       size_t *ret_size)
{
	struct cursor c = cursor_init(bytes, size);
	const uint8_t *magic = cursor_take(&c, MAGIC_SIZE), *entry_name, *content;
	uint64_t entry_version = cursor_u64(&c), checksum = cursor_u64(&c);
	uint32_t name_size = cursor_u32(&c), content_size = cursor_u32(&c);

	entry_name = cursor_take(&c, name_size);
	content = cursor_take(&c, content_size);
	if (!cursor_ok(&c) || !cursor_at_end(&c) || memcmp(magic, MAGIC, MAGIC_SIZE) || entry_version != version ||
	    name_size != strlen(name) || memcmp(entry_name, name, name_size))
		return false;
	if (XXH3_64bits_withSeed((const uint8_t *)bytes + CHECKED_FROM, size - CHECKED_FROM, version) != checksum)
		return false;
	*ret = content;
	*ret_size = content_size;
	return true;
}

/* Whether nobody but this user can have written a file or directory. */
static bool is_own(int fd, mode_t type)
{
	struct stat status;

	return !fstat(fd, &status) && (status.st_mode & S_IFMT) == type && status.st_uid == geteuid() &&
	       !(status.st_mode & OTHERS_MAY_WRITE);
}

static int open_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && !is_own(fd, S_IFDIR)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int make_directory(const char *path)
{
	char *parent, *slash;
	int fd = open_directory(path);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	parent = strdup(path);
	slash = parent ? strrchr(parent, '/') : NULL;
	if (slash && slash > parent) {
		*slash = '\0';
		mkdir(parent, 0700);
	}
	free(parent);
	return mkdir(path, 0700) && errno != EEXIST ? -1 : open_directory(path);
}

static bool read_all(int fd, uint8_t *bytes, size_t size)
{
	ssize_t got;

	for (; size; bytes += got, size -= (size_t)got) {
		got = read(fd, bytes, size);
		if (got <= 0)
			return false;
	}
	return true;
}

static struct entry *entry_new(const char *name, size_t size)
{
	struct entry *entry = malloc(sizeof(*entry) + size);

	if (!entry)
		return NULL;
	*entry = (struct entry){.size = size};
	strcpy(entry->name, name);
	return entry;
}

/* Reads an entry's file, if it is to be believed. */
static struct entry *read_entry(const struct cache *cache, int fd, const char *name)
{
	struct entry *entry;
	struct stat status;

	if (!is_own(fd, S_IFREG) || fstat(fd, &status) || status.st_size < HEADER_SIZE ||
	    status.st_size > HEADER_SIZE + CACHE_NAME_MAX + CACHE_ENTRY_MAX)
		return NULL;
	entry = entry_new(name, (size_t)status.st_size);
	if (entry && read_all(fd, entry->bytes, entry->size) &&
	    cache_entry_parse(entry->bytes, entry->size, name, cache->version, &entry->content, &entry->content_size))
		return entry;
	free(entry);
	return NULL;
}

static struct entry *load(const struct cache *cache, const char *name)
{
	int directory = cache->directory ? open_directory(cache->directory) : -1, fd;
	struct entry *entry = NULL;

	if (directory < 0)
		return NULL;
	/* A FIFO must not block, a terminal not become ours. */
	fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0) {
		entry = read_entry(cache, fd, name);
		close(fd);
	}
	close(directory);
	return entry;
}

/* Keeps an entry in memory, instead of an older one of its name. */
static int keep(struct cache *cache, struct entry *entry)
{
	uint64_t key = key_of(entry->name), value = 0;
	struct entry **at, *first;

	table_get(&cache->entries, key, &value);
	first = (struct entry *)(uintptr_t)value;
	for (at = &first; *at; at = &(*at)->next) {
		if (strcmp((*at)->name, entry->name))
			continue;
		entry->next = (*at)->next;
		free(*at);
		*at = entry;
		return table_set(&cache->entries, key, (uintptr_t)first);
	}
	entry->next = first;
	return table_set(&cache->entries, key, (uintptr_t)entry);
}

bool cache_get(struct cache *cache, const char *name, const uint8_t **ret, size_t *size)
{
	struct entry *entry = is_name(name) ? find(cache, name) : NULL;

	if (!entry && is_name(name)) {
		entry = load(cache, name);
		if (entry && keep(cache, entry)) {
			free(entry);
			entry = NULL;
		}
	}
	if (!entry)
		return false;
	*ret = entry->content;
	*size = entry->content_size;
	return true;
}

static bool write_all(int fd, const uint8_t *bytes, size_t size)
{
	ssize_t put;

	for (; size; bytes += put, size -= (size_t)put) {
		put = write(fd, bytes, size);
		if (put <= 0)
			return false;
	}
	return true;
}

/* An entry's file, when the directory is measured. */
struct kept {
	struct timespec written;
	uint64_t bytes;
	char name[CACHE_NAME_MAX + 1];
};

typedef VEC(struct kept) kept_files;

/* The oldest first. */
static int by_time(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->written.tv_sec != y->written.tv_sec)
		return x->written.tv_sec < y->written.tv_sec ? -1 : 1;
	return (x->written.tv_nsec > y->written.tv_nsec) - (x->written.tv_nsec < y->written.tv_nsec);
}

/* What a file takes on disk. */
static uint64_t bytes_on_disk(uint64_t size)
{
	return (size + DISK_BLOCK - 1) / DISK_BLOCK * DISK_BLOCK;
}

/* All that lies in the directory; what a writer left that did not come to its end is removed. 0 or -ENOMEM. */
static int list(int directory, kept_files *ret)
{
	int own = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;
	DIR *dir = own < 0 ? NULL : fdopendir(own);
	time_t now = time(NULL);
	struct dirent *entry;
	struct stat status;

	if (!dir && own >= 0)
		close(own);
	while (dir && !err && (entry = readdir(dir))) {
		struct kept kept = {};

		if (fstatat(directory, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISREG(status.st_mode))
			continue;
		if (*entry->d_name == '.' && now > status.st_mtim.tv_sec + LEFT_AFTER_S)
			unlinkat(directory, entry->d_name, 0);
		if (!is_name(entry->d_name))
			continue;
		kept.written = status.st_mtim;
		kept.bytes = bytes_on_disk((uint64_t)status.st_size);
		strcpy(kept.name, entry->d_name);
		err = vec_push(ret, kept);
	}
	if (dir)
		closedir(dir);
	return err;
}

/* Keeps the directory within its bound after `added` bytes; some room is made at once, so that it is not always full.
 */
static void keep_bound(struct cache *cache, int directory, uint64_t added)
{
	kept_files files = {};
	size_t i;

	cache->held += bytes_on_disk(added);
	if (cache->measured && cache->held <= cache->most)
		return;
	cache->measured = !list(directory, &files);
	cache->held = 0;
	for (i = 0; i < files.count; i++)
		cache->held += files.at[i].bytes;
	if (cache->held > cache->most) {
		qsort(files.at, files.count, sizeof(*files.at), by_time);
		for (i = 0; i < files.count && cache->held > cache->most / 4 * 3; i++)
			if (!unlinkat(directory, files.at[i].name, 0))
				cache->held -= files.at[i].bytes;
	}
	vec_free(&files);
}

/* A reader needs no fsync(): an entry that a crash left half written has a wrong checksum. */
static void store(struct cache *cache, const struct entry *entry)
{
	int directory = make_directory(cache->directory), fd;
	char temporary[32];
	uint64_t random;

	if (directory < 0)
		return;
	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (uint64_t)getpid();
	snprintf(temporary, sizeof(temporary), ".%016llx", (unsigned long long)random);
	fd = openat(directory, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd >= 0) {
		bool whole = write_all(fd, entry->bytes, entry->size);

		if (close(fd) || !whole || renameat(directory, temporary, directory, entry->name))
			unlinkat(directory, temporary, 0);
		keep_bound(cache, directory, entry->size);
	}
	close(directory);
}

static void fill(struct entry *entry, uint64_t version, const void *bytes, size_t size)
{
	uint32_t name_size = (uint32_t)strlen(entry->name), content_size = (uint32_t)size;
	uint8_t *at = entry->bytes + CHECKED_FROM;
	uint64_t checksum;

	memcpy(at, &name_size, 4);
	memcpy(at + 4, &content_size, 4);
	memcpy(at + 8, entry->name, name_size);
	entry->content = at + 8 + name_size;
	entry->content_size = size;
	if (size)
		memcpy(at + 8 + name_size, bytes, size);
	checksum = XXH3_64bits_withSeed(at, entry->size - CHECKED_FROM, version);
	memcpy(entry->bytes, MAGIC, MAGIC_SIZE);
	memcpy(entry->bytes + MAGIC_SIZE, &version, 8);
	memcpy(entry->bytes + MAGIC_SIZE + 8, &checksum, 8);
}

static int make_entry(const struct cache *cache, const char *name, const void *bytes, size_t size, struct entry **ret)
{
	struct entry *entry;

	if (!is_name(name))
		return -EINVAL;
	if (size > CACHE_ENTRY_MAX)
		return -E2BIG;
	entry = entry_new(name, HEADER_SIZE + strlen(name) + size);
	if (!entry)
		return -ENOMEM;
	fill(entry, cache->version, bytes, size);
	*ret = entry;
	return 0;
}

int cache_put(struct cache *cache, const char *name, const void *bytes, size_t size)
{
	struct entry *entry;
	int err = make_entry(cache, name, bytes, size, &entry);

	if (err)
		return err;
	err = keep(cache, entry);
	if (err) {
		free(entry);
		return err;
	}
	if (cache->directory)
		store(cache, entry);
	return 0;
}

void cache_set_way(struct cache *cache, enum cache_way way)
{
	if (cache)
		cache->way = way;
}

enum cache_way cache_way(const struct cache *cache)
{
	return cache ? cache->way : CACHE_HERE;
}

void cache_want(struct cache *cache, const char *name, uint64_t digest)
{
	if (!cache)
		return;
	free(cache->passing);
	cache->passing = NULL;
	cache->wanted_digest = digest;
	snprintf(cache->wanted, sizeof(cache->wanted), "%s", name && is_name(name) ? name : "");
}

bool cache_wants(const struct cache *cache)
{
	return cache && *cache->wanted;
}

/* The content of what is wanted, whoever wrote it. */
static int take_wanted(struct cache *cache, const uint8_t *content, uint32_t size)
{
	uint64_t digest;
	int err;

	if (size < sizeof(digest))
		return -EBADMSG;
	memcpy(&digest, content, sizeof(digest));
	if (digest != cache->wanted_digest)
		return -ENOENT;
	if (digest)
		err = cache_put(cache, cache->wanted, content, size);
	else
		err = make_entry(cache, cache->wanted, content, size, &cache->passing);
	if (!err)
		*cache->wanted = '\0';
	return err && err != -ENOMEM ? -EBADMSG : err;
}

int cache_read(struct cache *cache, const void *bytes, size_t size)
{
	struct cursor c = cursor_init(bytes, size);

	while (cache_wants(cache) && !cursor_at_end(&c)) {
		uint32_t name_size = cursor_u32(&c), content_size = cursor_u32(&c);
		const uint8_t *name = cursor_take(&c, name_size), *content = cursor_take(&c, content_size);

		if (!cursor_ok(&c))
			return -EBADMSG;
		if (name_size == strlen(cache->wanted) && !memcmp(name, cache->wanted, name_size))
			return take_wanted(cache, content, content_size);
	}
	return -ENOENT;
}

static void write_entry(const struct entry *entry, uint8_t **at)
{
	const uint32_t sizes[2] = {(uint32_t)strlen(entry->name), (uint32_t)entry->content_size};

	memcpy(*at, sizes, sizeof(sizes));
	memcpy(*at + sizeof(sizes), entry->name, sizes[0]);
	memcpy(*at + sizeof(sizes) + sizes[0], entry->content, sizes[1]);
	*at += sizeof(sizes) + sizes[0] + sizes[1];
}

int cache_write(const struct cache *cache, uint8_t **ret, size_t *size)
{
	const struct entry *entry;
	struct table_slot *slot;
	uint8_t *bytes, *end;
	size_t at = 0, all = 0;

	while ((slot = table_next(&cache->entries, &at)))
		for (entry = (struct entry *)(uintptr_t)slot->value; entry; entry = entry->next)
			all += 2 * sizeof(uint32_t) + strlen(entry->name) + entry->content_size;
	bytes = end = malloc(all + 1);
	if (!bytes)
		return -ENOMEM;
	at = 0;
	while ((slot = table_next(&cache->entries, &at)))
		for (entry = (struct entry *)(uintptr_t)slot->value; entry; entry = entry->next)
			write_entry(entry, &end);
	*ret = bytes;
	*size = all;
	return 0;
}

/* Whether a directory, or where it is still to be made the one above, belongs to this user. */
static bool is_for_us(const char *path)
{
	struct stat status;
	char *parent, *slash;
	bool own;

	if (!stat(path, &status))
		return status.st_uid == geteuid();
	parent = strdup(path);
	slash = parent ? strrchr(parent, '/') : NULL;
	if (slash && slash > parent)
		*slash = '\0';
	own = slash && !stat(parent, &status) && status.st_uid == geteuid();
	free(parent);
	return own;
}

/* Makes "ABOVE BELOW/NAME" if ABOVE is an absolute path whose directory is ours. */
static char *directory_in(const char *above, const char *below, const char *name)
{
	char *path = NULL, *whole = NULL;

	if (!above || *above != '/' || asprintf(&path, "%s%s", above, below) < 0)
		return NULL;
	if (is_for_us(path) && asprintf(&whole, "%s/%s", path, name) < 0)
		whole = NULL;
	free(path);
	return whole;
}

char *cache_default_directory(const char *name)
{
	char *path = directory_in(getenv("XDG_CACHE_HOME"), "", name);

	if (!path && !geteuid())
		return directory_in("/var/cache", "", name);
	return path ? path : directory_in(getenv("HOME"), "/.cache", name);
}

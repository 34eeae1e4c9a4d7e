// SPDX-License-Identifier: GPL-2.0-or-later
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cache.h"
#include "tap.h"

#define VERSION 7
#define NAME    "00ff.eval"

static char top[] = "/tmp/strata-cache-XXXXXX";
static char directory[64], file[80];

static bool put(uint64_t version, const char *text)
{
	struct cache *cache = cache_create(directory, version);
	bool done = !cache_put(cache, NAME, text, strlen(text) + 1);

	cache_destroy(cache);
	return done;
}

/* Whether a new process would find one of two texts: it looks once. */
static bool finds_either(uint64_t version, const char *text, const char *other)
{
	struct cache *cache = cache_create(directory, version);
	const uint8_t *bytes;
	size_t size;
	bool found = cache_get(cache, NAME, &bytes, &size);

	if (found)
		found = (size == strlen(text) + 1 && !memcmp(bytes, text, size)) ||
			(size == strlen(other) + 1 && !memcmp(bytes, other, size));
	cache_destroy(cache);
	return found;
}

static bool finds(uint64_t version, const char *text)
{
	return finds_either(version, text, text);
}

static size_t read_file(uint8_t *bytes, size_t size)
{
	FILE *in = fopen(file, "rb");
	size_t got = in ? fread(bytes, 1, size, in) : 0;

	if (in)
		fclose(in);
	return got;
}

static void write_file(const uint8_t *bytes, size_t size)
{
	FILE *out = fopen(file, "wb");

	if (!out || fwrite(bytes, 1, size, out) != size || fclose(out))
		abort();
}

static void test_memory(void)
{
	struct cache *cache = cache_create(NULL, VERSION);
	char name[CACHE_NAME_MAX + 2];
	const uint8_t *bytes;
	size_t size;

	ok(!cache_get(cache, NAME, &bytes, &size), "empty");
	is_int(cache_put(cache, NAME, "one", 4), 0, "in memory only");
	ok(cache_get(cache, NAME, &bytes, &size) && size == 4 && !memcmp(bytes, "one", 4), "and there it is");
	is_int(cache_put(cache, NAME, "other", 6), 0, "again");
	ok(cache_get(cache, NAME, &bytes, &size) && size == 6 && !memcmp(bytes, "other", 6), "the newer one");
	is_int(cache_put(cache, "x", NULL, 0), 0, "nothing");
	ok(cache_get(cache, "x", &bytes, &size) && !size, "can be kept");
	is_int(cache_put(cache, "../x", "", 1), -EINVAL, "a name that leads out");
	is_int(cache_put(cache, "a/b", "", 1), -EINVAL, "a path");
	is_int(cache_put(cache, ".hidden", "", 1), -EINVAL, "a temporary's name");
	is_int(cache_put(cache, "", "", 1), -EINVAL, "no name");
	memset(name, 'a', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	is_int(cache_put(cache, name, "", 1), -EINVAL, "a name that is too long");
	ok(!cache_get(cache, "../x", &bytes, &size), "is not looked for");
	is_int(cache_put(cache, NAME, name, CACHE_ENTRY_MAX + 1), -E2BIG, "too much");
	cache_destroy(cache);
	cache_destroy(NULL);
}

static void test_disk(void)
{
	struct stat status;

	ok(!finds(VERSION, "text"), "nothing on disk yet");
	ok(access(directory, F_OK), "looking makes no directory");
	ok(put(VERSION, "text"), "written");
	ok(!stat(directory, &status) && (status.st_mode & 0777) == 0700, "a directory of one's own");
	ok(finds(VERSION, "text"), "found by the next process");
	ok(!finds(VERSION + 1, "text"), "another analyser's answer is ignored");
	ok(put(VERSION + 1, "newer") && finds(VERSION + 1, "newer"), "and replaced");
	ok(put(VERSION, "text") && finds(VERSION, "text"), "and back");
}

static void test_malformed(void)
{
	uint8_t bytes[256], copy[256];
	size_t size = read_file(bytes, sizeof(bytes)), i, believed = 0;
	const uint8_t *content;
	size_t content_size;

	ok(cache_entry_parse(bytes, size, NAME, VERSION, &content, &content_size), "the file parses");
	ok(!cache_entry_parse(bytes, size, "other", VERSION, &content, &content_size),
	   "under another name it does not");
	for (i = 0; i < size; i++) {
		write_file(bytes, i);
		believed += finds(VERSION, "text");
	}
	is_int(believed, 0, "cut off anywhere");
	for (i = 0; i < size; i++) {
		memcpy(copy, bytes, size);
		copy[i] ^= 1 << (i % 8);
		write_file(copy, size);
		believed += finds(VERSION, "text");
	}
	is_int(believed, 0, "a bit changed anywhere");
	memcpy(copy, bytes, size);
	copy[size] = 0;
	write_file(copy, size + 1);
	ok(!finds(VERSION, "text"), "a byte too many");
	write_file(bytes, 0);
	ok(!finds(VERSION, "text"), "an empty file");
	ok(put(VERSION, "text") && finds(VERSION, "text"), "is replaced");
	truncate(file, 1ll << 40);
	ok(!finds(VERSION, "text"), "a terabyte");
	unlink(file);
	ok(put(VERSION, "text"), "written again");
}

static void test_foreign(void)
{
	char other[80];

	snprintf(other, sizeof(other), "%s/elsewhere", directory);
	chmod(file, 0620);
	ok(!finds(VERSION, "text"), "writable by the group");
	chmod(file, 0602);
	ok(!finds(VERSION, "text"), "writable by all");
	chmod(file, 0644);
	ok(finds(VERSION, "text"), "readable by all");
	rename(file, other);
	ok(!symlink("elsewhere", file) && !finds(VERSION, "text"), "a symbolic link");
	ok(put(VERSION, "text") && finds(VERSION, "text"), "is replaced, not followed");
	unlink(other);
	unlink(file);
	ok(!mkfifo(file, 0600) && !finds(VERSION, "text"), "a FIFO does not block");
	unlink(file);
	ok(!mkdir(file, 0700) && !finds(VERSION, "text") && put(VERSION, "text"), "a directory of that name");
	rmdir(file);
	put(VERSION, "text");
	chmod(directory, 0777);
	ok(!finds(VERSION, "text"), "in a directory that all can write to");
	unlink(file);
	ok(put(VERSION, "text") && access(file, F_OK), "nothing is written there");
	chmod(directory, 0500);
	if (geteuid()) {
		ok(put(VERSION, "text") && access(file, F_OK), "a directory that cannot be written to is no error");
		chmod(directory, 0700);
		put(VERSION, "text");
		return;
	}
	chmod(directory, 0700);
	put(VERSION, "text");
	ok(!chown(file, 65534, 65534) && !finds(VERSION, "text"), "of another user");
	ok(put(VERSION, "text") && finds(VERSION, "text"), "is replaced");
	ok(!chown(directory, 65534, 65534) && !finds(VERSION, "text"), "in a directory of another user's");
	ok(!chown(directory, 0, 0) && finds(VERSION, "text"), "and one's own again");
}

/* Eight processes write and read one entry at a time: nobody may see half of one. */
static void test_concurrent(void)
{
	char text[2][20000] = {};
	int i, j, status, failed = 0;

	memset(text[0], 'a', sizeof(text[0]) - 1);
	memset(text[1], 'b', sizeof(text[1]) / 2);
	put(VERSION, text[0]);
	for (i = 0; i < 8; i++) {
		if (fork())
			continue;
		for (j = 0; j < 100; j++)
			if (!put(VERSION, text[i & 1]) || !finds_either(VERSION, text[0], text[1]))
				_exit(1);
		_exit(0);
	}
	while (wait(&status) > 0)
		failed += status != 0;
	is_int(failed, 0, "eight writers at once");
	unlink(file);
	is_int(rmdir(directory), 0, "leave nothing behind");
}

static bool there(unsigned int i)
{
	char path[100];

	snprintf(path, sizeof(path), "%s/entry-%u", directory, i);
	return !access(path, F_OK);
}

/* Entries of 5,000 bytes, which take 8 KiB; room for 16. */
static void test_bounded(void)
{
	enum { ENTRIES = 40, ROOM = 16 };
	char text[5000] = {}, name[32], left[80];
	struct cache *cache = cache_create(directory, VERSION), *other = cache_create(directory, VERSION);
	struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	unsigned int i, count, most = 0;
	const uint8_t *content;
	size_t size;

	cache_bound(cache, ROOM * 8192);
	cache_bound(other, ROOM * 8192);
	snprintf(left, sizeof(left), "%s/.left", directory);
	for (i = 0; i < ENTRIES; i++) {
		struct timespec times[2] = {{.tv_sec = 10000 + i}, {.tv_sec = 10000 + i}};
		char path[100];
		unsigned int k;

		snprintf(name, sizeof(name), "entry-%u", i);
		cache_put(i % 2 ? cache : other, name, text, sizeof(text));
		snprintf(path, sizeof(path), "%s/%s", directory, name);
		utimensat(AT_FDCWD, path, times, 0);
		for (k = count = 0; k <= i; k++)
			count += there(k);
		most = count > most ? count : most;
		if (i == ENTRIES / 2) {
			close(open(left, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
			utimensat(AT_FDCWD, left, old, 0);
		}
	}
	/* Each of the two writers knows of the other's when it looks again. */
	ok(most >= ROOM / 4 * 3 && most <= 2 * ROOM, "two writers keep to their bound: %u entries at most", most);
	ok(there(ENTRIES - 1) && !there(0), "the oldest go");
	ok(access(left, F_OK), "and what a writer left that was ended");
	ok(cache_get(cache, "entry-39", &content, &size) && size == sizeof(text), "what was written last is found");
	ok(cache_get(cache, "entry-1", &content, &size), "what went is still in its writer's memory");
	cache_destroy(cache);
	cache_destroy(other);
	for (i = 0; i < ENTRIES; i++) {
		char path[100];

		snprintf(path, sizeof(path), "%s/entry-%u", directory, i);
		unlink(path);
	}
	is_int(rmdir(directory), 0, "nothing else is there");
}

static void test_default(void)
{
	char home[96], *path;

	snprintf(home, sizeof(home), "%s/home", top);
	mkdir(home, 0700);
	setenv("HOME", home, 1);
	setenv("XDG_CACHE_HOME", top, 1);
	path = cache_default_directory("strata");
	is_str(path, directory, "$XDG_CACHE_HOME");
	free(path);
	setenv("XDG_CACHE_HOME", "relative", 1);
	path = cache_default_directory("strata");
	ok(path && *path == '/', "a relative one is not used: %s", path);
	free(path);
	if (!geteuid()) {
		chown(top, 65534, 65534);
		setenv("XDG_CACHE_HOME", top, 1);
		path = cache_default_directory("strata");
		is_str(path, "/var/cache/strata", "nor one of another user's");
		free(path);
	}
	rmdir(home);
}

/* What a process that looked for entries tells: `content` under a name, and others around it. */
static size_t answer(const char *name, const char *content, size_t content_size, uint8_t **ret)
{
	struct cache *cache = cache_create(NULL, 0);
	size_t size = 0;

	cache_set_way(cache, CACHE_FOR_OTHERS);
	cache_put(cache, "other.eval", "digest!!other", 13);
	cache_put(cache, name, content, content_size);
	cache_put(cache, "another.keys", "digest!!x", 9);
	if (cache_write(cache, ret, &size))
		size = 0;
	cache_destroy(cache);
	return size;
}

/* What comes of it when `wanted` is; the answer cut to `cut` bytes if that is less. */
static int reads(struct cache *cache, const char *wanted, uint64_t digest, const char *name, const char *content,
		 size_t cut)
{
	uint8_t *bytes = NULL, *some;
	size_t size = answer(name, content, strlen(content), &bytes);
	int err;

	size = size < cut ? size : cut;
	some = malloc(size + 1); /* of its size: who reads beyond it is caught */
	memcpy(some, bytes, size);
	cache_want(cache, wanted, digest);
	err = cache_read(cache, some, size);
	free(some);
	free(bytes);
	return err;
}

static bool has(struct cache *cache, const char *name, const char *content)
{
	const uint8_t *bytes;
	size_t size;

	return cache_get(cache, name, &bytes, &size) && size == strlen(content) && !memcmp(bytes, content, size);
}

static void test_wanted(void)
{
	struct cache *cache = cache_create(directory, VERSION), *later;
	uint64_t digest, another;
	const uint8_t *bytes;
	size_t size, i, taken = 0;

	memcpy(&digest, "digest!!", 8);
	another = digest + 1;
	is_int(cache_way(cache), CACHE_HERE, "entries are computed here");
	cache_set_way(cache, CACHE_ELSEWHERE);
	is_int(cache_way(cache), CACHE_ELSEWHERE, "or by another process");
	ok(!cache_wants(cache), "nothing is wanted");
	is_int(reads(cache, NULL, digest, NAME, "digest!!loop", SIZE_MAX), -ENOENT, "then nothing is taken");
	is_int(reads(cache, NAME, digest, NAME, "digest!!loop", SIZE_MAX), 0, "what is wanted is taken");
	ok(has(cache, NAME, "digest!!loop") && !cache_wants(cache), "as it is");
	ok(!cache_get(cache, "other.eval", &bytes, &size) && !cache_get(cache, "another.keys", &bytes, &size),
	   "and nothing that was told beside");
	later = cache_create(directory, VERSION);
	ok(has(later, NAME, "digest!!loop"), "it is kept");
	cache_destroy(later);
	is_int(reads(cache, NAME, another, NAME, "digest!!lie", SIZE_MAX), -ENOENT, "an entry for another digest");
	ok(has(cache, NAME, "digest!!loop") && cache_wants(cache), "is not taken");
	is_int(reads(cache, "b.eval", digest, NAME, "digest!!lie", SIZE_MAX), -ENOENT, "nor is one of another name");
	ok(has(cache, NAME, "digest!!loop"), "even if it is for the right file");
	is_int(reads(cache, "b.eval", digest, "b.eval", "digest", SIZE_MAX), -EBADMSG,
	       "nor one too short for a digest");
	for (i = 0; i < 200; i++)
		taken += !reads(cache, "b.eval", digest, "b.eval", "digest!!b", i);
	ok(taken && taken < 200, "an answer may be cut behind what is wanted, not before: %zu", taken);
	is_int(reads(cache, "c.eval", 0, "c.eval", "\0\0\0\0\0\0\0\0", SIZE_MAX), -EBADMSG, "without its digest");
	cache_want(cache, "c.eval", 0);
	is_int(cache_read(cache, "\6\0\0\0\12\0\0\0c.eval\0\0\0\0\0\0\0\0zz", 24), 0,
	       "of a file without a digest");
	ok(cache_get(cache, "c.eval", &bytes, &size) && size == 10, "it is there");
	later = cache_create(directory, VERSION);
	ok(!cache_get(later, "c.eval", &bytes, &size), "but not kept");
	cache_destroy(later);
	cache_want(cache, NULL, 0);
	ok(!cache_get(cache, "c.eval", &bytes, &size), "and gone with the next question");
	is_int(cache_read(cache, NULL, 0), -ENOENT, "no answer");
	cache_want(NULL, NAME, digest);
	ok(!cache_wants(NULL) && cache_way(NULL) == CACHE_HERE, "no cache");
	cache_destroy(cache);
	unlink(file);
}

/* Removes the directory. */
static void clear(void)
{
	DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
	rmdir(directory);
}

int main(void)
{
	if (!mkdtemp(top))
		return 1;
	snprintf(directory, sizeof(directory), "%s/strata", top);
	snprintf(file, sizeof(file), "%s/%s", directory, NAME);
	test_memory();
	test_disk();
	test_malformed();
	test_foreign();
	test_concurrent();
	test_bounded();
	test_wanted();
	test_default();
	clear();
	rmdir(top);
	return tap_done();
}

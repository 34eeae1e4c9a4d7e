// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What another process finds in the machine code of Debian's Python: asked for once, and used only if it is of this
 * file.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "engine/objects.h"
#include "tap.h"

#define PYTHON "/usr/bin/python3.11"

static char home[] = "/tmp/strata-finder-XXXXXX";

/* A finder, and what it does. */
struct finder {
	int err;   /* 0: it finds */
	bool lies; /* as of another file */
	struct foreign_file *read; /* instead of the object's file; NULL: a snapshot of that */
	unsigned int asked[RUNTIME_AID + 1];
};

static int find(void *context, struct object *object, const struct process *process, enum runtime_question question,
		struct analysis *ret)
{
	struct finder *finder = context;
	struct cache *cache;
	struct elf_file *elf;
	uint8_t *at;
	int err;

	(void)process;
	finder->asked[question]++;
	if (finder->err)
		return finder->err;
	cache = cache_create(NULL, 0);
	cache_set_way(cache, CACHE_FOR_OTHERS);
	ret->snapshot = finder->read ? foreign_share(finder->read) : foreign_snapshot(object->content);
	if (!ret->snapshot || elf_file_open_foreign(ret->snapshot, PYTHON, &elf, NULL))
		return -ENOMEM;
	runtime_answer(elf, question, cache);
	err = cache_write(cache, &ret->bytes, &ret->size);
	elf_file_close(elf);
	cache_destroy(cache);
	for (at = ret->bytes; !err && finder->lies && at < ret->bytes + ret->size; at++)
		*at ^= at >= ret->bytes + 8 + 48; /* behind the name of the first entry */
	return err;
}

/* What is known of it. */
struct known {
	bool is_python, has_way, has_loop;
	char problem[256];
};

static struct known look(struct finder *finder)
{
	struct objects *objects = objects_create(NULL);
	struct stat status = {};
	struct known known = {};
	struct object *object;
	int fd = open(PYTHON, O_RDONLY | O_CLOEXEC);

	fstat(fd, &status);
	close(fd);
	struct mapped_file file = {.kind = FILE_REGULAR,
				   .device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev),
				   .inode = status.st_ino,
				   .pid = getpid(),
				   .path = (char *)PYTHON};
	const struct process lives = {.pid = getpid(), .ended = UINT64_MAX};

	if (finder)
		objects_set_finder(objects, &(struct object_finder){find, finder});
	object = objects_get(objects, &file, &lives, NULL);
	known.is_python = object && object_is_walked(object);
	known.has_way = known.is_python && object->runtime.needs_aid; /* 3.11 has a pthread key */
	if (known.is_python && !object_find_roles(object))
		known.has_loop = object->role_count;
	if (object && object->problem)
		snprintf(known.problem, sizeof(known.problem), "%s", object->problem);
	objects_destroy(objects);
	return known;
}

/* The same interpreter with one byte of its data changed, so that it has another digest. */
static struct foreign_file *changed_copy(void)
{
	struct foreign_file *file = foreign_wrap(open(PYTHON, O_RDONLY | O_CLOEXEC)), *copy = foreign_snapshot(file);
	const struct elf_segment *segments;
	struct elf_file *elf;
	uint64_t at = 0;
	size_t count, i;
	uint8_t byte;
	int fd;

	elf_file_open_foreign(copy, PYTHON, &elf, NULL);
	segments = elf_file_segments(elf, &count);
	for (i = 0; i < count; i++)
		at = segments[i].offset + segments[i].filesz - 1;
	elf_file_close(elf);
	fd = foreign_borrow(copy);
	if (pread(fd, &byte, 1, (off_t)at) != 1)
		exit(1);
	byte ^= 1;
	if (pwrite(fd, &byte, 1, (off_t)at) != 1)
		exit(1);
	foreign_close(file);
	return copy;
}

static void clear(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s/*", home);
	if (system(command))
		exit(1);
}

int main(void)
{
	struct finder finder = {};
	struct known known;

	if (access(PYTHON, R_OK)) {
		ok(true, "# SKIP there is no " PYTHON);
		return tap_done();
	}
	if (!mkdtemp(home))
		return 1;
	setenv("XDG_CACHE_HOME", home, 1);

	finder = (struct finder){.err = -ETIME};
	known = look(&finder);
	ok(known.is_python && !known.has_way && !known.has_loop, "nobody finds it: a Python, and no more is known");
	ok(finder.asked[RUNTIME_RECOGNISE] == 1 && finder.asked[RUNTIME_ROLES] == 1, "each was asked for once");
	ok(strstr(known.problem, "loop"), "which is said: %s", known.problem);

	finder = (struct finder){.lies = true};
	known = look(&finder);
	ok(known.is_python && !known.has_way && !known.has_loop, "it is of another file: the same");
	finder = (struct finder){.err = -EBADMSG};
	known = look(&finder);
	ok(finder.asked[RUNTIME_RECOGNISE] && !known.has_way, "and it was not kept");

	/* Its content is exchanged while it is read, and then it is as before. */
	finder = (struct finder){.read = changed_copy()};
	known = look(&finder);
	ok(known.is_python && !known.has_way && !known.has_loop, "what was read was another content: the same");
	foreign_close(finder.read);
	finder = (struct finder){.err = -EBADMSG};
	known = look(&finder);
	ok(finder.asked[RUNTIME_RECOGNISE] && !known.has_way, "and it was not kept for this one");

	finder = (struct finder){};
	known = look(&finder);
	ok(known.is_python && known.has_way && known.has_loop, "found elsewhere");
	ok(finder.asked[RUNTIME_RECOGNISE] == 1 && finder.asked[RUNTIME_ROLES] == 1, "each was asked for once");
	known = look(&finder);
	ok(known.has_way && known.has_loop && finder.asked[RUNTIME_RECOGNISE] == 1 && finder.asked[RUNTIME_ROLES] == 1,
	   "then it is kept");

	clear();
	finder = (struct finder){.err = -ENOSYS};
	known = look(&finder);
	ok(known.has_way && known.has_loop, "there is no such process: found here");
	ok(finder.asked[RUNTIME_RECOGNISE] == 1 && !finder.asked[RUNTIME_ROLES], "without asking again");

	clear();
	known = look(NULL);
	ok(known.has_way && known.has_loop, "nobody is to be asked: the same");
	clear();
	rmdir(home);
	return tap_done();
}

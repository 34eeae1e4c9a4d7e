// SPDX-License-Identifier: GPL-2.0-or-later
/* A file that one process does not lead to, because it has gone, is opened by way of the next. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/objects.h"
#include "tap.h"

#define MAPPED 4096

static pid_t dead_pid(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

int main(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	char *at = mmap(NULL, MAPPED, PROT_READ, MAP_PRIVATE, fd, 0);
	struct objects *objects = objects_create(NULL);
	pid_t dead = dead_pid();
	struct stat status = {};
	struct object *object;

	fstat(fd, &status);
	/* As a process in another root maps it: no such path leads to it here. */
	struct mapped_file file = {.kind = FILE_REGULAR,
				   .device = (uint64_t)major(status.st_dev) << 32 | minor(status.st_dev),
				   .inode = status.st_ino,
				   .pid = dead,
				   .path = (char *)"/in/another/root"};
	const struct process_mapping mapping = {
		.start = (uintptr_t)at, .end = (uintptr_t)at + MAPPED, .to = UINT64_MAX, .file = &file};
	const struct process gone = {.pid = dead, .ended = UINT64_MAX}, ended = {.pid = dead, .ended = 1},
			     lives = {.pid = getpid(), .ended = UINT64_MAX};

	object = objects_get(objects, &file, &gone, &mapping);
	if (!ok(at != MAP_FAILED && object, "an object"))
		return tap_done();
	object_compile(object, NULL, &(struct object_compiling){});
	ok(!object->content && object->problem, "the process has gone before anybody looks: %s", object->problem);
	is_int(object->table, OBJECT_TABLE_NONE, "so it has no table");
	objects_get(objects, &file, &ended, &mapping);
	ok(!object->content, "nor does one lead to it that is known to have ended");
	if (geteuid() == 0) { /* /proc/PID/map_files */
		ok(objects_get(objects, &file, &lives, &mapping) == object, "the same file in a process that lives");
		ok(object->content && object->readable && !object->problem, "is opened, and read");
		is_int(object->table, OBJECT_TABLE_UNKNOWN, "and can have a table");
	}
	objects_destroy(objects);
	munmap(at, MAPPED);
	close(fd);
	return tap_done();
}

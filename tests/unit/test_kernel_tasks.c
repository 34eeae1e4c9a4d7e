// SPDX-License-Identifier: GPL-2.0-or-later
/* A process's threads as a BPF iterator tells of them, which is loaded without reading all of the kernel's types. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kernel/tasks.h"
#include "tap.h"

#define TYPES "/sys/kernel/btf/vmlinux"

/* The bytes that this process has read so far; -1: the kernel does not count them. */
static long long bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	long long bytes = -1;

	if (file && fscanf(file, "rchar: %lld", &bytes) != 1)
		bytes = -1;
	if (file)
		fclose(file);
	return bytes;
}

/* Before 6.16 the kernel's types cannot be mapped, and are read to be searched, too. */
static bool types_can_be_mapped(void)
{
	int fd = open(TYPES, O_RDONLY | O_CLOEXEC);
	void *mapped = fd < 0 ? MAP_FAILED : mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);

	if (fd >= 0)
		close(fd);
	return mapped != MAP_FAILED && !munmap(mapped, 4096);
}

static void read_own(struct tasks *tasks)
{
	const struct task_event *event;
	struct task_list list = {0};

	if (is_int(tasks_read(tasks, getpid(), &list), 0, "this process is read") &&
	    is_int(list.starts.count, 1, "it has one thread")) {
		event = task_list_at(&list, 0);
		is_int(event->tgid, getpid(), "its process");
		is_int(event->tid, gettid(), "its number");
		is_str(event->comm, "some name", "its name");
		ok(event->start_time && event->mm && event->thread_pointer, "its beginning, memory, thread pointer");
		ok(event->flags & TASK_ON_CPU, "it is on a CPU, as it asks");
	}
	task_list_deinit(&list);
}

int main(void)
{
	long long before = bytes_read();
	struct tasks *tasks;
	struct diag diag = {0};
	int err;

	prctl(PR_SET_NAME, "some name");
	err = tasks_create(&tasks, &diag);
	if (err) {
		printf("1..0 # SKIP %s\n", diag.text);
		return 0;
	}
	if (before >= 0 && types_can_be_mapped())
		ok(bytes_read() - before < 1 << 20, "not all of the kernel's types were read: %lld bytes",
		   bytes_read() - before);
	read_own(tasks);
	tasks_destroy(tasks);
	return tap_done();
}

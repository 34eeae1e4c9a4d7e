// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Detaching would delay the end of a script: before the kernel frees a link it waits for an RCU grace period, and for
 * one or two more for the event of a tracepoint, 15 to 70 ms each. It waits in the process that closes the descriptor.
 * But if a link is pinned in a BPF file system, a worker of the kernel waits when that file system goes. So the links
 * are pinned in such a file system, which is mounted nowhere, and their descriptors closed. Then the file system is
 * closed, and all of it goes. It also goes when strata is killed.
 *
 * Where that is not possible, threads close the links: they wait for the same grace period. The kernel gives events
 * back one after the other, whoever closes them: 360 take 7 to 25 s. If they are too many to be left to a worker, a
 * process is left with them that has nothing else. They have no program any more, and it ends when they are gone.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lang/provider/provider.h"

#define CLOSERS    32
#define LINKS_LEFT 64 /* each has a worker of the kernel's wait */
/* One worker of the kernel's gives back all events that it is left, in turn: what others leave it shall not wait for
 * seconds. */
#define EVENTS_LEFT 16

int attachment_keep(struct descriptors *descriptors, int fd, struct diag *diag)
{
	if (!vec_push(&descriptors->at, fd))
		return 0;
	close(fd);
	return diag_fail(diag, ENOMEM, "attach.memory", "out of memory");
}

void attachment_drop(struct descriptors *descriptors, size_t first, size_t end)
{
	for (; first < end; first++) {
		if (descriptors->at.at[first] >= 0)
			close(descriptors->at.at[first]);
		descriptors->at.at[first] = -1;
	}
}

struct closing {
	const struct descriptors *descriptors;
	size_t next;
};

static void *close_some(void *context)
{
	struct closing *closing = context;
	size_t i;

	while ((i = __atomic_fetch_add(&closing->next, 1, __ATOMIC_RELAXED)) < closing->descriptors->at.count)
		if (closing->descriptors->at.at[i] >= 0)
			close(closing->descriptors->at.at[i]);
	return NULL;
}

static void close_all(struct descriptors *descriptors)
{
	struct closing closing = {.descriptors = descriptors};
	pthread_t threads[CLOSERS];
	size_t count = 0;

	while (count < CLOSERS && count + 1 < descriptors->at.count &&
	       !pthread_create(&threads[count], NULL, close_some, &closing))
		count++;
	close_some(&closing);
	while (count)
		pthread_join(threads[--count], NULL);
	vec_free(&descriptors->at);
}

/* A BPF file system of its own, mounted nowhere; negative: not to be had. */
static int open_file_system(void)
{
	int context = (int)syscall(SYS_fsopen, "bpf", FSOPEN_CLOEXEC), mount = -1;

	if (context < 0)
		return -errno;
	if (!syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0))
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC, 0);
	close(context);
	return mount;
}

/* Has the links go with a file system, which is returned; -1: they are there as before. */
static int pin_links(const struct attachment *attachment)
{
	const struct descriptors *links = &attachment->links;
	char path[64];
	int mount;
	size_t i;

	if (!links->at.count || links->at.count > LINKS_LEFT || attachment->events.at.count > EVENTS_LEFT)
		return -1;
	mount = open_file_system();
	for (i = 0; mount >= 0 && i < links->at.count; i++) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d/%zu", mount, i);
		if (bpf_obj_pin(links->at.at[i], path)) {
			close(mount);
			return -1;
		}
	}
	return mount;
}

static int by_number(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

/*
 * Of the process that is left with the events. All other descriptors go at once: somebody may wait for an output. The
 * last who closes an event waits, so it stays until strata has closed them: that is the end of `strata`, a pipe.
 */
static _Noreturn void keep(const struct descriptors *events, int strata)
{
	unsigned int next = 0;
	char byte;
	size_t i;

	prctl(PR_SET_NAME, "strata-events");
	for (i = 0; i < events->at.count; i++) {
		unsigned int fd = (unsigned int)events->at.at[i];

		if (fd > next)
			syscall(SYS_close_range, next, fd - 1, 0);
		next = fd + 1;
	}
	syscall(SYS_close_range, next, ~0u, 0);
	while (read(strata, &byte, 1) < 0 && errno == EINTR)
		;
	_exit(0);
}

/*
 * Forks it, as nobody's child. Adds what it reads from to the events. The end of a pipe that is to be closed when they
 * are; -1: there is no such process, and who closes the events waits.
 */
static int leave_events(struct descriptors *events)
{
	int ends[2];
	pid_t pid;

	if (events->at.count <= EVENTS_LEFT || pipe2(ends, O_CLOEXEC))
		return -1;
	if (attachment_keep(events, ends[0], NULL)) {
		close(ends[1]);
		return -1;
	}
	qsort(events->at.at, events->at.count, sizeof(*events->at.at), by_number);
	pid = fork();
	if (!pid) {
		if (!fork())
			keep(events, ends[0]);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	return ends[1];
}

void attachment_close(struct attachment *attachment)
{
	int mount = pin_links(attachment), left;
	size_t i;

	/* Without its program, and till it goes, an event that is on would cost its tracepoint more. */
	for (i = 0; i < attachment->events.at.count; i++)
		ioctl(attachment->events.at.at[i], PERF_EVENT_IOC_DISABLE, 0);
	close_all(&attachment->iterators);
	close_all(&attachment->fds);
	close_all(&attachment->links);
	left = leave_events(&attachment->events);
	close_all(&attachment->events);
	if (left >= 0)
		close(left);
	if (mount >= 0)
		close(mount);
}

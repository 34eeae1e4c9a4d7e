// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Detaching is what a script's end waits for: the kernel lets a grace period of RCU pass before it gives a link back,
 * and one or two more for a tracepoint's event, 15 to 70 ms each.
 *
 * A link's program runs no more when it is closed. What several threads close waits for the same grace period.
 *
 * An event without a program costs its tracepoint some nanoseconds. Events are taken down one after another, under a
 * lock; but those that a map holds last are given back by a worker of the kernel's, and nobody waits.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "lang/provider/provider.h"

#define CLOSERS 32
/* The kernel's worker gives back all files that it is left, in turn: those of others are not to wait for seconds. */
#define EVENTS_LEFT 16

int attachment_keep(struct descriptors *descriptors, int fd, struct diag *diag)
{
	if (!vec_push(&descriptors->at, fd))
		return 0;
	close(fd);
	return diag_fail(diag, ENOMEM, "attach.memory", "out of memory");
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

/* The map that has them, to be closed when their links are; -1: they are with the links, to be waited for. */
static int leave_events(struct descriptors *events)
{
	size_t count = events->at.count, i;
	int map = count && count <= EVENTS_LEFT ? bpf_map_create(BPF_MAP_TYPE_PERF_EVENT_ARRAY, "strata_closing",
								 sizeof(uint32_t), sizeof(int), (uint32_t)count, NULL)
						: -1;

	for (i = 0; i < count && map >= 0; i++) {
		uint32_t key = (uint32_t)i;

		ioctl(events->at.at[i], PERF_EVENT_IOC_DISABLE, 0);
		bpf_map_update_elem(map, &key, &events->at.at[i], BPF_ANY);
	}
	return map;
}

void attachment_close(struct attachment *attachment)
{
	int map = leave_events(&attachment->events);

	if (map >= 0)
		close_all(&attachment->events); /* does not wait: the map has them, or the link */
	close_all(&attachment->iterators);
	close_all(&attachment->fds);
	close_all(&attachment->events);
	if (map >= 0)
		close(map);
}

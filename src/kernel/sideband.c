// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/sideband.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/time.h"
#include "base/vec.h"
#include "kernel/cpus.h"

#define DATA_PAGES  64 /* a power of two */
#define DRAIN_TURNS 8

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* NULL: none */
};

struct pending {
	struct sideband_event event;
	size_t path;  /* MMAP: offset into `paths` */
	size_t order; /* of arrival, where times are equal */
};

struct sideband {
	int epoll;
	size_t count;       /* possible CPUs */
	struct ring *rings; /* by CPU */
	bool *online;       /* by CPU: at the last look */
	VEC(struct pending) events;
	VEC(char) paths, kept; /* of `events`; of those that wait, while they are moved to the front */
	uint8_t *record;       /* one record, put together: at most 64 KiB */
	size_t page_size;
};

static void close_ring(struct sideband *sideband, struct ring *ring)
{
	if (!ring->page)
		return;
	munmap(ring->page, (DATA_PAGES + 1) * sideband->page_size);
	close(ring->fd); /* which takes it out of the epoll set, too */
	*ring = (struct ring){.fd = -1};
}

/* 0 also when the CPU has gone meanwhile. */
static int open_ring(struct sideband *sideband, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.mmap = 1,
		.mmap2 = 1,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1, /* in bytes: each record wakes (wakeup_events counts samples only) */
		.wakeup_watermark = 1,
	};
	struct ring *ring = &sideband->rings[cpu];
	struct epoll_event wanted = {.events = EPOLLIN};
	int fd, err;
	void *page;

	fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV || errno == ENXIO ? 0 : -errno; /* the CPU is offline */
	page = mmap(NULL, (DATA_PAGES + 1) * sideband->page_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		err = -errno;
		close(fd);
		return err;
	}
	*ring = (struct ring){.fd = fd, .page = page};
	if (!epoll_ctl(sideband->epoll, EPOLL_CTL_ADD, fd, &wanted))
		return 0;
	err = -errno;
	close_ring(sideband, ring);
	return err;
}

static int push(struct sideband *sideband, const struct sideband_event *event, const char *path)
{
	struct pending pending = {.event = *event, .path = sideband->paths.count, .order = sideband->events.count};
	size_t length = path ? strlen(path) + 1 : 0;

	if (vec_reserve(&sideband->paths, length))
		return -ENOMEM;
	if (length)
		memcpy(&sideband->paths.at[sideband->paths.count], path, length);
	sideband->paths.count += length;
	return vec_push(&sideband->events, pending);
}

/* A record's body, in the order of the fields in perf_event.h; the time is its last 8 bytes (sample_id_all). */
static int parse(struct sideband *sideband, const struct perf_event_header *header, const uint8_t *bytes)
{
	struct cursor c = cursor_init(bytes, header->size - sizeof(*header));
	struct cursor tail = c;
	struct sideband_event event = {};
	const char *path = NULL;
	int tid, parent_tid;

	cursor_seek(&tail, tail.size >= 8 ? tail.size - 8 : 0);
	event.time = cursor_u64(&tail);
	switch (header->type) {
	case PERF_RECORD_MMAP2:
		event.type = SIDEBAND_MMAP;
		event.pid = cursor_s32(&c);
		cursor_skip(&c, 4);
		event.start = cursor_u64(&c);
		event.size = cursor_u64(&c);
		event.offset = cursor_u64(&c);
		event.device = (uint64_t)cursor_u32(&c) << 32;
		event.device |= cursor_u32(&c);
		event.inode = cursor_u64(&c);
		cursor_skip(&c, 8 + 4 + 4); /* inode generation, protection, flags */
		path = cursor_string(&c);
		if (!path)
			return 0;
		break;
	case PERF_RECORD_COMM:
		event.type = SIDEBAND_EXEC;
		event.pid = cursor_s32(&c);
		if (!(header->misc & PERF_RECORD_MISC_COMM_EXEC))
			return 0;
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		event.type = header->type == PERF_RECORD_FORK ? SIDEBAND_FORK : SIDEBAND_EXIT;
		event.pid = cursor_s32(&c);
		event.parent = cursor_s32(&c);
		tid = cursor_s32(&c);
		parent_tid = cursor_s32(&c);
		(void)parent_tid;
		if (event.pid != tid || (event.type == SIDEBAND_FORK && event.pid == event.parent))
			return 0;
		break;
	case PERF_RECORD_LOST:
		event.type = SIDEBAND_LOST;
		cursor_skip(&c, 8);
		event.lost = cursor_u64(&c);
		break;
	default:
		return 0;
	}
	/* Processes outside this one's pid namespace are 0, those that are gone already -1. */
	if (event.pid <= 0 && event.type != SIDEBAND_LOST)
		return 0;
	return cursor_ok(&c) && cursor_ok(&tail) ? push(sideband, &event, path) : 0;
}

static int drain_ring(struct sideband *sideband, const struct ring *ring)
{
	const uint8_t *data = (const uint8_t *)ring->page + sideband->page_size;
	const uint64_t size = DATA_PAGES * sideband->page_size;
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE), tail = ring->page->data_tail;
	int err = 0;

	while (tail < head && !err) {
		struct perf_event_header header;
		uint64_t at = tail & (size - 1), first;

		memcpy(&header, data + at, sizeof(header)); /* records are 8-aligned: the header never wraps */
		if (header.size < sizeof(header) || header.size > head - tail)
			break;
		first = header.size < size - at ? header.size : size - at;
		memcpy(sideband->record, data + at, first);
		memcpy(sideband->record + first, data, header.size - first);
		err = parse(sideband, &header, sideband->record + sizeof(header));
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, head, __ATOMIC_RELEASE);
	return err;
}

int sideband_follow(struct sideband *sideband)
{
	bool *online = calloc(sideband->count, sizeof(*online));
	int changes = 0, err = 0;
	size_t cpu;

	if (!online)
		return -ENOMEM;
	cpus_online(CPUS_ONLINE, online, sideband->count);
	for (cpu = 0; cpu < sideband->count && !err; cpu++) {
		if (online[cpu] == sideband->online[cpu])
			continue;
		/* The event of a CPU that went stays silent when the CPU comes back; what it wrote before counts. */
		if (sideband->rings[cpu].page)
			err = drain_ring(sideband, &sideband->rings[cpu]);
		close_ring(sideband, &sideband->rings[cpu]);
		if (!err && online[cpu])
			err = open_ring(sideband, (int)cpu);
		sideband->online[cpu] = online[cpu];
		changes++;
	}
	free(online);
	return err ? err : changes;
}

int sideband_open(struct sideband **ret, struct diag *diag)
{
	struct sideband *sideband = calloc(1, sizeof(*sideband));
	int err;

	if (!sideband)
		return diag_fail(diag, ENOMEM, "sideband.memory", "out of memory");
	sideband->page_size = (size_t)sysconf(_SC_PAGESIZE);
	sideband->count = (size_t)libbpf_num_possible_cpus();
	sideband->record = malloc(UINT16_MAX + 1);
	sideband->rings = calloc(sideband->count, sizeof(*sideband->rings));
	sideband->online = calloc(sideband->count, sizeof(*sideband->online));
	sideband->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!sideband->record || !sideband->rings || !sideband->online)
		err = -ENOMEM;
	else
		err = sideband->epoll < 0 ? -errno : sideband_follow(sideband);
	if (err < 0) {
		sideband_close(sideband);
		return diag_fail(diag, -err, "sideband.open",
				 "no perf events for mappings: %s; run as root, or see perf_event_paranoid",
				 strerror(-err));
	}
	*ret = sideband;
	return 0;
}

void sideband_close(struct sideband *sideband)
{
	size_t i;

	if (!sideband)
		return;
	for (i = 0; sideband->rings && i < sideband->count; i++)
		close_ring(sideband, &sideband->rings[i]);
	if (sideband->epoll >= 0)
		close(sideband->epoll);
	free(sideband->rings);
	free(sideband->online);
	vec_free(&sideband->events);
	vec_free(&sideband->paths);
	vec_free(&sideband->kept);
	free(sideband->record);
	free(sideband);
}

int sideband_fd(const struct sideband *sideband)
{
	return sideband->epoll;
}

static int by_time(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->event.time != y->event.time)
		return x->event.time < y->event.time ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Keeps the events from `first` on for the next time. */
static int keep(struct sideband *sideband, size_t first)
{
	size_t i, count = sideband->events.count - first;

	sideband->kept.count = 0;
	for (i = 0; i < count; i++) {
		struct pending *pending = &sideband->events.at[i], *from = &sideband->events.at[first + i];
		const char *path = from->event.type == SIDEBAND_MMAP ? &sideband->paths.at[from->path] : NULL;
		size_t length = path ? strlen(path) + 1 : 0;

		if (vec_reserve(&sideband->kept, length))
			return -ENOMEM;
		if (length)
			memcpy(&sideband->kept.at[sideband->kept.count], path, length);
		*pending = *from;
		pending->path = sideband->kept.count;
		pending->order = i;
		sideband->kept.count += length;
	}
	sideband->events.count = count;
	sideband->paths.count = 0;
	if (vec_reserve(&sideband->paths, sideband->kept.count))
		return -ENOMEM;
	if (sideband->kept.count)
		memcpy(sideband->paths.at, sideband->kept.at, sideband->kept.count);
	sideband->paths.count = sideband->kept.count;
	return 0;
}

static int drain_once(struct sideband *sideband, void (*deliver)(void *context, const struct sideband_event *event),
		      void *context)
{
	uint64_t before;
	int err = 0;
	size_t i;

	/* What is written while the rings are read waits: an earlier one may be in a ring read before. */
	before = time_ns(CLOCK_MONOTONIC);
	for (i = 0; i < sideband->count && !err; i++)
		if (sideband->rings[i].page)
			err = drain_ring(sideband, &sideband->rings[i]);
	if (sideband->events.count > 1)
		qsort(sideband->events.at, sideband->events.count, sizeof(*sideband->events.at), by_time);
	for (i = 0; i < sideband->events.count; i++) {
		struct pending *pending = &sideband->events.at[i];

		if (pending->event.time > before)
			break;
		pending->event.path = pending->event.type == SIDEBAND_MMAP ? &sideband->paths.at[pending->path] : NULL;
		deliver(context, &pending->event);
	}
	return keep(sideband, i) ? -ENOMEM : err;
}

int sideband_drain(struct sideband *sideband, void (*deliver)(void *context, const struct sideband_event *event),
		   void *context)
{
	int turn, err = 0;

	/* What waits would wake nobody: the rings are empty. A turn later it is old enough. */
	for (turn = 0; turn < DRAIN_TURNS && !err && (!turn || sideband->events.count); turn++)
		err = drain_once(sideband, deliver, context);
	return err;
}

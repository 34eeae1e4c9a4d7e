/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lines: what rt_lines.bpf.c, rt_lines_312.bpf.c and rt_lines_old.bpf.c have in common: how tables are read, and where
 * each thread's state is, a struct thread of their own. They say how the map of these is called, LINES_THREADS, and
 * another one, LINES_NONE, which has one to begin with. BPF only.
 */
#ifndef STRATA_LANG_RT_LINES_H
#define STRATA_LANG_RT_LINES_H

#include "lang/rt/python_frame.h"

#define NO_LINE     (-1)
#define NO_RUN      (-2)
#define LINES_CHUNK 64 /* bytes of a table, read at once */

/*
 * Reads the chunk of a table in which the byte `at` is, as far as there is one; the table is `size` bytes at `data`.
 * False: it cannot be read.
 */
static __always_inline int read_chunk(__u8 *bytes, __u64 data, __u64 size, __u64 at)
{
	__u64 chunk = at & ~(__u64)(LINES_CHUNK - 1);

	return !bpf_probe_read_user(bytes, LINES_CHUNK, (void *)(data + chunk)) ||
	       !bpf_probe_read_user(bytes, (size - chunk) & (LINES_CHUNK - 1), (void *)(data + chunk));
}

struct thread;

#define THREADS 16384

/* Each probe of a script has its own, as all of them are at the same places. */
struct thread_key {
	__u64 id;
	__u32 probe, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, THREADS);
	__type(key, struct thread_key);
	__type(value, struct thread);
} LINES_THREADS SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread);
} LINES_NONE SEC(".maps");

static __always_inline struct thread *thread_of(const struct rt_python *p)
{
	struct thread_key key = {.id = bpf_get_current_pid_tgid(), .probe = p->lines};
	struct thread *t = bpf_map_lookup_elem(&LINES_THREADS, &key), *none;
	__u32 first = 0;

	if (t)
		return t;
	none = bpf_map_lookup_elem(&LINES_NONE, &first);
	if (!none)
		return NULL;
	bpf_map_update_elem(&LINES_THREADS, &key, none, BPF_NOEXIST);
	return bpf_map_lookup_elem(&LINES_THREADS, &key);
}

/* What a callback of bpf_loop() is given. */
struct place {
	struct thread *t;
};

#endif

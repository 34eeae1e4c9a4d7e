/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process: brings what is known of a process into the scratch: its mappings and its runtime. User space has told
 * (process_maps.h), or the kernel part finds out by itself (find.h).
 */
#ifndef STRATA_BPF_PROCESS_H
#define STRATA_BPF_PROCESS_H

#include "abi/loss.h"
#include "bpf/find.h"
#include "bpf/process_maps.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"

#define DOUBTFUL_NS 1000000000ull

/* Copies the tables of a process to the scratch. False when it has none, or they are from before its last exec. */
static __always_inline bool find_process(struct scratch *s, __u32 tgid)
{
	struct process_entry *process = bpf_map_lookup_elem(&processes, &tgid);
	__u64 *exec;

	if (!process)
		return false;
	s->process = *process;
	process = &s->process;
	if (process->tgid != tgid || process->check != process_entry_check(process))
		return false;
	exec = bpf_map_lookup_elem(&execs, &tgid);
	return !exec || *exec < process->valid_from;
}

/* Copies what is known of a process's runtime to the scratch. */
static __always_inline enum cached_second find_runtime(struct scratch *s, __u32 tgid)
{
	struct runtime_process *process = &s->found.runtime;
	struct runtime_layout *layout;
	__u32 index;

	if (s->cache.process != CACHED_FOUND || !s->found.runtime.runtime)
		process = bpf_map_lookup_elem(&runtime_processes, &tgid);
	if (!process)
		return CACHED_NO_SECOND;
	s->runtime = *process;
	process = &s->runtime;
	if (process->tgid != tgid || process->check != runtime_process_check(process))
		return CACHED_SECOND_TORN;
	index = process->layout;
	layout = bpf_map_lookup_elem(&runtime_layouts, &index);
	if (!layout)
		return CACHED_SECOND_TORN;
	s->second.layout = *layout;
	return CACHED_SECOND;
}

/* Brings what is known of its runtime into the scratch. */
FIND_GLOBAL int load_second(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);

	if (!s)
		return 0;
	s->cache.second = find_runtime(s, s->sample.tgid);
	if (s->cache.second == CACHED_SECOND_TORN)
		s->cache.tgid = 0;
	return 0;
}

/*
 * Brings what is known of a process into the scratch, unless the last walk has left it there. Global, so that it is
 * verified once.
 */
__noinline int load_process(__u32 scratch, __u32 tgid)
{
	struct scratch *s = scratch_at(scratch);
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&changed, &zero), now;

	if (!s || !at)
		return 0;
	now = *(volatile __u64 *)at; /* first: what changes meanwhile is looked up the next time */
	s->find.busy = s->find.is_empty = 0;
	if (s->cache.tgid == tgid && s->cache.changed == now && !s->cache.unnamed &&
	    (s->cache.process != CACHED_FOUND || found_is_there(&s->found)))
		return 0;
	s->cache.tgid = s->cache.tid = 0;
	s->cache.process = CACHED_NO_PROCESS;
	s->cache.unnamed = 0;
	if (loaded.walks & SAMPLER_NATIVE && find_process(s, tgid)) {
		s->cache.process = CACHED_PROCESS;
		s->cache.unnamed = loaded.finds && s->process.unnamed && !find_names(s, tgid);
	} else if (loaded.finds && find_process_by_itself(s, tgid)) {
		s->cache.process = CACHED_FOUND;
	}
	s->cache.changed = now;
	if (s->cache.process)
		s->cache.tgid = tgid;
	s->cache.second = CACHED_NO_SECOND;
	if (loaded.walks & SAMPLER_SECOND)
		load_second(scratch);
	return 0;
}

/*
 * A walk that failed in a process whose mappings change now and then may have gone by tables that were out of date:
 * other code has taken the place of what they describe, and user space has not told yet.
 */
static __always_inline bool tables_doubtful(const struct scratch *s, const struct process_entry *process)
{
	if (s->cache.process == CACHED_FOUND && !found_is_there(&s->found))
		return true; /* they were overwritten meanwhile */
	switch (s->native.loss) {
	case LOSS_NONE:
	case LOSS_NATIVE_DEPTH:
	case LOSS_TIME_LIMIT:
	case LOSS_URETPROBE:
	case LOSS_STACK_READ: /* see resume.h */
		return false;
	}
	return s->native.unmapped || s->sample.time < process->changed + DOUBTFUL_NS;
}

#endif

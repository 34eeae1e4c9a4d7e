/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process: copies what is known about a process into the scratch: its mappings and its runtime. Either user space has
 * told it (process_maps.h), or the kernel part finds it by itself (find.h).
 */
#ifndef STRATA_BPF_PROCESS_H
#define STRATA_BPF_PROCESS_H

#include "abi/loss.h"
#include "bpf/find.h"
#include "bpf/process_maps.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"

#define DOUBTFUL_NS 1000000000ull

/* Copies the tables of a process to the scratch. False when it has none, or when they are older than its last exec. */
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

/* Copies what is known about the current process's runtime to the scratch. */
FIND_GLOBAL int load_second(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);

	if (!s)
		return 0;
	s->cache.second = find_runtime(s, s->sample.tgid);
	if (s->cache.second == CACHED_SECOND_TORN)
		s->cache.tgid = 0;
	return 0;
}

/*
 * Copies what is known about a process to the scratch, unless it is still there from the last walk. Global, so that it
 * is verified once.
 */
__noinline int load_process(scratch_ref scratch, __u32 tgid)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u32 zero = 0;
	__u64 *at = bpf_map_lookup_elem(&changed, &zero), now;

	if (!s || !at)
		return 0;
	now = *(volatile __u64 *)at; /* read first: what changes meanwhile is looked up the next time */
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
 * May a walk have failed because the tables were out of date? In a process whose mappings change, other code may have
 * taken the place of what the tables describe, and user space may not have told it yet.
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

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * process_events: programs that follow exec and fork. They invalidate what the maps say about a process that runs
 * another program now, and copy to children what is still true for them. Part of every object that walks.
 */
#ifndef STRATA_BPF_PROCESS_EVENTS_H
#define STRATA_BPF_PROCESS_EVENTS_H

#include "bpf/process_maps.h"
#include "bpf/shim.h"
#include "bpf/walks.h"

static __always_inline void note_change(__u64 now)
{
	__u32 zero = 0;

	bpf_map_update_elem(&changed, &zero, &now, BPF_ANY);
}

SEC("raw_tp/sched_process_exec")
int process_exec(const __u64 *arguments)
{
	__u32 tgid = current_ids() >> 32;
	__u64 now = bpf_ktime_get_ns(), *added;

	if (!loaded.watch_all) {
		added = bpf_map_lookup_elem(&targets, &tgid);
		if (added)
			*added &= ~TARGET_AWAITS_EXEC; /* threads and children bear the same flag */
	}
	/*
	 * What is known about a runtime stays until user space has read the exec record. User space may already have
	 * stored the new runtime here. An old one is harmless, because this thread is not among its threads.
	 */
	bpf_map_update_elem(&execs, &tgid, &now, BPF_ANY);
	note_change(now);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int process_fork(const __u64 *arguments)
{
	struct task_struct *parent = (struct task_struct *)arguments[0], *child = (struct task_struct *)arguments[1];
	__u32 parent_tgid = BPF_CORE_READ(parent, tgid), child_tgid = BPF_CORE_READ(child, tgid);
	__u64 now = bpf_ktime_get_ns();
	struct runtime_process *runtime, runtime_copy;
	__u64 key, *thread, thread_copy, *added, child_added = now | TARGET_CHILDREN;

	if (parent_tgid == child_tgid)
		return 0; /* a thread */
	if (loaded.namespace_inode)
		return 0; /* their numbers in that namespace are not known here; the side-band's record comes soon */
	if (!loaded.watch_all) {
		added = bpf_map_lookup_elem(&targets, &parent_tgid);
		if (!added || !(*added & TARGET_CHILDREN))
			return 0;
		bpf_map_update_elem(&targets, &child_tgid, &child_added, BPF_ANY);
	}
	/* What was known about an earlier process with this pid is no longer valid. */
	bpf_map_delete_elem(&processes, &child_tgid);
	bpf_map_delete_elem(&execs, &child_tgid);
	bpf_map_delete_elem(&runtime_processes, &child_tgid);
	note_change(now);
	/* The child starts as a copy of its parent: the same runtime at the same place. */
	runtime = bpf_map_lookup_elem(&runtime_processes, &parent_tgid);
	if (runtime) {
		runtime_copy = *runtime;
		if (runtime_copy.tgid != parent_tgid || runtime_copy.check != runtime_process_check(&runtime_copy))
			return 0;
		runtime_copy.since = now;
		runtime_copy.tgid = child_tgid;
		runtime_copy.check = runtime_process_check(&runtime_copy);
		bpf_map_update_elem(&runtime_processes, &child_tgid, &runtime_copy, BPF_ANY);
		/*
		 * The thread's address is copied, too: after a fork CPython rebuilds its thread lists, and they cannot
		 * be read for a moment.
		 */
		key = bpf_get_current_pid_tgid();
		thread = bpf_map_lookup_elem(&runtime_threads, &key);
		if (thread) {
			thread_copy = *thread;
			key = (__u64)child_tgid << 32 | child_tgid;
			bpf_map_update_elem(&runtime_threads, &key, &thread_copy, BPF_ANY);
		}
	}
	return 0;
}

#endif

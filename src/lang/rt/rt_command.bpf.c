// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * With -c, decides whose events count: those of the command, of its threads, and of the processes that it started. Only
 * linked into scripts that run with -c. A process whose parent counts is added when it is forked, as in the sampler. It
 * is removed when the kernel frees its task, which is after all that it does.
 *
 * Processes have the numbers of the initial namespace here; the command has that of strata's own.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"

const volatile struct rt_command command SEC(RT_COMMAND_SECTION) = {};

/* tgid, and the address of its task, which tells a process from an earlier one of the same number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, RT_DESCENDANTS);
	__type(key, __u32);
	__type(value, __u64);
} rt_descendants SEC(".maps");

extern __hidden __u64 rt_count(__u64 which);

static __always_inline bool is_command(__u32 tgid)
{
	__u64 ids = 0; /* struct bpf_pidns_info, whose layout is the helper's own and is not relocated */

	if (!command.namespace_inode)
		return tgid == command.tgid;
	return !bpf_get_ns_current_pid_tgid(command.namespace_device, command.namespace_inode, (void *)&ids,
					    sizeof(ids)) &&
	       ids >> 32 == command.tgid;
}

/* Does the process that runs belong to the command? */
__hidden __u64 rt_follows(void)
{
	__u32 tgid = bpf_get_current_pid_tgid() >> 32;

	return is_command(tgid) || bpf_map_lookup_elem(&rt_descendants, &tgid);
}

SEC("raw_tp/sched_process_fork")
int rt_command_fork(const __u64 *arguments)
{
	struct task_struct *child = (struct task_struct *)arguments[1];
	__u32 tgid = BPF_CORE_READ(child, tgid);
	__u64 task = (__u64)child;

	if (tgid == bpf_get_current_pid_tgid() >> 32)
		return 0; /* a thread */
	if (!rt_follows())
		bpf_map_delete_elem(&rt_descendants, &tgid); /* an earlier one's of the same number */
	else if (bpf_map_update_elem(&rt_descendants, &tgid, &task, BPF_ANY))
		rt_count(RT_COUNTER_DESCENDANTS);
	return 0;
}

/* A leader that another thread of its process has replaced, by exec, is not in the map, and has another pid. */
SEC("raw_tp/sched_process_free")
int rt_command_free(const __u64 *arguments)
{
	struct task_struct *task = (struct task_struct *)arguments[0];
	__u32 tgid = BPF_CORE_READ(task, tgid);
	__u64 *found;

	if (BPF_CORE_READ(task, pid) != (__s32)tgid)
		return 0;
	found = bpf_map_lookup_elem(&rt_descendants, &tgid);
	if (found && *found == (__u64)task)
		bpf_map_delete_elem(&rt_descendants, &tgid);
	return 0;
}

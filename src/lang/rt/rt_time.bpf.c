// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long a thread has been on a CPU. Only linked into scripts that ask for it. The kernel brings its own count,
 * sum_exec_runtime, up to date when a thread leaves the CPU and at its ticks: so for each CPU stands here when its
 * thread came, and what the count was then.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/abi.h"

struct rt_on_cpu {
	__u64 task;
	__u64 since, before; /* nanoseconds: when it came, or was first seen; its count then */
	__u64 place;         /* of the count, from the task's begin; 0: nobody has asked yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rt_on_cpu);
} rt_on_cpus SEC(".maps");

static __always_inline void came(struct rt_on_cpu *on, __u64 task)
{
	__u64 before = 0;

	bpf_probe_read_kernel(&before, sizeof(before), (void *)(task + on->place));
	on->before = before;
	on->since = bpf_ktime_get_ns();
	on->task = task;
}

__hidden __u64 rt_time_on_cpu(__u64 place)
{
	__u64 task = bpf_get_current_task();
	__u32 zero = 0;
	struct rt_on_cpu *on = bpf_map_lookup_elem(&rt_on_cpus, &zero);

	if (!on)
		return 0;
	on->place = place;
	if (on->task != task)
		came(on, task);
	return on->before + (bpf_ktime_get_ns() - on->since);
}

SEC("raw_tp/sched_switch")
int rt_time_switch(const __u64 *arguments)
{
	__u32 zero = 0;
	struct rt_on_cpu *on = bpf_map_lookup_elem(&rt_on_cpus, &zero);

	if (on && on->place)
		came(on, arguments[2]);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sampler: what runs in the kernel at each tick of a perf event.
 *
 *   tick ─► is the process watched? ─► kernel stack ─► user registers ─► native walk ─► second stack ─► records
 *
 * It collects facts and gives them no meaning: addresses, functions, positions in them. Each distinct stack and
 * function crosses the ring buffer once; a sample names its stacks by their hashes. A sample whose process is
 * not known yet (or has just called exec) sends its registers and a copy of its stack instead.
 */
#include "abi/config.h"
#include "abi/events.h"
#include "bpf/filter.h"
#include "bpf/off_cpu.h"
#include "bpf/process_events.h"
#include "bpf/process_maps.h"
#include "bpf/registers.h"
#include "bpf/sample.h"
#include "bpf/scratch.h"
#include "bpf/shim.h"
#include "bpf/wakers.h"
#include "bpf/walks.h"

char LICENSE[] SEC("license") = "GPL";

/* By CPU: which ticks of its clock have come; user space finds out how many have not. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct clock_ticks);
} ticks SEC(".maps");

/*
 * The kernel runs no program of an event while another BPF program, or a change of a BPF map, is under way on that CPU,
 * and counts it nowhere. So every tick is noted, those of idle CPUs too: what is missing between the first and the last
 * did not run.
 */
static __always_inline void note_tick(__u32 cpu, __u64 now)
{
	struct clock_ticks *at = bpf_map_lookup_elem(&ticks, &cpu);

	if (!at)
		return;
	if (!at->count)
		at->first = now;
	at->last = now;
	at->count++;
}

/* Is the thread's program still strata's own, before exec? The flag goes when the old address space is gone. */
static __always_inline bool awaits_exec(const struct scratch *s, const __u64 *added)
{
	return added && *added & TARGET_AWAITS_EXEC && s->task.flags & PF_FORKNOEXEC;
}

SEC("perf_event")
int sample(struct bpf_perf_event_data *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	__u32 tgid = pid_tgid >> 32, cpu = bpf_get_smp_processor_id();
	struct scratch *s;
	__u64 now = bpf_ktime_get_ns(), *added = NULL;
	enum filter_answer answer;

	note_tick(cpu, now);
	if (!(__u32)pid_tgid)
		return 0; /* idle */
	if (!loaded.watch_all) {
		added = bpf_map_lookup_elem(&targets, &tgid);
		if (!added)
			return 0;
	}
	answer = filter_current();
	if (answer == FILTER_OUT)
		return 0;
	s = scratch_at(cpu);
	if (!s)
		return 0;
	s->index = cpu;
	take_task(SCRATCH_REF(s));
	if (awaits_exec(s, added))
		return 0;
	begin_sample(s, cpu, now);
	if (answer == FILTER_UNJUDGED)
		s->sample.flags |= SAMPLE_UNJUDGED;
	if (!in_user_mode(ctx)) {
		s->sample.flags |= SAMPLE_IN_KERNEL;
		take_kernel_stack(s, ctx, 0, 0);
	}
	if (has_program(s))
		take_program(s,
			     s->sample.flags & SAMPLE_IN_KERNEL ? saved_registers(s, loaded.task_registers)
								: interrupted_registers(s, ctx),
			     now);
	send_sample(s);
	note_worst(bpf_ktime_get_ns() - now);
	return 0;
}

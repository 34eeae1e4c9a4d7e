// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A BPF iterator over threads, which reports those of one process: registers, kernel stack, number of switches. No
 * thread is stopped for it. It runs in the context of the process that reads it, one reader at a time.
 */
#include "bpf/shim.h"

#include "abi/tasks.h"
#include "arch/kernel.h"
#include "bpf/task_state.h"

#define PF_KTHREAD 0x00200000 /* include/linux/sched.h */

char LICENSE[] SEC("license") = "GPL";

/* What the kernel can do, told by the loader. */
const volatile __u32 has_task_registers SEC(".rodata.config") = 0;

struct task_dump {
	__u32 tgid; /* wanted */
	__u32 pad;
	struct task_event event;
	__u64 frames[KERNEL_FRAMES_MAX + 1];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct task_dump);
} dumps SEC(".maps");

/* The user registers, as saved when the thread entered the kernel: see saved_registers() in bpf/registers.h. */
static __always_inline void task_registers(struct task_struct *task, struct task_event *event)
{
	struct arch_registers regs;
	__u64 at;

	event->flags |= TASK_NO_REGISTERS;
	if (!has_task_registers && !ARCH_REGISTERS_AT)
		return;
	if (has_task_registers)
		at = bpf_task_pt_regs(task);
	else
		at = (__u64)BPF_CORE_READ(task, stack) + ARCH_REGISTERS_AT;
	if (bpf_probe_read_kernel(&regs, sizeof(regs), (void *)at) || !arch_in_user_mode(&regs) ||
	    arch_no_program(&regs))
		return;
	event->flags &= ~TASK_NO_REGISTERS;
	if (arch_in_other_mode(&regs))
		event->flags |= TASK_32_BIT;
	ARCH_COPY_REGISTERS(event, &regs);
	event->call = arch_call(&regs);
	ARCH_COPY_ARGUMENTS(event->arguments, &regs);
}

SEC("iter/task")
int tell_task(struct bpf_iter__task *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct task_struct *task = ctx->task;
	struct task_event *event;
	struct task_dump *dump;
	__u32 zero = 0;
	__u64 size;
	long bytes;

	dump = bpf_map_lookup_elem(&dumps, &zero);
	if (!task || !dump || (__u32)task->tgid != dump->tgid)
		return 0;
	event = &dump->event;
	__builtin_memset(event, 0, sizeof(*event));
	/*
	 * In this order, and before the registers: the count goes up before a thread leaves its CPU. So one that ran
	 * since the reading before and is not on a CPU now has another count; and one that begins to run from now on
	 * will have by the next reading.
	 */
	if (task_on_cpu(task))
		event->flags |= TASK_ON_CPU;
	asm volatile("" ::: "memory");
	event->switches = *(volatile unsigned long *)&task->nvcsw + *(volatile unsigned long *)&task->nivcsw;
	asm volatile("" ::: "memory");
	event->tgid = task->tgid;
	event->tid = task->pid;
	event->state = task_state(task);
	event->start_time = task->group_leader->start_time;
	event->mm = (__u64)BPF_CORE_READ(task, mm);
	event->thread_pointer = arch_read_thread_pointer(task);
	if (BPF_CORE_READ(task, vfork_done))
		event->flags |= TASK_VFORK;
	bpf_probe_read_kernel_str(event->comm, sizeof(event->comm), task->comm);
	event->call = ARCH_NO_CALL;
	if (task->flags & PF_KTHREAD)
		event->flags |= TASK_KERNEL_THREAD;
	else
		task_registers(task, event);
	bytes = bpf_get_task_stack(task, dump->frames, KERNEL_FRAMES_MAX * 8, 0);
	if (bytes < 0)
		bytes = 0;
	event->kernel_frames = (__u32)bytes / 8;
	size = sizeof(*event) + (__u64)event->kernel_frames * 8;
	event->size = (__u32)size;
	walk_opaque(size);
	if (size > sizeof(*event) + KERNEL_FRAMES_MAX * 8)
		return 0;
	bpf_seq_write(seq, event, size);
	return 0;
}

/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * walks: takes the stacks of the current thread, and sends each once. To be called in this order:
 *
 *   take_task()          whose stacks they are
 *   take_kernel_stack()
 *   begin_user_stacks()  from the registers in the scratch's `native` (registers.h)
 *   take_user_stacks()   the native walk, then the runtime's; or call their parts, if only one is wanted
 *
 * Used by the sampler and by traced programs (lang/rt/rt_stack.bpf.c). Each walk may pause when its time is over
 * (time.h).
 */
#ifndef STRATA_BPF_WALKS_H
#define STRATA_BPF_WALKS_H

#include "abi/counters.h"
#include "abi/events.h"
#include "abi/loss.h"
#include "bpf/native.h"
#include "bpf/process.h"
#include "bpf/process_maps.h"
#include "bpf/registers.h"
#include "bpf/scratch.h"
#include "bpf/second_stack.h"
#include "bpf/send.h"
#include "bpf/shim.h"
#include "bpf/time.h"

#define PF_EXITING    0x00000004 /* of task.flags: include/linux/sched.h */
#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD    0x00200000

static __always_inline int kernel_hash_step_in(struct scratch *s, __u32 i)
{
	walk_opaque(i);
	if (i >= s->kernel_frames || i >= KERNEL_FRAMES_MAX)
		return 1;
	s->kernel_sum = hash_mix(s->kernel_sum, s->kernel_stack.frames[i]);
	return 0;
}
WALK_LOOP(kernel_hash, KERNEL_FRAMES_MAX)

/*
 * Takes the kernel stack without its innermost `skip` frames. `innermost`, if not 0, replaces the first of the others.
 * Inlined, because at a tracepoint the kernel first unwinds through the functions of the BPF program, 150 ns each.
 */
static __always_inline void take_kernel_stack(struct scratch *s, void *ctx, __u64 skip, __u64 innermost)
{
	long bytes;
	__u32 frames;

	bytes = bpf_get_stack(ctx, s->kernel_stack.frames, KERNEL_FRAMES_MAX * 8, skip);
	if (bytes <= 0)
		return;
	if (innermost)
		s->kernel_stack.frames[0] = innermost;
	frames = (__u32)bytes / 8;
	s->kernel_sum = 1;
	s->kernel_frames = frames;
	kernel_hash(s);
	s->sample.kernel_stack = s->kernel_sum;
	fill_stack_header(&s->kernel_stack.header, &s->sample, EVENT_KERNEL_STACK, s->kernel_sum, frames,
			  LOSS_NONE);
	send_stack(&s->kernel_stack, sizeof(s->kernel_stack.header) + frames * 8ull, sizeof(s->kernel_stack),
		   s->kernel_sum);
}

/* The registers that the native walk begins with, kept for a snapshot: it changes its own. */
static __always_inline void keep_for_snapshot(struct scratch *s)
{
	const struct native_walk *walk = &s->native;

	s->snapshot.header.pc = walk->pc;
	__builtin_memcpy(s->snapshot.header.registers, walk->registers, sizeof(walk->registers));
}

/* Begins the native walk, for the first time or with other mappings. */
static __always_inline void begin_native_walk(struct scratch *s)
{
	s->native.hash = hash_mix(s->sample.cookie, s->process.epoch);
	native_begin(s, &s->process);
}

static __always_inline void begin_native_stack(struct scratch *s)
{
	struct native_walk *walk = &s->native;

	s->task.uprobe_page = s->task.torn = 0;
	if (s->task.uprobes) {
		uprobe_begin(SCRATCH_REF(s));
		keep_for_snapshot(s);
	}
	s->task.uretprobe = walk->uretprobe;
	if (s->cache.process)
		begin_native_walk(s);
}

/* Not 0: it pauses (time.h). */
FIND_GLOBAL int walk_native(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);

	if (!s || native_go_on(s))
		return 1;
	count(COUNTER_FRAMES, s->native.count);
	return 0;
}

/* After a failed walk: if the mappings may have changed, begins it again with new ones and returns true. */
static __always_inline bool begin_native_again(struct scratch *s)
{
#ifdef STRATA_BOUNDED_LOOPS
	return false;
#else
	if (!loaded.finds || !find_again(s))
		return false;
	if (loaded.walks & SAMPLER_SECOND)
		load_second(SCRATCH_REF(s));
	s->native.pc = s->snapshot.header.pc;
	__builtin_memcpy(s->native.registers, s->snapshot.header.registers, sizeof(s->native.registers));
	native_take_registers(&s->native);
	s->native.uretprobe = s->task.uretprobe;
	begin_native_walk(s);
	return true;
#endif
}

/* True: it pauses (time.h). */
static __always_inline bool take_native_stack(struct scratch *s)
{
	bool doubtful = true;

	s->find.sure = 0;
	if (s->cache.process) {
		if (walk_native(SCRATCH_REF(s)))
			return true;
		doubtful = tables_doubtful(s, &s->process);
		/* Absent rows do not mean that mappings have changed. */
		if (doubtful && s->native.loss != LOSS_LATE && begin_native_again(s)) {
			if (walk_native(SCRATCH_REF(s)))
				return true;
			doubtful = tables_doubtful(s, &s->process);
		}
		/* User space decides whether this code keeps frame pointers at all. */
		if (native_fails_trial(&s->native)) {
			doubtful = true;
			s->find.sure = 0;
		}
	}
	/* User space can learn rules for code without one (engine/watch_learn.c), and make absent rows. */
	if ((s->native.loss == LOSS_NO_RULE || s->native.loss == LOSS_LATE) && s->native.unmapped)
		s->find.sure = 0;
	if (!doubtful || s->find.sure) {
		s->sample.native_loss = s->native.loss;
		s->sample.native_stack = native_stack_id(s);
		return false;
	}
	s->sample.native_loss = LOSS_LATE;
	if (s->find.is_empty)
		return false;
	s->unread |= s->find.busy;
	s->sample.flags |= SAMPLE_LATE;
	return false;
}

/* Address of the runtime's thread state, if it was kept from an earlier sample; else 0. */
static __always_inline __u64 known_thread(struct scratch *s)
{
	__u64 key = (__u64)s->sample.tgid << 32 | s->sample.tid, *kept;

	if (s->cache.tid == s->sample.tid)
		return s->cache.thread;
	kept = bpf_map_lookup_elem(&runtime_threads, &key);
	return kept ? *kept : 0;
}

static __always_inline void keep_thread(struct scratch *s, __u64 thread, bool found)
{
	__u64 key = (__u64)s->sample.tgid << 32 | s->sample.tid;

	s->cache.tid = s->sample.tid;
	s->cache.thread = thread;
	if (found)
		bpf_map_update_elem(&runtime_threads, &key, &thread, BPF_ANY);
}

/* Shares what this walk noted about the process with all CPUs. */
static __always_inline void share_note(struct scratch *s)
{
	__u32 tgid = s->sample.tgid;
	struct runtime_process *process;

	if (s->runtime.noted != RUNTIME_TO_NOTE)
		return;
	process = bpf_map_lookup_elem(&runtime_processes, &tgid);
	if (!process || process->check != s->runtime.check)
		return;
	if (s->second.noted)
		process->noted = RUNTIME_NOTED;
	s->runtime.noted = process->noted;
}

static __always_inline void begin_second_stack(struct scratch *s)
{
	struct second_walk *walk = &s->second;
	__u64 known;

	if (s->cache.second != CACHED_SECOND)
		return;
	s->sample.flags |= SAMPLE_SECOND;
	walk->thread_id = s->task.thread_pointer;
	walk->sequence = s->sample.sequence;
	walk->tgid = s->sample.tgid;
	walk->hash = walk->hash_seed = s->sample.cookie;
	known = known_thread(s);
	s->native_fault = s->fault;
	s->fault = 0;
	walk->noted = 0;
	share_note(s);
	second_begin(s, &s->runtime, known);
	if (walk->noted)
		share_note(s);
	if (walk->is_current)
		s->sample.flags |= SAMPLE_CURRENT;
	if (s->fault && !walk->thread)
		s->unread = 1;
	if (walk->thread)
		keep_thread(s, walk->thread, walk->thread != known && !walk->told);
}

/* True: it pauses (time.h). */
static __always_inline bool take_second_stack(struct scratch *s)
{
	struct second_walk *walk = &s->second;

	if (s->cache.second != CACHED_SECOND)
		return false;
	if (second_go_on(s, &s->runtime))
		return true;
	if (walk->doubt && (!walk->loss || walk->loss == LOSS_SECOND_UNLINKED) && s->fault != s->absent)
		walk->loss = LOSS_SECOND_READ;
	if (!s->fault)
		s->fault = s->native_fault;
	s->sample.second_loss = walk->thread || walk->loss ? walk->loss : LOSS_SECOND_NO_THREAD;
	count(COUNTER_FRAMES, walk->count);
	if (walk->searched)
		count(COUNTER_THREADS, walk->searched);
	if (walk->count && s->task.borrows)
		s->sample.flags |= SAMPLE_VFORK;
	s->sample.second_stack = second_stack_id(s);
	return false;
}

/*
 * tgid << 32 | pid, as user space knows them. If strata has a pid namespace of its own: 0 for threads of any other
 * namespace, even of one nested in it.
 */
static __always_inline __u64 current_ids(void)
{
	__u64 ids = 0; /* struct bpf_pidns_info: its layout is part of the helper's ABI and needs no relocation */

	if (!loaded.namespace_inode)
		return bpf_get_current_pid_tgid();
	bpf_get_ns_current_pid_tgid(loaded.namespace_device, loaded.namespace_inode, (void *)&ids, sizeof(ids));
	return ids;
}

/*
 * Fills in s->task and s->sample for the current thread. Global, so that it is verified once: for each pointer loaded
 * from a task the verifier searches all of the kernel's types, 0.14 ms.
 */
__noinline int take_task(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u64 pid_tgid = current_ids(), start;
	struct task_struct *task;

	if (!s)
		return 0;
	s->task.no_call = 0;
	s->sample.tgid = pid_tgid >> 32;
	s->sample.tid = (__u32)pid_tgid;
	if (loaded.task_registers) { /* then it also has bpf_get_current_task_btf(): loads instead of helper calls save
					30 ns each */
		task = bpf_get_current_task_btf();
		start = task->group_leader->start_time;
		*(volatile __u64 *)&s->task.mm =
			(__u64)task->mm; /* through memory, as the verifier allows no arithmetic with a pointer */
		*(volatile __u64 *)&s->task.uprobes =
			HAS_UPROBES ? (__u64)((struct task_struct___strata *)task)->utask : 0;
		s->task.flags = task->flags;
		s->task.borrows = task->vfork_done != NULL;
		s->task.thread_pointer = arch_thread_pointer(task);
	} else {
		task = (struct task_struct *)bpf_get_current_task();
		start = BPF_CORE_READ(task, group_leader, start_time);
		s->task.mm = (__u64)BPF_CORE_READ(task, mm);
		s->task.uprobes = HAS_UPROBES ? (__u64)BPF_CORE_READ((struct task_struct___strata *)task, utask) : 0;
		s->task.flags = BPF_CORE_READ(task, flags);
		s->task.borrows = BPF_CORE_READ(task, vfork_done) != NULL;
		s->task.thread_pointer = arch_read_thread_pointer(task);
	}
	s->sample.cookie = hash_mix(hash_mix(hash_mix(s->sample.tgid, start), *(volatile __u64 *)&s->task.mm), 0);
	return 0;
}

/*
 * Has the current thread, which is exiting, already given back a borrowed address space while it still points to it?
 * The child of a vfork() wakes its parent (mm_release() in kernel/fork.c: from then on vfork_done is NULL) a moment
 * before it drops the address space (exit_mm()). The child's stack is the parent's, and the parent writes to it from
 * then on.
 */
__noinline int has_given_back(scratch_ref scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task(), *parent;
	struct scratch *s = SCRATCH_OF(scratch);

	if (!s || BPF_CORE_READ(task, vfork_done))
		return 0;
	parent = BPF_CORE_READ(task, real_parent);
	return (__u64)BPF_CORE_READ(parent, mm) == s->task.mm &&
	       BPF_CORE_READ(parent, tgid) != BPF_CORE_READ(task, tgid);
}

/* Global, so that the verifier does not check it again at the end of each path. */
__noinline int send_user_stacks(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u64 size;

	if (!s)
		return 0;
	if (s->sample.native_stack) {
		fill_stack_header(&s->native_stack.header, &s->sample, EVENT_NATIVE_STACK, s->sample.native_stack,
				  s->native.count, s->native.loss);
		size = sizeof(s->native_stack.header) + s->native.count * 8ull;
		send_stack(&s->native_stack, size, sizeof(s->native_stack), s->sample.native_stack);
	}
	if (s->sample.second_stack) {
		fill_stack_header(&s->second_stack.header, &s->sample, EVENT_SECOND_STACK, s->sample.second_stack,
				  s->second.count, s->second.loss);
		s->second_stack.header.header.runtime = s->runtime.runtime;
		size = sizeof(s->second_stack.header) + s->second.count * sizeof(struct second_frame);
		send_stack(&s->second_stack, size, sizeof(s->second_stack), s->sample.second_stack);
	}
	return 0;
}

/* Prepares the walks of the current thread's user part, which start from the registers in the scratch's `native`. */
static __always_inline void begin_user_stacks(struct scratch *s)
{
	s->unread = 0;
	s->fault = s->fault_last = 0;
	s->task.pc = s->native.pc;
	s->second.stack_pointer = s->native.sp;
	keep_for_snapshot(s); /* the walk of the second stack uses these */
	load_process(SCRATCH_REF(s), s->sample.tgid);
}

/*
 * Walks the user part, and sends it. 1: it has paused and must be called again. Global, so that it is verified once for
 * the tick and for task work.
 */
__noinline int take_user_stacks(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);

	if (!s)
		return 0;
	if (s->time.walks == WALKS_BEGIN) {
		begin_native_stack(s);
		s->time.walks = WALKS_NATIVE;
	}
	if (s->time.walks == WALKS_NATIVE) {
		if (take_native_stack(s))
			return 1;
		walk_time_rest(s);
		begin_second_stack(s);
		s->time.walks = WALKS_SECOND;
	}
	if (take_second_stack(s))
		return 1;
	send_user_stacks(scratch);
	return 0;
}

#endif

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
#include "bpf/shim.h"

#include "abi/config.h"
#include "abi/events.h"
#include "abi/loss.h"
#include "bpf/native.h"
#include "bpf/second_stack.h"
#include "bpf/registers.h"
#include "bpf/send.h"

#define PF_EXITING    0x00000004 /* include/linux/sched.h */
#define PF_FORKNOEXEC 0x00000040
#define PF_KTHREAD    0x00200000
#define DOUBTFUL_NS   1000000000ull

char LICENSE[] SEC("license") = "GPL";

const volatile struct sampler_config loaded SEC(SAMPLER_CONFIG_SECTION) = {};

#include "bpf/filter.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct process_entry);
} processes SEC(".maps");

/* When a process last called exec: its tables from before are not valid any more. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} execs SEC(".maps");

/*
 * The watched processes, unless watch_all, and when each was added, with TARGET_*; children are added when they are
 * forked, of those that have TARGET_CHILDREN.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} targets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct runtime_process);
} runtime_processes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, RUNTIME_LAYOUTS_MAX);
	__type(key, __u32);
	__type(value, struct runtime_layout);
} runtime_layouts SEC(".maps");

/*
 * When what the maps of processes say changed the last time, CLOCK_MONOTONIC ns: written after each change. While it
 * stays the same, each scratch's cache (struct process_cache) is as good as a lookup.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} changed SEC(".maps");

/* Where a runtime keeps a thread, as the walk found it (second.thread); checked on each use. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 32768);
	__type(key, __u64);
	__type(value, __u64);
} runtime_threads SEC(".maps");

/* By CPU: which ticks of its clock have come; user space finds out how many have not. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* set by the loader */
	__uint(map_flags, BPF_F_MMAPABLE);
	__type(key, __u32);
	__type(value, struct clock_ticks);
} ticks SEC(".maps");

/*
 * Without the innermost `skip` frames. `innermost`, if not 0, takes the place of the first of the others. Inlined: at a
 * tracepoint the kernel unwinds through the functions of the program first, 150 ns each.
 */
static __always_inline void take_kernel_stack(struct scratch *s, void *ctx, __u64 skip, __u64 innermost)
{
	__u64 hash = 1;
	long bytes;
	__u32 i, frames;

	bytes = bpf_get_stack(ctx, s->kernel_stack.frames, KERNEL_FRAMES_MAX * 8, skip);
	if (bytes <= 0)
		return;
	if (innermost)
		s->kernel_stack.frames[0] = innermost;
	frames = (__u32)bytes / 8;
	for (i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i >= frames)
			break;
		hash = hash_mix(hash, s->kernel_stack.frames[i]);
	}
	s->sample.kernel_stack = hash;
	fill_stack_header(&s->kernel_stack.header, &s->sample, EVENT_KERNEL_STACK, hash, frames);
	send_stack(&s->kernel_stack, sizeof(s->kernel_stack.header) + frames * 8ull, sizeof(s->kernel_stack), hash);
}

/* Of what is called once without find.h, and then not global: 5.10 allows few calls on top of each other. */
#ifndef STRATA_BOUNDED_LOOPS
#define FIND_GLOBAL __noinline
#include "bpf/find.h"
#else
#define FIND_GLOBAL static __always_inline
static bool find_process_by_itself(struct scratch *s, __u32 tgid)
{
	return false;
}

static bool found_is_there(const struct found_process *found)
{
	return false;
}

static bool find_names(struct scratch *s, __u32 tgid)
{
	return true;
}
#endif

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

/* The registers that the native walk begins with, kept for a snapshot: it changes its own. */
static __always_inline void keep_for_snapshot(struct scratch *s)
{
	const struct native_walk *walk = &s->native;

	s->snapshot.header.pc = walk->pc;
	__builtin_memcpy(s->snapshot.header.registers, walk->registers, sizeof(walk->registers));
}

/* Begins the native walk, for the first time or by other mappings. */
static __always_inline void begin_native_walk(struct scratch *s)
{
	s->native.hash = hash_mix(s->sample.cookie, s->process.epoch);
	native_begin(s, &s->process);
}

static __always_inline void begin_native_stack(struct scratch *s)
{
	struct native_walk *walk = &s->native;

	s->task.uprobe_page = 0;
	if (s->task.uprobes)
		uprobe_begin(s->index);
	s->task.uretprobe = walk->uretprobe;
	keep_for_snapshot(s);
	if (s->cache.process)
		begin_native_walk(s);
}

/* Not 0: it pauses (time.h). */
FIND_GLOBAL int walk_native(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);

	if (!s || native_go_on(s))
		return 1;
	count(COUNTER_FRAMES, s->native.count);
	return 0;
}

/* If the mappings were others, by which a walk has failed, it begins anew: true. */
static __always_inline bool begin_native_again(struct scratch *s)
{
#ifdef STRATA_BOUNDED_LOOPS
	return false;
#else
	if (!loaded.finds || !find_again(s))
		return false;
	if (loaded.walks & SAMPLER_SECOND)
		load_second(s->index);
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
		if (walk_native(s->index))
			return true;
		doubtful = tables_doubtful(s, &s->process);
		/* Rows that are absent are no sign of other mappings. */
		if (doubtful && s->native.loss != LOSS_LATE && begin_native_again(s)) {
			if (walk_native(s->index))
				return true;
			doubtful = tables_doubtful(s, &s->process);
		}
	}
	/* What has no rule user space can learn (engine/watch_learn.c), and absent rows it can make, wherever they are.
	 */
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

/* Where an earlier sample found that the runtime keeps the thread; 0: that is not kept. */
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

/* What walks have noted of the process, said by any CPU for all. */
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
	if (walk->count && BPF_CORE_READ((struct task_struct *)bpf_get_current_task(), vfork_done))
		s->sample.flags |= SAMPLE_VFORK;
	s->sample.second_stack = second_stack_id(s);
	return false;
}

/*
 * tgid << 32 | pid, as user space knows them. 0 of what runs in another pid namespace than strata, when that has one of
 * its own; of the namespaces within it, too.
 */
static __always_inline __u64 current_ids(void)
{
	__u64 ids = 0; /* struct bpf_pidns_info, whose layout is the helper's own and is not relocated */

	if (!loaded.namespace_inode)
		return bpf_get_current_pid_tgid();
	bpf_get_ns_current_pid_tgid(loaded.namespace_device, loaded.namespace_inode, (void *)&ids, sizeof(ids));
	return ids;
}

/*
 * Says in s->task and s->sample whose sample it is. Global, so that it is verified once: for each pointer that is
 * loaded from a task the verifier looks through all of the kernel's types, 0.14 ms.
 */
__noinline int take_task(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);
	__u64 pid_tgid = current_ids(), start;
	struct task_struct *task;

	if (!s)
		return 0;
	s->task.no_call = 0;
	s->sample.tgid = pid_tgid >> 32;
	s->sample.tid = (__u32)pid_tgid;
	if (loaded.task_registers) { /* so it has this helper, too: loads instead of calls, 30 ns each */
		task = bpf_get_current_task_btf();
		start = task->group_leader->start_time;
		*(volatile __u64 *)&s->task.mm = (__u64)task->mm; /* by memory: no arithmetic with a pointer */
		*(volatile __u64 *)&s->task.uprobes =
			HAS_UPROBES ? (__u64)((struct task_struct___strata *)task)->utask : 0;
		s->task.flags = task->flags;
		s->task.thread_pointer = arch_thread_pointer(task);
	} else {
		task = (struct task_struct *)bpf_get_current_task();
		start = BPF_CORE_READ(task, group_leader, start_time);
		s->task.mm = (__u64)BPF_CORE_READ(task, mm);
		s->task.uprobes = HAS_UPROBES ? (__u64)BPF_CORE_READ((struct task_struct___strata *)task, utask) : 0;
		s->task.flags = BPF_CORE_READ(task, flags);
		s->task.thread_pointer = arch_read_thread_pointer(task);
	}
	s->sample.cookie = hash_mix(hash_mix(hash_mix(s->sample.tgid, start), *(volatile __u64 *)&s->task.mm), 0);
	return 0;
}

/*
 * Whether the current thread, which is ending, has given a borrowed address space back, and still points to it. The
 * child of a vfork() wakes its parent up (mm_release() in kernel/fork.c: vfork_done is NULL from then on) a moment
 * before it lets go of the address space (exit_mm()). Its stack is the parent's, which writes to it from then on.
 */
__noinline int has_given_back(__u32 scratch)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task(), *parent;
	struct scratch *s = scratch_at(scratch);

	if (!s || BPF_CORE_READ(task, vfork_done))
		return 0;
	parent = BPF_CORE_READ(task, real_parent);
	return (__u64)BPF_CORE_READ(parent, mm) == s->task.mm &&
	       BPF_CORE_READ(parent, tgid) != BPF_CORE_READ(task, tgid);
}

/* Global for the verifier, as it is the end of many paths. */
__noinline int send_user_stacks(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);
	__u64 size;

	if (!s)
		return 0;
	if (s->sample.native_stack) {
		fill_stack_header(&s->native_stack.header, &s->sample, EVENT_NATIVE_STACK, s->sample.native_stack,
				  s->native.count);
		size = sizeof(s->native_stack.header) + s->native.count * 8ull;
		send_stack(&s->native_stack, size, sizeof(s->native_stack), s->sample.native_stack);
	}
	if (s->sample.second_stack) {
		fill_stack_header(&s->second_stack.header, &s->sample, EVENT_SECOND_STACK, s->sample.second_stack,
				  s->second.count);
		s->second_stack.header.header.runtime = s->runtime.runtime;
		size = sizeof(s->second_stack.header) + s->second.count * sizeof(struct second_frame);
		send_stack(&s->second_stack, size, sizeof(s->second_stack), s->sample.second_stack);
	}
	return 0;
}

/* Before the walks of the current thread's user part from the registers in the scratch's `native`. */
static __always_inline void begin_user_stacks(struct scratch *s)
{
	s->unread = 0;
	s->fault = s->fault_last = 0;
	s->task.pc = s->native.pc;
	s->second.stack_pointer = s->native.sp;
	keep_for_snapshot(s); /* walks of second stacks read these */
	load_process(s->index, s->sample.tgid);
}

/*
 * Walks the user part, and sends it. 1: it pauses, and is to be called again. Global, so that it is verified once for
 * the tick and for task work.
 */
__noinline int take_user_stacks(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);

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

#ifdef SAMPLER_RESUMES
#include "bpf/resume.h"
#else
static void resume_later(struct scratch *s)
{
}

static bool resume_joins(struct scratch *s)
{
	return false;
}
#endif

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

/* After take_task(). */
static __always_inline void begin_sample(struct scratch *s, __u32 cpu, __u64 now)
{
	count(COUNTER_RUNS, 1);
	s->sequence++;
	s->sample.header.type = EVENT_SAMPLE;
	s->sample.time = now;
	s->sample.sequence = s->sequence << 16 | s->index;
	s->sample.kernel_stack = s->sample.native_stack = s->sample.second_stack = 0;
	s->sample.native_loss = s->sample.second_loss = LOSS_NONE;
	s->sample.flags = 0;
	s->sample.cpu = cpu;
	s->sample.waits = 0;
	s->sample.weight = s->sample.argument = 0;
	s->sample.cgroup = bpf_get_current_cgroup_id();
	bpf_get_current_comm(s->sample.comm, sizeof(s->sample.comm));
}

/* Has the thread code of a program's own? */
static __always_inline bool has_program(struct scratch *s)
{
	if (s->task.flags & PF_KTHREAD)
		s->sample.flags |= SAMPLE_KERNEL_THREAD;
	else if (!s->task.mm || (s->task.flags & PF_EXITING && has_given_back(s->index)))
		s->sample.flags |= SAMPLE_EXITING;
	return !(s->sample.flags & (SAMPLE_KERNEL_THREAD | SAMPLE_EXITING));
}

/* The user part, from the registers in the scratch; `err`: what was found of them. */
static __always_inline void take_program(struct scratch *s, int err, __u64 now)
{
	if (err == REGISTERS_NO_PROGRAM) {
		s->sample.flags |= SAMPLE_KERNEL_THREAD;
	} else if (err == REGISTERS_OTHER_MODE) {
		s->sample.native_loss = LOSS_COMPAT;
	} else if (err) {
		s->sample.native_loss = LOSS_NO_USER_REGS;
	} else if (!resume_joins(s)) {
		begin_user_stacks(s);
		/* Where there are two walks, the first one leaves the other some time. */
		walk_time_begin(s, now, loaded.sample_ns,
				s->cache.second == CACHED_SECOND ? loaded.sample_ns / 2 : loaded.sample_ns);
		take_user_stacks(s->index);
		resume_later(s);
		if (loaded.verify_every && s->sequence % loaded.verify_every == 0 && !s->sample.native_loss)
			s->sample.flags |= SAMPLE_VERIFY;
	}
}

static __always_inline void send_sample(struct scratch *s)
{
	bool urgent = s->sample.flags & SAMPLE_UNJUDGED;

	if (bpf_ringbuf_output(&events, &s->sample, sizeof(s->sample), wakeup(s, urgent))) {
		count(COUNTER_RING_FULL, 1);
	} else {
		count(COUNTER_SENT, 1);
		if (s->sample.flags & (SAMPLE_LATE | SAMPLE_VERIFY))
			send_snapshot(s);
	}
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
	take_task(cpu);
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

#ifndef SAMPLER_WALKS_ONLY
#include "bpf/off_cpu.h"
#endif

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
	 * What is known of a runtime here stays until user space has read the exec record: it may have put in the new
	 * one already, and an old one is harmless, because its threads are not this one.
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
		return 0; /* what these are called there is not told; the side-band's record comes soon */
	if (!loaded.watch_all) {
		added = bpf_map_lookup_elem(&targets, &parent_tgid);
		if (!added || !(*added & TARGET_CHILDREN))
			return 0;
		bpf_map_update_elem(&targets, &child_tgid, &child_added, BPF_ANY);
	}
	/* What was known of an earlier process with this pid is void. */
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
		/* And the same thread there: after a fork CPython takes its thread lists apart for a moment. */
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

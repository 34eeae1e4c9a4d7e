// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks in traced programs: the sampler's walkers, maps and records (bpf/walks.h), called from any probe. The frames
 * of a stack are sent once, before the record that names it by its id.
 *
 * The sampler has one scratch for each CPU. A probe may be interrupted by another one in the middle of a walk. So here
 * a scratch is reserved for each walk, and there are some more.
 */
/* Each script has the walk verified anew, and a fourth of the body saves 6 ms; a frame costs a nanosecond more. */
#define NATIVE_UNROLL 2u

#include "bpf/process_events.h"
#include "bpf/walks.h"
#include "lang/rt/abi.h"
#include "lang/rt/take.h"

/* As enum stack_part of lang/core/type.h. */
#define PART_KERNEL 1
#define PART_NATIVE SAMPLER_NATIVE
#define PART_SECOND SAMPLER_SECOND
/* The probe is in the program's own context: RT_STACK_IN_TASK. */
#define PART_IN_TASK RT_STACK_IN_TASK

#define TRACE_SPARES 2 /* of sampler_config.spares */

static __always_inline struct scratch *take_scratch(__u32 *index)
{
	__u32 i;

	*index = bpf_get_smp_processor_id();
	for (i = 0; i <= TRACE_SPARES; i++) {
		struct scratch *s = scratch_at(*index);

		if (s && rt_take(&s->busy)) {
			s->index = *index;
			return s;
		}
		*index = loaded.cpus + i;
	}
	return NULL;
}

/*
 * What the walks of user space, and their records, need to know; with `saved` the registers as well. Global, so that it
 * is verified once.
 */
__noinline int rt_begin_user(scratch_ref scratch, __u32 saved)
{
	struct scratch *s = SCRATCH_OF(scratch);

	walk_opaque(saved);
	if (!s)
		return REGISTERS_UNREADABLE;
	take_task(scratch);
	s->sequence++;
	s->unread = 0;
	s->sample.time = bpf_ktime_get_ns();
	s->sample.sequence = s->sequence << 16 | s->index;
	return saved ? saved_registers(s, loaded.task_registers) : 0;
}

/* Kernel stacks are the same in all processes. */
static __always_inline void begin(struct scratch *s)
{
	s->sample.time = s->sample.cookie = 0;
	s->sample.tgid = 0;
	s->sample.kernel_stack = s->sample.native_stack = s->sample.second_stack = 0;
	s->sample.native_loss = s->sample.second_loss = LOSS_NONE;
	s->sample.flags = 0;
	s->kernel_stack.header.count = s->native.count = s->second.count = 0;
}

/* Of a stack that is asked for in part only, the part makes the id. */
static __always_inline int cut_native_step_in(struct scratch *s, __u32 i)
{
	walk_opaque(i);
	if (i >= s->native.count)
		return 1;
	s->native.hash = hash_mix(s->native.hash, s->native_stack.frames[i & (NATIVE_FRAMES_MAX - 1)]);
	return 0;
}
WALK_LOOP(cut_native, NATIVE_FRAMES_MAX)

static __always_inline int cut_second_step_in(struct scratch *s, __u32 i)
{
	struct second_frame *frame;

	walk_opaque(i);
	if (i >= s->second.count)
		return 1;
	frame = &s->second_stack.frames[i & (SECOND_FRAMES_MAX - 1)];
	s->second.hash = hash_mix(hash_mix(s->second.hash, frame->code), (__u32)frame->position);
	return 0;
}
WALK_LOOP(cut_second, SECOND_FRAMES_MAX)

static __always_inline int cut_stacks_in(struct scratch *s, __u32 limit)
{
	if (s->native.count > limit && s->sample.native_stack && !(s->sample.flags & SAMPLE_LATE)) {
		s->native.hash = hash_mix(s->sample.cookie, limit);
		s->native.count = limit;
		cut_native(s);
		s->sample.native_loss = LOSS_NONE;
		s->sample.native_stack = s->native.hash ? s->native.hash : 1;
	}
	if (s->second.count > limit && s->sample.second_stack) {
		s->second.hash = hash_mix(s->sample.cookie, limit);
		s->second.count = limit;
		cut_second(s);
		s->sample.second_loss = LOSS_NONE;
		s->sample.second_stack = s->second.hash ? s->second.hash : 1;
	}
	return 0;
}
WALK_GLOBAL(int, cut_stacks, __u32)

/* Copies of stacks of a process without tables. */
struct late_process {
	__u64 since, copies; /* of now, and how many since then */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct late_process);
} rt_late SEC(".maps");

/* A script may ask for several stacks in one event. */
#define LATE_COPIES   4
#define LATE_EVERY_NS 2000000ull

/*
 * Has user space make the tables of this process, and finish this stack from a copy: its id is the snapshot's. Copies
 * are large: of many events in a short time only some are sent.
 */
static __always_inline void tell_late(struct scratch *s)
{
	struct late_process first = {s->sample.time, 1}, *late;
	__u32 tgid = s->sample.tgid; /* before 6.2 a key cannot be where the argument of a global function points */

	late = bpf_map_lookup_elem(&rt_late, &tgid);
	s->native.count = 0;
	s->sample.native_stack = 0;
	if (!late || s->sample.time >= late->since + LATE_EVERY_NS)
		bpf_map_update_elem(&rt_late, &tgid, &first, BPF_ANY);
	else if (late->copies++ >= LATE_COPIES)
		return;
	send_snapshot(s);
	s->sample.native_stack = s->sample.sequence;
}

/*
 * Global, so that the walkers are verified once, and not for each use of a stack. What the whole script does not ask
 * for the verifier leaves out.
 */
__noinline int rt_walk(scratch_ref scratch, __u32 parts, __u32 limit)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u64 whole;

	walk_opaque(parts);
	walk_opaque(limit);
	if (!s)
		return 0;
	begin_user_stacks(s);
	whole = parts & PART_IN_TASK ? TASK_TIME_NS : loaded.sample_ns;
	walk_time_begin(s, s->sample.time, whole,
			(parts & loaded.walks & PART_NATIVE) && s->cache.second == CACHED_SECOND ? whole / 2 : whole);
	if (parts & loaded.walks & PART_NATIVE) {
		begin_native_stack(s);
		take_native_stack(s);
	}
	if (parts & loaded.walks & PART_SECOND) {
		walk_time_rest(s);
		begin_second_stack(s);
		take_second_stack(s);
	}
	if (limit)
		WALK_CALL(cut_stacks, s, limit);
	send_user_stacks(scratch);
	if (s->sample.flags & SAMPLE_LATE)
		tell_late(s);
	return 0;
}

static __always_inline void cut_kernel(struct scratch *s, void *ctx, __u32 limit)
{
	__u32 i, frames = s->kernel_stack.header.count;
	__u64 hash = limit;

	if (!limit || frames <= limit)
		return;
	for (i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i >= limit)
			break;
		hash = hash_mix(hash, s->kernel_stack.frames[i]);
	}
	s->sample.kernel_stack = hash;
	fill_stack_header(&s->kernel_stack.header, &s->sample, EVENT_KERNEL_STACK, hash, limit, LOSS_NONE);
	send_stack(&s->kernel_stack, sizeof(s->kernel_stack.header) + limit * 8ull, sizeof(s->kernel_stack), hash);
}

static __always_inline void fill(const struct scratch *s, struct rt_stack_value *value, __u32 parts, __u32 limit)
{
	value->kernel = s->sample.kernel_stack;
	value->native = s->sample.native_stack;
	value->second = s->sample.second_stack;
	value->tgid = s->sample.tgid;
	value->native_loss = s->sample.native_loss;
	value->second_loss = s->sample.second_loss;
	value->limit = limit;
	value->depth = s->kernel_stack.header.count;
	if (value->native)
		value->depth += s->native.count;
	if (value->second)
		value->depth += s->second.count;
}

/* The second frame of what was walked. Of a stack that is walked later it is not known yet. */
static __always_inline void fill_caller(const struct scratch *s, struct rt_stack_value *value)
{
	value->kernel = s->kernel_stack.header.count > 1 ? s->kernel_stack.frames[1] : 0;
	value->native = value->native && s->native.count > 1 && !(s->sample.flags & SAMPLE_LATE)
				? s->native_stack.frames[1] & ~(1ull << 63)
				: 0;
}

static __always_inline void no_stack(struct rt_stack_value *value)
{
	__builtin_memset(value, 0, sizeof(*value));
	value->native_loss = LOSS_INTERNAL;
	count(COUNTER_STACK_DROPPED, 1);
}

/*
 * Kernel code calls programs of fentry, rawtracepoint and iter, and their contexts lie on its stack. Above their
 * frames are those of the program and its functions, which nobody asked for. What is below the context is known by its
 * return address, which the caller finds above it:
 *
 *      frames    context()  program  trampoline  vfs_read        ksys_read        fentry that was called
 *                context()  program  trampoline                  ksys_read        fentry that was jumped to (Linux 7)
 *                context()  program  bpf_trace_run               __schedule       rawtracepoint
 *      stack     ... the context, registers, the first return address of these, ...
 */
#define CALLER_FRAMES 12
#define CALLER_WORDS  32
#define ENTRY_BYTES   16 /* a function calls its trampoline by one of its first instructions, maybe behind ENDBR */

/* Compares the frames with the words, which lie behind them. The number of the frame + 1; 0: none. */
__noinline int rt_find_caller(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
	__u32 i, j;

	if (!s)
		return 0;
	for (i = 0; i < CALLER_FRAMES; i++)
		for (j = 0; j < CALLER_WORDS; j++)
			if (s->kernel_stack.frames[i] == s->kernel_stack.frames[CALLER_FRAMES + j])
				return i + 1;
	return 0;
}

/*
 * Takes the frames that a BPF program's context lies behind. `function`: where the one begins that fentry or fexit is
 * at; else 0.
 */
static __always_inline void find_callers(struct scratch *s, void *ctx, __u64 function, __u64 *skip, __u64 *innermost)
{
	__u64 *frames = s->kernel_stack.frames;
	__u32 caller = 0, at;

	if (bpf_get_stack(ctx, frames, CALLER_FRAMES * 8, 0) > 0) {
		bpf_probe_read_kernel(frames + CALLER_FRAMES, CALLER_WORDS * 8, ctx);
		caller = rt_find_caller(SCRATCH_REF(s));
	}
	at = caller - 1;
	walk_opaque(at);
	if (!caller || at >= CALLER_FRAMES)
		return;
	*skip = at;
	if (!function || frames[at] - function <= ENTRY_BYTES)
		return;
	*skip = at ? at - 1 : 0;
	*innermost = function;
}

/*
 * A kernel stack alone needs no walk. The program calls bpf_get_stack() itself, because at a tracepoint the kernel
 * unwinds through the functions of the program first: `event` is a stack_event and the frames, `bytes` what came back.
 */
__hidden __u64 rt_stack_kernel(void *event, void *value, __u64 bytes, __u64 limit)
{
	struct stack_event *header = event;
	struct rt_stack_value *stack = value;
	__u64 *frames = (__u64 *)(header + 1), hash = 1;
	__u32 i, count = (__u32)bytes / 8;

	__builtin_memset(stack, 0, sizeof(*stack));
	stack->limit = (__u32)limit;
	if ((__s64)bytes <= 0)
		return 0;
	if (limit && count > limit)
		hash = count = (__u32)limit;
	for (i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i >= count)
			break;
		hash = hash_mix(hash, frames[i]);
	}
	header->header.type = EVENT_KERNEL_STACK;
	header->id = hash;
	header->time = header->cookie = 0;
	header->tgid = 0;
	header->count = count;
	header->loss = LOSS_NONE;
	header->pad = 0;
	send_stack(event, sizeof(*header) + count * 8ull, sizeof(*header) + KERNEL_FRAMES_MAX * 8, hash);
	stack->kernel = hash;
	stack->depth = count;
	return 0;
}

enum rt_context {
	/* It begins with struct pt_regs, of user space or of the kernel; that of a perf event allows 8-byte loads only.
	 */
	RT_CONTEXT_REGISTERS,
	/* In these, and in the kernel, user space's registers are those that the thread saved on its way in. */
	RT_CONTEXT_WORDS,
	RT_CONTEXT_OTHER
};

static __always_inline __u64 take_stack(void *ctx, void *value, __u64 parts, __u64 limit, enum rt_context kind,
					__u64 function)
{
	volatile struct arch_registers *regs = ctx;
	bool is_user = kind == RT_CONTEXT_REGISTERS && arch_in_user_mode(regs);
	__u64 skip = 0, innermost = 0;
	int err = REGISTERS_UNREADABLE;
	struct scratch *s;
	__u32 index;

	s = take_scratch(&index);
	if (!s) {
		no_stack(value);
		return 0;
	}
	begin(s);
	if (parts & (PART_NATIVE | PART_SECOND))
		err = rt_begin_user(SCRATCH_REF(s), !is_user);
	if (is_user) {
		ARCH_COPY_REGISTERS(&s->native, regs);
		native_take_registers(&s->native);
	}
	if (parts & PART_KERNEL) {
		if (kind == RT_CONTEXT_WORDS)
			find_callers(s, ctx, function, &skip, &innermost);
		take_kernel_stack(s, ctx, skip, innermost);
		cut_kernel(s, ctx, (__u32)limit);
	}
	if (!err)
		rt_walk(SCRATCH_REF(s), (__u32)parts, (__u32)limit);
	fill(s, value, (__u32)parts, (__u32)limit);
	if (parts & RT_STACK_CALLER)
		fill_caller(s, value);
	rt_give_back(&s->busy);
	return 0;
}

__hidden __u64 rt_stack_registers(void *ctx, void *value, __u64 parts, __u64 limit)
{
	return take_stack(ctx, value, parts, limit, RT_CONTEXT_REGISTERS, 0);
}

__hidden __u64 rt_stack_task(void *ctx, void *value, __u64 parts, __u64 limit)
{
	return take_stack(ctx, value, parts, limit, RT_CONTEXT_OTHER, 0);
}

__hidden __u64 rt_stack_words(void *ctx, void *value, __u64 parts, __u64 limit, __u64 function)
{
	return take_stack(ctx, value, parts, limit, RT_CONTEXT_WORDS, function);
}

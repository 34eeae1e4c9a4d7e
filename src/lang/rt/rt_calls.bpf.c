// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of Python's calls (calls.h), for programs whose action is CORE_PYTHON_CALL. Only linked into those.
 *
 * The time that a thread was on a CPU is the time that has passed, minus the time that it was off. For that, context
 * switches are watched, but only for threads that have made calls. The kernel's own sum, task->se.sum_exec_runtime, is
 * up to a tick old.
 *
 * A code object is identified by its address, and by what distinguishes it from a later one at the same address: where
 * its names are, and its first line.
 */
#include "vmlinux.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "lang/rt/calls.h"

#define SHIMS_MAX 4 /* of the interpreter's own frames in a row; there is one */

struct thread {
	__u64 off;   /* nanoseconds off the CPU */
	__u64 since; /* when it left the CPU; 0: it is on one */
	__u64 sequence;
	__u64 checked;      /* a code object that is no _Py_InitCleanup, or 0 */
	__u64 object, code; /* of the last one: its address and number */
	__u32 site, pad;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_CALLS_THREADS);
	__type(key, __u32);
	__type(value, struct thread);
} rt_calls_threads SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_CALLS_CODES);
	__type(key, __u64);
	__type(value, __u64);
} rt_calls_codes SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* set by the loader */
} events SEC(".maps") __weak;

extern __hidden __u64 rt_count(__u64 which);
extern __hidden __u64 rt_python_line(void *state);
extern __hidden __u64 rt_python_text(void *state, void *to, __u64 size, __u64 field);

static __always_inline __u64 word(__u64 address)
{
	__u64 value = 0;

	bpf_probe_read_user(&value, sizeof(value), (void *)address);
	return value;
}

static __always_inline __u64 mix(__u64 hash, __u64 value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15;
	return hash ^ hash >> 32;
}

static __always_inline bool send(void *record, __u64 size)
{
	if (!bpf_ringbuf_output(&events, record, size, 0))
		return true;
	rt_count(RT_COUNTER_LOST);
	return false;
}

static __always_inline __u64 object_of(const struct rt_python *p, __u64 frame)
{
	return word(frame + p->frame_code) & ~(__u64)p->code_tag;
}

/*
 * What CPython's own _Py_InitCleanup (3.12 on) is known by, which stands between a class's caller and its __init__.
 * What cannot be read is none.
 */
static __always_inline bool is_cleanup(const struct rt_calls *room, __u64 object)
{
	__u64 name = room->shim < 256 ? word(object + room->code_name) : 0;

	return name && name == word(object + room->code_filename);
}

/* The frame that runs this one, and its code object; 0: there is none. `checked`: no _Py_InitCleanup. */
static __always_inline __u64 parent_of(const struct rt_python *p, const struct rt_calls *room, __u64 checked,
				       __u64 *object)
{
	__u64 frame = word(p->frame + room->frame_back);
	__u32 i;

	*object = 0;
	for (i = 0; i < SHIMS_MAX && frame; i++) {
		__u8 owner = 0;

		if (room->shim < 256)
			bpf_probe_read_user(&owner, sizeof(owner), (void *)(frame + room->frame_owner));
		if (owner < room->shim) {
			*object = object_of(p, frame);
			if (*object == checked || !is_cleanup(room, *object))
				break;
		}
		frame = word(frame + room->frame_back);
	}
	return frame;
}

/* From 3.11 on a frame that is thrown into is linked later. */
static __always_inline bool has_parent(const struct rt_python *p)
{
	return p->kind < RT_PYTHON_THROW || (p->kind == RT_PYTHON_THROW && p->version < 0x30b);
}

/* Which line: of what begins, where its caller is; of what ends, where it is. For rt_python_call(). */
__hidden __u64 rt_python_call_line(void *state, void *at)
{
	struct rt_python *p = state;
	struct rt_calls *room = at;
	__u64 code = p->code, position = p->position, frame;

	if (p->kind >= RT_PYTHON_RETURN) {
		room->line = (__s32)rt_python_line(p);
		return 0;
	}
	frame = has_parent(p) ? parent_of(p, room, 0, &p->code) : 0;
	if (frame) {
		p->position = word(frame + p->frame_lasti);
		if (p->version < 0x30b)
			p->position = (__u64)(__s64)(__s32)p->position;
		room->line = (__s32)rt_python_line(p);
	}
	p->code = code;
	p->position = position;
	return 0;
}

/* Sends the names of a code object, if they were not. */
static __always_inline void tell_code(struct rt_python *p, struct rt_calls *room, __u64 id, __s32 line)
{
	struct rt_call_code *code = &room->code;
	__u64 sent = 1;

	if (bpf_map_lookup_elem(&rt_calls_codes, &id))
		return;
	room->code_event.type = RT_EVENT_SITE;
	room->code_event.site = room->code_site;
	code->code = id;
	code->first_line = line;
	code->pad = 0;
	rt_python_text(p, code->name, sizeof(code->name), room->code_name);
	rt_python_text(p, code->file, sizeof(code->file), room->code_filename);
	/* What could not be read, or has not arrived, is sent once more. */
	if (send(&room->code_event, sizeof(room->code_event) + sizeof(*code)) && code->name[0])
		bpf_map_update_elem(&rt_calls_codes, &id, &sent, BPF_ANY);
}

/*
 * The number of the code object; 0: it is _Py_InitCleanup. What ends has begun, so its code object is the one that the
 * thread had last at this address; what begins may be another one.
 */
static __always_inline __u64 code_of(struct rt_python *p, struct rt_calls *room, struct thread *thread, __u32 tgid)
{
	__u64 name, file, id;
	__s32 line = 0;

	if (p->kind >= RT_PYTHON_RETURN && p->code == thread->object)
		return thread->code;
	name = word(p->code + room->code_name);
	file = word(p->code + room->code_filename);
	if (name && name == file && room->shim < 256)
		return 0;
	bpf_probe_read_user(&line, sizeof(line), (void *)(p->code + p->code_firstlineno));
	id = mix(mix(mix(mix(tgid, p->code), name), file), (__u32)line);
	id |= !id;
	/* It could not be read: [unknown function]. */
	if (!name)
		return id;
	tell_code(p, room, id, line);
	thread->object = p->code;
	thread->code = id;
	return id;
}

/* Sends what rt_python_begin() has found. */
__hidden __u64 rt_python_call(void *state, void *at)
{
	struct rt_python *p = state;
	struct rt_calls *room = at;
	__u64 ids = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns(), code;
	__u32 tid = (__u32)ids;
	struct thread *thread = bpf_map_lookup_elem(&rt_calls_threads, &tid);

	if (!thread) {
		const struct thread first = {.site = room->call_site};

		bpf_map_update_elem(&rt_calls_threads, &tid, &first, BPF_ANY);
		thread = bpf_map_lookup_elem(&rt_calls_threads, &tid);
		if (!thread) {
			rt_count(RT_COUNTER_LOST);
			return 0;
		}
	}
	code = code_of(p, room, thread, ids >> 32);
	if (!code)
		return 0;
	room->call_event.type = RT_EVENT_SITE;
	room->call_event.site = room->call_site;
	room->call = (struct rt_call){.time = now,
				      .cpu = now - thread->off,
				      .frame = p->frame,
				      .object = p->code,
				      .code = code,
				      .sequence = ++thread->sequence,
				      .tid = tid,
				      .tgid = ids >> 32,
				      .kind = p->kind,
				      .line = room->line};
	if (has_parent(p)) {
		room->call.parent = parent_of(p, room, thread->checked, &room->call.parent_object);
		thread->checked = room->call.parent_object;
	}
	send(&room->call_event, sizeof(room->call_event) + sizeof(room->call));
	return 0;
}

/* --- where the kernel switches, and where threads end --- */

SEC("raw_tp/sched_switch")
int rt_calls_switch(const __u64 *arguments)
{
	struct task_struct *from = (struct task_struct *)arguments[1], *to = (struct task_struct *)arguments[2];
	__u32 tid = BPF_CORE_READ(from, pid);
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = tid ? bpf_map_lookup_elem(&rt_calls_threads, &tid) : NULL;

	if (thread)
		thread->since = now;
	tid = BPF_CORE_READ(to, pid);
	thread = tid ? bpf_map_lookup_elem(&rt_calls_threads, &tid) : NULL;
	if (thread && thread->since) {
		thread->off += now - thread->since;
		thread->since = 0;
	}
	return 0;
}

/* A thread of the current process. */
static __always_inline void end_thread(__u32 tid)
{
	__u64 tgid = bpf_get_current_pid_tgid() >> 32, now = bpf_ktime_get_ns();
	struct {
		struct rt_event event;
		struct rt_call call;
	} record = {.event.type = RT_EVENT_SITE,
		    .call = {.time = now, .tid = tid, .tgid = tgid, .kind = RT_CALL_ENDED}};
	struct thread *thread = bpf_map_lookup_elem(&rt_calls_threads, &record.call.tid);

	if (!thread)
		return;
	record.event.site = thread->site;
	record.call.cpu = now - thread->off;
	record.call.sequence = thread->sequence + 1;
	send(&record, sizeof(record));
	bpf_map_delete_elem(&rt_calls_threads, &record.call.tid);
}

SEC("raw_tp/sched_process_exit")
int rt_calls_exit(const __u64 *arguments)
{
	end_thread((__u32)bpf_get_current_pid_tgid());
	return 0;
}

/* A thread that is not the leader has the leader's number from now on; what it had is the second argument. */
SEC("raw_tp/sched_process_exec")
int rt_calls_exec(const __u64 *arguments)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), before = (__u32)arguments[1];

	end_thread(tid);
	if (before != tid)
		end_thread(before);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Records of Python's calls (calls.h), for programs whose action is CORE_PYTHON_CALL. Only linked into those.
 *
 * The time that a thread was on a CPU is the time that has passed, minus the time that it was off. For that, context
 * switches are watched, but only for threads that have made calls. What the kernel does not count while the thread is
 * on, such as the time in which a hypervisor gives the CPU to others (steal), is taken off when it leaves: the kernel's
 * own sum, task->se.sum_exec_runtime, is right at that moment. In between it is up to a tick old.
 *
 * A code object is identified by its address, and by what distinguishes it from a later one at the same address: its
 * names and its first line. Not by where the names are: a program that makes functions, such as with exec(), and frees
 * them has other names at the same addresses.
 *
 * rt_python_call_wanted() sends only what `wanted` names. Names decide, and they are looked at once for each code
 * object: so what ends is decided as what began. Where names could not be read the frame is remembered. The caller that
 * is told is the innermost one that is sent; the frames between are looked through.
 */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

#include "lang/rt/calls.h"
#include "lang/rt/python_names.h"

const volatile struct rt_calls_wanted wanted SEC(RT_CALLS_SECTION) = {};

#define NOT_KNOWN 2 /* whether a function is wanted, so it is sent */
#define SHIMS_MAX 4 /* of the interpreter's own frames in a row; there is one */

struct thread {
	__u64 off;   /* nanoseconds off the CPU */
	__u64 since; /* when it left the CPU; 0: it is on one */
	__u64 ahead; /* the kernel's sum minus ours, when it left the CPU last; 0: it never did */
	__u64 sequence;
	__u64 checked;      /* a code object that is no _Py_InitCleanup, or 0 */
	__u64 object, code; /* of the last one: its address and number */
	__u32 frees, pad;   /* and its frees_of() */
	__u32 site, open;   /* open: calls that are sent and have not ended, at most */
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

struct decision {
	__u64 id;
	__u32 is_wanted, frees; /* of its code object: frees_of() */
};

/* By process and address of a code object. While one runs, nothing else is at its address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_CALLS_CODES);
	__type(key, __u64);
	__type(value, struct decision);
} rt_calls_decided SEC(".maps");

/* Frames that are sent because it was not known what they are of. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, RT_CALLS_OPAQUE);
	__type(key, __u64);
	__type(value, __u64);
} rt_calls_opaque SEC(".maps");

/* Were there any? */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} rt_calls_has_opaque SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 22); /* set by the loader */
} events SEC(".maps") __weak;

extern __hidden __u64 rt_count(__u64 which);
extern __hidden __u64 rt_python_line(void *state);
extern __hidden __u64 rt_python_text_hash(void *state, __u64 field);
extern __hidden __u64 rt_python_text(void *state, void *to, __u64 field);

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
	__u64 code = code_here(p), position = p->position, frame;

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

/* Sends the names of a code object. False: they could not be read, or sent. */
static __always_inline bool send_code(struct rt_python *p, struct rt_calls *room, __u64 id, __s32 line)
{
	struct rt_call_code *code = &room->code;

	room->code_event.type = RT_EVENT_SITE;
	room->code_event.site = room->code_site;
	code->code = id;
	code->first_line = line;
	code->pad = 0;
	rt_python_text(p, code->name, room->code_name);
	rt_python_text(p, code->file, room->code_filename);
	return send(&room->code_event, sizeof(room->code_event) + sizeof(*code)) && code->name[0];
}

/* The same, if they were not sent. What could not be read, or has not arrived, is sent once more: then it is false. */
static __always_inline bool tell_code(struct rt_python *p, struct rt_calls *room, __u64 id, __s32 line)
{
	__u64 sent = 1;

	if (bpf_map_lookup_elem(&rt_calls_codes, &id))
		return true;
	if (!send_code(p, room, id, line))
		return false;
	bpf_map_update_elem(&rt_calls_codes, &id, &sent, BPF_ANY);
	return true;
}

static __always_inline __u64 id_of(struct rt_python *p, const struct rt_calls *room, __u32 tgid, __u64 name, __s32 line)
{
	__u64 id = mix(mix(tgid, p->code), (__u32)line);

	if (name) {
		id = mix(id, rt_python_text_hash(p, room->code_name));
		id = mix(id, rt_python_text_hash(p, room->code_filename));
	}

	return id | !id;
}

/* What is kept of a code object beside its names, in place of a name: its number, and whether it is wanted. */
enum { CALL_ID, CALL_WANTED, CALL_WORDS = RT_PYTHON_SHORT / 8 };

/* Takes that, and the code object itself, if it is known. */
static __always_inline bool read_call(struct rt_python *p, __u64 *id, __u64 *is_wanted)
{
	struct name call;
	__u64 code;

	if (!is_known(p, RT_PYTHON_CALL, &call))
		return false;
	code = *(volatile const __u64 *)&call.known->code;
	*id = *(volatile const __u64 *)&call.known->text[CALL_ID];
	*is_wanted = *(volatile const __u64 *)&call.known->text[CALL_WANTED];
	if (!is_still_known(&call))
		return false;
	p->code = code;
	return true;
}

/* Its place is looked for again: the verifier would follow what is in between once for each way to a place. */
static __always_inline void learn_call(struct rt_python *p, __u64 id, __u64 is_wanted)
{
	const __u64 words[CALL_WORDS] = {[CALL_ID] = id, [CALL_WANTED] = is_wanted};
	struct name call;

	is_known(p, RT_PYTHON_CALL, &call);
	know(p, &call, words);
}

static __always_inline void note_last(struct thread *thread, const struct rt_python *p, __u64 id)
{
	thread->object = p->code;
	thread->code = id;
	thread->frees = frees_of(p->code);
}

/*
 * The number of the code object; 0: it is _Py_InitCleanup. What ends has begun, so its code object is the one that the
 * thread had last at this address, if none was freed since; what begins may be another one. A number is kept when the
 * names were told.
 */
static __always_inline __u64 number_of(struct rt_python *p, struct rt_calls *room, struct thread *thread, __u32 tgid)
{
	__u64 name, file, id, is_wanted;
	__s32 line = 0;

	if (read_call(p, &id, &is_wanted)) {
		note_last(thread, p, id);
		return id;
	}
	if (p->kind >= RT_PYTHON_RETURN && code_here(p) == thread->object && frees_of(p->code) == thread->frees) {
		id = thread->code;
		if (bpf_map_lookup_elem(&rt_calls_codes, &id))
			learn_call(p, id, 0);
		return id;
	}
	name = word(code_here(p) + room->code_name);
	file = word(p->code + room->code_filename);
	if (name && name == file && room->shim < 256)
		return 0;
	bpf_probe_read_user(&line, sizeof(line), (void *)(p->code + p->code_firstlineno));
	id = id_of(p, room, tgid, name, line);
	/* It could not be read: [unknown function]. */
	if (!name)
		return id;
	if (tell_code(p, room, id, line))
		learn_call(p, id, 0);
	note_last(thread, p, id);
	return id;
}

static __always_inline struct thread *find_thread(const struct rt_calls *room, __u32 tid)
{
	struct thread *thread = bpf_map_lookup_elem(&rt_calls_threads, &tid);

	if (!thread) {
		const struct thread first = {.site = room->call_site};

		bpf_map_update_elem(&rt_calls_threads, &tid, &first, BPF_ANY);
		thread = bpf_map_lookup_elem(&rt_calls_threads, &tid);
		if (!thread)
			rt_count(RT_COUNTER_LOST);
	}
	return thread;
}

/* All but the caller. */
static __always_inline void fill(const struct rt_python *p, struct rt_calls *room, struct thread *thread, __u64 ids,
				 __u64 code)
{
	__u64 now = bpf_ktime_get_ns();

	room->call_event.type = RT_EVENT_SITE;
	room->call_event.site = room->call_site;
	room->call = (struct rt_call){.time = now,
				      .cpu = now - thread->off,
				      .frame = p->frame,
				      .object = p->code,
				      .code = code,
				      .sequence = ++thread->sequence,
				      .tid = (__u32)ids,
				      .tgid = ids >> 32,
				      .kind = p->kind,
				      .line = room->line};
}

/* Sends what rt_python_begin() has found. */
__hidden __u64 rt_python_call(void *state, void *at)
{
	struct rt_python *p = state;
	struct rt_calls *room = at;
	__u64 ids = bpf_get_current_pid_tgid(), code;
	struct thread *thread = find_thread(room, (__u32)ids);

	code = thread ? number_of(p, room, thread, ids >> 32) : 0;
	if (!code)
		return 0;
	fill(p, room, thread, ids, code);
	if (has_parent(p)) {
		room->call.parent = parent_of(p, room, thread->checked, &room->call.parent_object);
		thread->checked = room->call.parent_object;
	}
	send(&room->call_event, sizeof(room->call_event) + sizeof(room->call));
	return 0;
}

/* --- only what is wanted --- */

/* A word of the code object's head, which was read. */
static __always_inline __u64 head_word(const struct rt_calls *room, __u32 offset)
{
	__u64 at = offset - room->head & (RT_CALLS_HEAD - 1);

	asm volatile("" : "+r"(at));
	return at <= RT_CALLS_HEAD - 8 ? *(const __u64 *)(room->bytes + at) : 0;
}

/* The words of all patterns, after as much of a code object's names as was read. */
struct matching {
	const struct rt_call_code *code;
	__u64 name[RT_CALLS_PATTERNS], file[RT_CALLS_PATTERNS];
};

static long match_byte(__u32 i, void *context)
{
	struct matching *m = context;
	__u32 at = i & (RT_PYTHON_TEXT - 1), which;
	__u8 name, file;

	asm volatile("" : "+r"(at));
	name = (__u8)m->code->name[at & (RT_PYTHON_TEXT - 1)];
	file = (__u8)m->code->file[at & (RT_PYTHON_TEXT - 1)];
#pragma clang loop unroll(full)
	for (which = 0; which < RT_CALLS_PATTERNS; which++) {
		m->name[which] = rt_calls_step(&wanted.name, which, m->name[which], name);
		m->file[which] = rt_calls_step(&wanted.file, which, m->file[which], file);
	}
	return !name && !file;
}

static __always_inline __u64 is_found(const volatile struct rt_calls_patterns *patterns,
				      const __u64 bits[RT_CALLS_PATTERNS], __u32 first, __u32 last)
{
	__u64 found = 0;
	__u32 which;

	for (which = first; which <= last; which++)
		found |= bits[which] & patterns->end[which];
	return found;
}

/* Are these names wanted? */
static __always_inline bool are_wanted(const struct rt_call_code *code)
{
	struct matching m = {.code = code, .name = {1, 1, 1}, .file = {1, 1, 1}};

	bpf_loop(RT_PYTHON_TEXT, match_byte, &m, 0);
	return is_found(&wanted.name, m.name, 0, 0) || is_found(&wanted.file, m.file, 0, 0) ||
	       (is_found(&wanted.name, m.name, 1, 2) &&
		(!wanted.from_has_file || is_found(&wanted.file, m.file, 1, 2)));
}

/* Into room->id and room->is_wanted, by the code object itself. False: that is not known. */
static __always_inline bool decide(struct rt_python *p, struct rt_calls *room, __u32 tgid, __u64 key,
				   struct decision *decided)
{
	__u64 name, file, size = room->head_size;
	struct decision decision;
	bool sent;
	__s32 line;

	asm volatile("" : "+r"(size));
	room->id = room->is_wanted = 0;
	if (!size || size > RT_CALLS_HEAD || bpf_probe_read_user(room->bytes, size, (void *)(p->code + room->head)))
		return false;
	name = head_word(room, room->code_name);
	file = head_word(room, room->code_filename);
	line = (__s32)head_word(room, p->code_firstlineno);
	/* CPython's own _Py_InitCleanup: not wanted. */
	if (name && name == file && room->shim < 256)
		return true;
	room->id = id_of(p, room, tgid, name, line);
	if (decided && decided->id == room->id) {
		room->is_wanted = decided->is_wanted;
		decided->frees = frees_of(p->code);
		learn_call(p, room->id, room->is_wanted);
		return true;
	}
	/* Names are sent if wanted or not, once: some are near to what was asked for. */
	sent = send_code(p, room, room->id, line);
	if (!sent && !room->code.name[0])
		return false;
	room->is_wanted = are_wanted(&room->code);
	if (!sent)
		return true;
	decision = (struct decision){room->id, (__u32)room->is_wanted, frees_of(p->code)};
	bpf_map_update_elem(&rt_calls_decided, &key, &decision, BPF_ANY);
	learn_call(p, room->id, room->is_wanted);
	return true;
}

/* Callers are looked for there: it may have gone. */
static __always_inline void keep_decision(const struct rt_python *p, const struct rt_calls *room, __u64 key)
{
	const struct decision decision = {room->id, (__u32)room->is_wanted, frees_of(p->code)};

	if (!bpf_map_lookup_elem(&rt_calls_decided, &key))
		bpf_map_update_elem(&rt_calls_decided, &key, &decision, BPF_ANY);
}

static __always_inline __u64 frame_key(__u32 tid, __u64 frame, __u64 object)
{
	return mix(mix(mix(1, tid), frame), object);
}

static __always_inline __u64 has_opaque(void)
{
	__u32 none = 0;
	__u64 *value = bpf_map_lookup_elem(&rt_calls_has_opaque, &none);

	return value ? *value : 0;
}

/* Is this end one of what began without a name that could be read? */
static __always_inline bool ends_opaque(const struct rt_python *p, __u32 tid)
{
	__u64 key = frame_key(tid, p->frame, p->code);

	return has_opaque() && !bpf_map_delete_elem(&rt_calls_opaque, &key);
}

static __always_inline void begin_opaque(const struct rt_python *p, __u32 tid)
{
	__u64 key = frame_key(tid, p->frame, p->code), one = 1;
	__u32 none = 0;

	bpf_map_update_elem(&rt_calls_opaque, &key, &one, BPF_ANY);
	bpf_map_update_elem(&rt_calls_has_opaque, &none, &one, BPF_ANY);
}

struct search {
	const struct rt_python *p;
	struct rt_calls *room;
	__u64 frame, ids;
};

static long look_through(__u32 i, void *context)
{
	struct search *search = context;
	const struct rt_python *p = search->p;
	struct rt_calls *room = search->room;
	__u64 object, key;
	struct decision *decided;

	if (!search->frame)
		return 1;
	object = object_of(p, search->frame);
	key = mix(search->ids >> 32, object);
	decided = bpf_map_lookup_elem(&rt_calls_decided, &key);
	key = frame_key((__u32)search->ids, search->frame, object);
	if ((decided && decided->is_wanted) || (has_opaque() && bpf_map_lookup_elem(&rt_calls_opaque, &key))) {
		room->frame = search->frame;
		room->object = object;
		return 1;
	}
	search->frame = word(search->frame + room->frame_back);
	return 0;
}

/* Is what rt_python_begin() has found to be sent? Fills in what rt_python_call_wanted() needs. */
__hidden __u64 rt_python_call_decide(void *state, void *at)
{
	struct rt_python *p = state;
	struct rt_calls *room = at;
	__u64 ids = bpf_get_current_pid_tgid(), key;
	struct decision *decided;

	if (read_call(p, &room->id, &room->is_wanted)) {
		if (room->is_wanted)
			keep_decision(p, room, mix(ids >> 32, p->code));
	} else {
		key = mix(ids >> 32, code_here(p));
		decided = bpf_map_lookup_elem(&rt_calls_decided, &key);
		if (p->kind >= RT_PYTHON_RETURN && decided && decided->frees == frees_of(p->code)) {
			room->id = decided->id;
			room->is_wanted = decided->is_wanted;
			learn_call(p, room->id, room->is_wanted);
		} else if (!decide(p, room, ids >> 32, key, decided)) {
			room->is_wanted = NOT_KNOWN;
		}
	}
	if (p->kind >= RT_PYTHON_RETURN && ends_opaque(p, (__u32)ids))
		room->is_wanted = NOT_KNOWN;
	return room->is_wanted;
}

/* Sends it. Needs bpf_loop(). */
__hidden __u64 rt_python_call_wanted(void *state, void *at)
{
	struct rt_python *p = state;
	struct rt_calls *room = at;
	__u64 ids = bpf_get_current_pid_tgid();
	struct search search = {.p = p, .room = room, .ids = ids};
	struct thread *thread = find_thread(room, (__u32)ids);

	if (!thread)
		return 0;
	fill(p, room, thread, ids, room->id);
	room->frame = room->object = 0;
	if (has_parent(p) && thread->open) {
		search.frame = word(p->frame + room->frame_back);
		bpf_loop(RT_CALLS_FRAMES, look_through, &search, 0);
		room->call.parent = room->frame;
		room->call.parent_object = room->object;
	}
	if (p->kind < RT_PYTHON_RETURN) {
		thread->open++;
		if (room->is_wanted == NOT_KNOWN)
			begin_opaque(p, (__u32)ids);
	} else if (thread->open) {
		thread->open--;
	}
	send(&room->call_event, sizeof(room->call_event) + sizeof(room->call));
	return 0;
}

/* --- where the kernel switches, and where threads end --- */

/* The thread leaves the CPU, when the kernel has counted `sum`. */
static __always_inline void correct(struct thread *thread, __u64 now, __u64 sum)
{
	__u64 ahead = sum - (now - thread->off);

	if (thread->ahead && (__s64)(ahead - thread->ahead) < 0) {
		thread->off += thread->ahead - ahead;
		return;
	}
	/* What it takes to come to the CPU, which the kernel counts, and we do not. */
	thread->ahead = ahead;
}

SEC("raw_tp/sched_switch")
int rt_calls_switch(const __u64 *arguments)
{
	struct task_struct *from = (struct task_struct *)arguments[1], *to = (struct task_struct *)arguments[2];
	__u32 tid = BPF_CORE_READ(from, pid);
	__u64 now = bpf_ktime_get_ns();
	struct thread *thread = tid ? bpf_map_lookup_elem(&rt_calls_threads, &tid) : NULL;

	if (thread) {
		correct(thread, now, BPF_CORE_READ(from, se.sum_exec_runtime));
		thread->since = now;
	}
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

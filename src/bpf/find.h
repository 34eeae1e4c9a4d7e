/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find: the kernel part finds out by itself what a process has mapped where, when user space has not told, or no more.
 *
 *   first sample of a process ─► its VMAs, in its maple tree ─► each executable one's file ─► `files` ─► a run
 *
 * A new process mostly runs files that others have run: their tables are in the kernel, and all that is missing is
 * where it has them mapped, which the kernel knows. `files` says what user space knows of a file: where its page index
 * is, and what it has of an interpreter. What is found is kept in `founds`, by process; it holds for one address space
 * (the cookie), so nobody has to take it back after exec, exit and fork. Its run of mappings lies behind those of user
 * space, in a part of the array that is used in turn: whoever walks by a run makes sure that it was not overwritten.
 *
 * A file that is not known has no mapping then. A walk that comes to it is late, as ever, and EVENT_FILE tells user
 * space by what name to make the file known. It does so as well for the files of a process that user space has told of
 * first, so that the next one which runs them is found here (find_names()).
 *
 * When a walk fails, the mappings may be others by now (dlopen). Whether they are tells the sequence of the address
 * space's lock; else they are looked through again.
 *
 * Reading. The tree is read as it lies in memory, without the lock of the address space. What is read is right if
 * nobody wrote: no writer has the lock (mmap_lock) before or afterwards, and the count of its writers (mm_lock_seq) is
 * the same. So that what a writer leaves half done is not followed meanwhile, each VMA must say that it is of this
 * address space (vm_mm) and lie behind the last one, nodes must be of a kind that such a tree has, and there is a bound
 * on steps and levels. The kernel's own iterator (bpf_iter_task_vma_new(), 6.7) refuses to work with interrupts off,
 * as here. The thread itself may be the writer, in mmap(): then the sample is walked again as task work (resume.h), or
 * is late.
 *
 * Bounds. FIND_VMAS_MAX are looked through, some 40 us; processes with more are left to user space. A process is looked
 * through again after FIND_PAUSE_NS for each of its VMAs, and no CPU does so for more than a tenth of its time.
 *
 * When code has been replaced by other code, user space voids what was found. A process whose files are all known here
 * has no entry from user space until a sample of it is late. tests/e2e/unheard.t stops strata while programs start,
 * load libraries, fork and call exec. tests/unit/test_find.c runs this source on trees made by hand, with a writer at
 * any read, and on damaged ones.
 */
#ifndef STRATA_BPF_FIND_H
#define STRATA_BPF_FIND_H

#include "abi/config.h"
#include "abi/files.h"
#include "bpf/process_maps.h"
#include "bpf/scratch.h"
#include "bpf/send.h"
#include "bpf/shim.h"
#include "bpf/tables.h"

/*
 * Kernels without bpf_loop() have no room for it: 5.10 allows few calls on top of each other. FIND_GLOBAL is for
 * functions that are called once there, and then not global.
 */
#ifdef STRATA_BOUNDED_LOOPS
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

#else
#define FIND_GLOBAL __noinline

#define FIND_PAUSE_NS     20000ull
#define FIND_CPU_PAUSE_NS 1000ull
#define FIND_RUNTIME_TEXT (256u << 10)      /* no runtime's code is as small as that */
#define VMA_EXECUTABLE    4                 /* VM_EXEC, include/linux/mm.h */
#define VDSO_NAME         0x5d6f7364765bull /* "[vdso]" */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, FILES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct file_key);
	__type(value, struct known_file);
} files SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct found_process);
} founds SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, FOUND_WORDS);
	__type(key, __u32);
	__type(value, __u64);
} found_words SEC(".maps");

/* What kernels have had in place of i_ctime_sec: 6.6 to 6.10. */
struct timespec64___find {
	long tv_sec, tv_nsec;
} __attribute__((preserve_access_index));

struct inode___find {
	struct timespec64___find __i_ctime;
	long i_ctime_sec;
	unsigned int i_ctime_nsec;
} __attribute__((preserve_access_index));

struct mm_struct___find {
	long mm_mt;               /* what begins there: struct maple_tree */
	unsigned int mm_lock_seq; /* seqcount_t since 6.13 */
	long mmap_lock;           /* struct rw_semaphore, whose count is its first field */
} __attribute__((preserve_access_index));

#define LOCKED_BY_WRITER 1 /* RWSEM_WRITER_LOCKED, kernel/locking/rwsem.c */

static __always_inline __u64 *found_word(__u32 which)
{
	return bpf_map_lookup_elem(&found_words, &which);
}

static __always_inline __u64 found_check(const struct found_process *found)
{
	__u64 hash = hash_mix(found->entry.tgid, found->entry.check);

	hash = hash_mix(hash_mix(hash, found->position), found->cookie);
	hash = hash_mix(hash_mix(hash, found->looked_at), (__u64)found->vmas << 32 | found->unknown);
	hash = hash_mix(hash, (__u64)found->lock_sequence << 32 | found->runtime.runtime);
	return hash_mix(hash, found->runtime.check);
}

/* Is its run still its own? */
static __always_inline bool found_is_there(const struct found_process *found)
{
	volatile __u64 *position = found_word(FOUND_POSITION), *void_until = found_word(FOUND_VOID_UNTIL);

	return position && void_until && *position - found->position <= FOUND_MAPPINGS &&
	       found->looked_at >= *void_until;
}

/* Tells user space, once, of the mapping at hand. */
static __always_inline void find_tell(struct scratch *s, __u64 id)
{
	struct file_event *event = &s->find.event;

	if (is_sent(id))
		return;
	event->header.type = EVENT_FILE;
	event->id = id;
	event->time = s->sample.time;
	event->start = s->find.start;
	event->end = s->find.end;
	event->key = s->find.key;
	event->tgid = s->sample.tgid;
	if (bpf_ringbuf_output(&events, event, sizeof(*event), BPF_RB_NO_WAKEUP))
		count(COUNTER_STACK_DROPPED, 1);
	else
		mark_sent(id);
}

/* What is mapped of a file from an offset on lies in its page index at the offset + *ret. False when that is not known.
 */
static __always_inline bool find_shift(const struct known_file *file, __u64 offset, __u64 *ret)
{
	__u32 i;

	for (i = 0; i < FILE_SEGMENTS_MAX; i++) {
		if (offset < file->segments[i].offset || offset >= file->segments[i].end)
			continue;
		*ret = file->segments[i].shift;
		return true;
	}
	return false;
}

/* Where the runtime of the mapping at hand is, whose vaddrs lie `bias` further up. */
static __always_inline void find_runtime_there(struct scratch *s, const struct known_file *file, __u64 bias)
{
	struct runtime_process *runtime = &s->found.runtime;
	__u32 i;

	*runtime = file->runtime;
	for (i = 0; i < sizeof(runtime->places) / sizeof(runtime->places[0]); i++)
		if (runtime->places[i])
			runtime->places[i] += bias;
	runtime->tgid = s->sample.tgid;
	runtime->check = runtime_process_check(runtime);
}

/* Takes the executable mapping at hand in. 1 when there are too many. */
static __always_inline int find_add(struct scratch *s)
{
	struct find *find = &s->find;
	__u64 shift = 0, size, id;
	struct mapping_entry *out;
	struct known_file *file;
	__u32 at = find->count;

	walk_opaque(at);
	if (at >= FIND_MAPPINGS_MAX) {
		find->failed = 1;
		return 1;
	}
	out = &find->mappings[at];
	out->start = find->start;
	out->end = find->end;
	out->bias = 0;
	out->page_first = out->page_count = 0;
	if (!find->key.inode) {
		out->kind = find->special ? MAPPING_NO_TABLE : MAPPING_FP_CHAIN;
		find->count++;
		return 0;
	}
	if (find->key.inode == FILE_KEY_VDSO)
		find_tell(s, hash_mix(s->sample.cookie, find->start));
	file = bpf_map_lookup_elem(&files, &find->key);
	if (!file || ((file->kind == MAPPING_TABLE || file->kind == MAPPING_COMPLETE) &&
		      !find_shift(file, find->offset, &shift))) {
		id = hash_mix(hash_mix(hash_mix(find->key.size, find->key.changed), find->key.inode), !!file);
		find_tell(s, id);
		find->unknown++;
		return 0;
	}
	find->hash = hash_mix(hash_mix(hash_mix(find->hash, find->key.inode), find->start), find->offset);
	size = find->end - find->start;
	out->kind = file->kind;
	out->bias = find->start - (find->offset + shift);
	out->page_first = file->page_first;
	out->page_count = file->page_count;
	if (file->runtime.runtime && size >= FIND_RUNTIME_TEXT && size > find->runtime_size) {
		find->runtime_size = size;
		find_runtime_there(s, file, out->bias - file->base);
	}
	find->count++;
	return 0;
}

static __always_inline __u64 find_word(const struct find *find, __u32 at)
{
	walk_opaque(at);
	return *(const __u64 *)(find->vma + (at & (FIND_VMA_BYTES - 8)));
}

#define FIND_VMA_FIELD(find, name) find_word(find, bpf_core_field_offset(struct vm_area_struct, name))

/* The file's part of the key. */
static __always_inline void find_key(struct find *find, const struct file *file)
{
	const struct inode *inode = BPF_CORE_READ(file, f_inode);
	const struct inode___find *times = (const void *)inode;

	find->key.inode = (__u64)inode;
	find->key.size = BPF_CORE_READ(inode, i_size);
	if (bpf_core_field_exists(struct inode___find, i_ctime_sec))
		find->key.changed = BPF_CORE_READ(times, i_ctime_sec) * 1000000000ull +
				    (BPF_CORE_READ(times, i_ctime_nsec) & 0x7fffffff);
	else
		find->key.changed = BPF_CORE_READ(times, __i_ctime.tv_sec) * 1000000000ull +
				    BPF_CORE_READ(times, __i_ctime.tv_nsec);
}

/* Takes the VMA at an address in. 1 when that is the end. */
static __always_inline int find_vma_at_in(struct scratch *s, __u64 address)
{
	const struct vm_area_struct *vma = (const void *)address;
	const struct vm_special_mapping *special;
	struct find *find = &s->find;
	const struct file *file;
	__u64 name = 0;

	/* A global function is verified by itself, also where the fields are not there. */
	if (!loaded.finds)
		return 0;
	if (++find->vmas > FIND_VMAS_MAX || bpf_probe_read_kernel(find->vma, FIND_VMA_BYTES, vma) ||
	    FIND_VMA_FIELD(find, vm_mm) != s->task.mm || FIND_VMA_FIELD(find, vm_start) < find->end) {
		find->failed = 1;
		return 1;
	}
	find->start = FIND_VMA_FIELD(find, vm_start);
	find->end = FIND_VMA_FIELD(find, vm_end);
	if (!(FIND_VMA_FIELD(find, vm_flags) & VMA_EXECUTABLE))
		return 0;
	find->offset = BPF_CORE_READ(vma, vm_pgoff) * PAGE_BYTES;
	find->key.inode = find->key.changed = find->key.size = 0;
	find->special = 0;
	file = BPF_CORE_READ(vma, vm_file);
	if (file) {
		find_key(find, file);
	} else if (BPF_CORE_READ(vma, vm_ops)) {
		special = BPF_CORE_READ(vma, vm_private_data);
		find->special = 1;
		find->offset = 0;
		bpf_probe_read_kernel_str(&name, sizeof(name), BPF_CORE_READ(special, name));
		if (name == VDSO_NAME)
			find->key.inode = FILE_KEY_VDSO;
	}
	return find_add(s);
}
WALK_GLOBAL(int, find_vma_at, __u64)

/*
 * The tree's nodes (include/linux/maple_tree.h). A node's address ends in 8 bits that tell its kind. It covers the
 * addresses up to its `max`, its slot N those up to pivot N; the last one that is used has no pivot, or 0.
 *
 *   leaf, inner range  parent, 15 pivots, 16 slots
 *   inner with gaps    parent,  9 pivots, 10 slots, ...
 */
#define NODE_KIND(node)  ((node) >> 3 & 15)
#define NODE_AT(node)    ((node) & ~255ull)
#define NODE_LEAF        1
#define NODE_RANGE       2
#define NODE_GAPS        3
#define NODE_RANGE_SLOTS 16
#define NODE_GAPS_SLOTS  10

/* Where slot N of a node ends. */
static __always_inline __u64 find_pivot(const struct find_level *level, __u32 at, __u32 slots)
{
	__u64 pivot = at + 1 < slots ? level->words[(1 + at) & 31] : level->max;

	return pivot || !at ? pivot : level->max;
}

/* 0, or -1 when that is no node. */
static __always_inline int find_load(struct find_level *level, __u64 node, __u64 max)
{
	level->kind = NODE_KIND(node);
	level->at = level->is_done = 0;
	level->max = max;
	if (level->kind < NODE_LEAF || level->kind > NODE_GAPS)
		return -1;
	return bpf_probe_read_kernel(level->words, sizeof(level->words), (const void *)NODE_AT(node)) ? -1 : 0;
}

/* Takes in all VMAs of a leaf. 1 when that is the end. */
static __always_inline int find_leaf(struct scratch *s, const struct find_level *leaf)
{
	__u64 pivot, vma;
	__u32 i;

	for (i = 0; i < NODE_RANGE_SLOTS; i++) {
		pivot = find_pivot(leaf, i, NODE_RANGE_SLOTS);
		vma = leaf->words[NODE_RANGE_SLOTS + i];
		if (vma && WALK_CALL(find_vma_at, s, vma))
			return 1;
		if (pivot >= leaf->max)
			break;
	}
	return 0;
}

/* Goes on in the tree: takes a leaf, or the next slot of an inner node, or leaves that. 1 at the end. */
static __always_inline int find_tree_step_in(struct scratch *s, __u32 i)
{
	struct find *find = &s->find;
	struct find_level *level;
	__u32 depth = find->depth, at, slots;
	__u64 node, pivot;

	walk_opaque(i);
	walk_opaque(depth);
	if (depth >= FIND_LEVELS)
		return 1;
	level = &find->levels[depth];
	if (level->kind == NODE_LEAF) {
		find->depth--; /* from the root: beyond FIND_LEVELS */
		return find_leaf(s, level);
	}
	at = level->at++;
	slots = level->kind == NODE_RANGE ? NODE_RANGE_SLOTS : NODE_GAPS_SLOTS;
	if (level->is_done || at >= slots) {
		find->depth--;
		return 0;
	}
	walk_opaque(at);
	node = level->words[(slots + at) & 31];
	pivot = find_pivot(level, at, slots);
	level->is_done = pivot >= level->max;
	depth++;
	walk_opaque(depth);
	if (depth >= FIND_LEVELS || find_load(&find->levels[depth], node, pivot)) {
		find->failed = 1;
		return 1;
	}
	find->depth = depth;
	return 0;
}
WALK_LOOP(find_tree, FIND_STEPS_MAX)

/* What tells of writers: their count up to now, and whether there is one. */
static __always_inline __u32 find_lock_sequence(const struct scratch *s)
{
	const struct mm_struct___find *mm = (const void *)s->task.mm;

	return BPF_CORE_READ(mm, mm_lock_seq);
}

static __always_inline bool find_is_locked(const struct scratch *s)
{
	const struct mm_struct___find *mm = (const void *)s->task.mm;

	return BPF_CORE_READ(mm, mmap_lock) & LOCKED_BY_WRITER;
}

/* Looks through the mappings: s->find, and the interpreter in s->found. False when that could not be done. */
static __always_inline bool find_vmas(struct scratch *s)
{
	const struct mm_struct___find *mm = (const void *)s->task.mm;
	struct found_process *found = &s->found;
	struct find *find = &s->find;
	__u64 tree, root;

	find->hash = find->runtime_size = find->end = 0;
	find->count = find->vmas = find->unknown = find->failed = find->depth = 0;
	found->runtime.runtime = 0;
	found->lock_sequence = find_lock_sequence(s);
	find->busy = find_is_locked(s);
	if (find->busy)
		return false;
	tree = (__u64)mm + bpf_core_field_offset(struct mm_struct___find, mm_mt);
	root = (__u64)BPF_CORE_READ((const struct maple_tree *)tree, ma_root);
	if (root) {
		if (find_load(&find->levels[0], root, ~0ull))
			return false;
		find_tree(s);
		find->failed |= find->depth < FIND_LEVELS; /* it was not gone through to its end */
	}
	find->busy = find_is_locked(s) || found->lock_sequence != find_lock_sequence(s);
	find->is_empty = !find->count && !find->unknown && !find->failed && !find->busy;
	return find->count && !find->failed && !find->busy;
}

/* Where a run of so many entries begins, in the array's part for what is found; it does not go over the end. */
static __always_inline __u64 find_take_run(__u32 count)
{
	__u64 *position = found_word(FOUND_POSITION), at;

	if (!position)
		return 0;
	at = __sync_fetch_and_add(position, count);
	if ((at & (FOUND_MAPPINGS - 1)) + count > FOUND_MAPPINGS)
		at = __sync_fetch_and_add(position, count);
	return at;
}

static __always_inline int find_copy_step_in(struct scratch *s, __u32 i)
{
	__u32 index = MAPPINGS_MAX + ((__u32)(s->found.position + i) & (FOUND_MAPPINGS - 1));
	struct mapping_entry *to;

	walk_opaque(i);
	if (i >= s->find.count || i >= FIND_MAPPINGS_MAX)
		return 1;
	to = bpf_map_lookup_elem(&mappings, &index);
	if (to)
		*to = s->find.mappings[i];
	return 0;
}
WALK_LOOP(find_copy, FIND_MAPPINGS_MAX)

/* Makes what was found the entry of the process. */
static __always_inline void find_keep(struct scratch *s)
{
	struct found_process *found = &s->found;
	struct process_entry *entry = &found->entry;

	entry->valid_from = s->sample.time;
	if (entry->epoch != (__u32)s->find.hash || !entry->generation)
		entry->changed = s->sample.time;
	found->position = find_take_run(s->find.count);
	find_copy(s);
	/* Not one of those that user space counts. */
	entry->generation = 1u << 31 | (__u32)found->position;
	entry->mapping_first = MAPPINGS_MAX + ((__u32)found->position & (FOUND_MAPPINGS - 1));
	entry->mapping_count = s->find.count;
	entry->epoch = (__u32)s->find.hash;
}

/*
 * Finds the mappings of the process that runs: 1, and they are in s->found. 0: it is not the time for that, or the
 * kernel does not give them. Global, so that it is verified once.
 */
__noinline int find_mappings(__u32 scratch)
{
	struct scratch *s = scratch_at(scratch);
	struct found_process *found;
	__u64 now;
	__u32 tgid;

	if (!s || !loaded.finds)
		return 0;
	found = &s->found;
	now = s->sample.time;
	tgid = s->sample.tgid;
	if (now < s->find.not_before ||
	    (found->cookie == s->sample.cookie && now < found->looked_at + found->vmas * FIND_PAUSE_NS))
		return 0;
	if (found->cookie != s->sample.cookie)
		found->entry.generation = 0;
	found->cookie = s->sample.cookie;
	s->find.busy = 0;
	if (!find_vmas(s)) {
		if (s->find.busy || s->find.is_empty)
			return 0;
		found->entry.generation = 0;
	} else {
		find_keep(s);
	}
	s->find.not_before = now + s->find.vmas * FIND_CPU_PAUSE_NS;
	found->looked_at = now;
	found->vmas = s->find.vmas;
	found->unknown = s->find.unknown;
	found->entry.tgid = tgid;
	found->entry.check = process_entry_check(&found->entry);
	found->check = found_check(found);
	bpf_map_update_elem(&founds, &tgid, found, BPF_ANY);
	return found->entry.generation != 0;
}

/* What was found of the process before, or is now, in s->found and s->process. */
static __always_inline bool find_process_by_itself(struct scratch *s, __u32 tgid)
{
	struct found_process *found = bpf_map_lookup_elem(&founds, &tgid);

	if (found) {
		s->found = *found;
		found = &s->found;
		if (found->cookie != s->sample.cookie || found->check != found_check(found)) {
			found->cookie = 0;
			found->looked_at = found->vmas = 0;
		}
	} else {
		found = &s->found;
		found->cookie = 0;
	}
	if (!(found->cookie && found->entry.generation && found_is_there(found)) && !find_mappings(s->index))
		return false;
	s->process = s->found.entry;
	return true;
}

/*
 * Names the files of a process that user space has told of before they had a name here: without one, the next process
 * that runs them is not found, and user space may be slower then. False: not yet, it is not the time for that.
 */
static __always_inline bool find_names(struct scratch *s, __u32 tgid)
{
	struct found_process *found = bpf_map_lookup_elem(&founds, &tgid);

	if (found && found->cookie == s->sample.cookie && found->looked_at >= s->process.valid_from)
		return true;
	s->found.cookie = 0;
	find_mappings(s->index);
	/* The walk goes by what user space has told. */
	s->find.busy = s->find.is_empty = 0;
	return s->found.cookie && s->found.looked_at == s->sample.time;
}

/*
 * A walk has failed. True: the mappings may have been others by then, and were found anew: it is to be made again. Else
 * s->find.sure tells that they were these.
 */
static __always_inline bool find_again(struct scratch *s)
{
	struct found_process *found = &s->found;
	__u32 tgid = s->sample.tgid;
	bool mine = s->cache.process == CACHED_FOUND;

	s->find.sure = 0;
	if (mine && found->lock_sequence && found->lock_sequence == find_lock_sequence(s) && found_is_there(found)) {
		s->find.sure = !found->unknown || !s->native.unmapped;
		if (!found->unknown)
			return false;
	}
	if (!mine)
		found->cookie = 0;
	if (!find_mappings(s->index))
		return false;
	s->find.sure = !found->unknown;
	/* What user space has told of before does not hold any more. */
	if (!mine)
		bpf_map_delete_elem(&processes, &tgid);
	s->process = found->entry;
	s->cache.process = CACHED_FOUND;
	return true;
}

#endif /* STRATA_BOUNDED_LOOPS */

#endif

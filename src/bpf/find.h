/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * find: the kernel part finds the mappings of a process by itself, when user space has not told it about them, or when
 * what it told is no longer valid.
 *
 *   first sample of a process ─► its VMAs, in its maple tree ─► each executable one's file ─► `files` ─► a run
 *
 * A new process usually runs files that other processes have run before. Their tables are already in the kernel; only
 * the addresses where this process has them mapped are missing, and the kernel knows these. The map `files` says what
 * user space knows about a file: where its page index is, and which interpreter it contains. The result is kept in
 * `founds`, by process. It is valid for one address space (the cookie), so nobody has to remove it after exec, exit or
 * fork. Its run of mappings lies behind those of user space, in a part of the array that is used as a ring. So a walk
 * that uses such a run checks that it was not overwritten.
 *
 * A file that is not in `files` gets no mapping. A walk that reaches it is late, as usual, and EVENT_FILE tells user
 * space under which key to add the file. The same event is sent for the files of a process that user space told of
 * first, so that the next process that runs them is found here (find_names()).
 *
 * When a walk fails, the mappings may have changed since they were read (dlopen). The sequence number of the address
 * space's lock tells whether they have. If so, or if the number is not known, they are read again.
 *
 * Reading. The tree is read from memory without taking the lock of the address space. The result is right if nobody
 * wrote meanwhile: no writer holds the lock (mmap_lock) before or afterwards, and the count of its writers
 * (mm_lock_seq) is the same. While a writer is at work the tree may be inconsistent, so it is checked: each VMA must
 * belong to this address space (vm_mm) and lie behind the previous one, each node must be of a kind that such a tree
 * has, and the number of steps and levels is bounded. The kernel's own iterator (bpf_iter_task_vma_new(), 6.7) does not
 * work with interrupts off, as they are here. The thread itself may be the writer, in mmap(). Then the sample is walked
 * again as task work (resume.h), or is late.
 *
 * Bounds. At most FIND_VMAS_MAX VMAs are read, which takes some 40 us; processes with more are left to user space. A
 * process is read again only after FIND_PAUSE_NS for each of its VMAs, and no CPU spends more than a tenth of its time
 * on this.
 *
 * When code was replaced by other code, user space invalidates what was found. A process whose files are all known here
 * gets no entry from user space until one of its samples is late. tests/e2e/unheard.t stops strata while programs
 * start, load libraries, fork and call exec. tests/unit/test_find.c runs this source on handmade trees, with a writer
 * active at each read in turn, and on damaged trees.
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
 * The object for kernels without bpf_loop() does not contain this, as 5.10 allows only a few nested calls. FIND_GLOBAL
 * marks functions that are inlined there, because they are then called only once, and are global elsewhere.
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

/* What kernels 6.6 to 6.10 have instead of i_ctime_sec. */
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

/* Is its run still its own? */
static __always_inline bool found_is_there(const struct found_process *found)
{
	volatile __u64 *position = found_word(FOUND_POSITION), *void_until = found_word(FOUND_VOID_UNTIL);

	return position && void_until && *position - found->position <= FOUND_MAPPINGS &&
	       found->looked_at >= *void_until;
}

/* Tells user space about the current mapping, once. */
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

/*
 * A mapping of the file that starts at an offset starts at offset + *ret in its page index. False when that is not
 * known.
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

/* Where the runtime of the current mapping is in the process. `bias`: address minus vaddr. */
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

/* Adds the current executable mapping. 1 when there are too many. */
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

/* Reads the VMA at an address. 1 when the search ends here. */
static __always_inline int find_vma_at_in(struct scratch *s, __u64 address)
{
	const struct vm_area_struct *vma = (const void *)address;
	const struct vm_special_mapping *special;
	struct find *find = &s->find;
	const struct file *file;
	__u64 name = 0;

	/* A global function is verified by itself, even on kernels that lack these fields. */
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
 * addresses up to its `max`. Its slot N covers those up to pivot N. The last used slot has no pivot, or pivot 0.
 *
 *   leaf, inner range  parent, 15 pivots, 16 slots
 *   inner with gaps    parent,  9 pivots, 10 slots, ...
 */
#define NODE_KIND(node)            ((node) >> 3 & 15)
#define NODE_AT(node)              ((node) & ~255ull)
#define NODE_LEAF                  1
#define NODE_RANGE                 2
#define NODE_GAPS                  3
#define NODE_RANGE_SLOTS           16
#define NODE_GAPS_SLOTS            10

/* The last address that slot N of a node covers. */
static __always_inline __u64 find_pivot(const struct find_level *level, __u32 at, __u32 slots)
{
	__u64 pivot = at + 1 < slots ? level->words[(1 + at) & 31] : level->max;

	return pivot || !at ? pivot : level->max;
}

/* 0, or -1 when it is not a node. */
static __always_inline int find_load(struct find_level *level, __u64 node, __u64 max)
{
	level->kind = NODE_KIND(node);
	level->at = level->is_done = 0;
	level->max = max;
	if (level->kind < NODE_LEAF || level->kind > NODE_GAPS)
		return -1;
	return bpf_probe_read_kernel(level->words, sizeof(level->words), (const void *)NODE_AT(node)) ? -1 : 0;
}

/* One step through the tree: reads the next VMA of a leaf, enters the next slot of an inner node, or goes back up. 1 at
 * the end. */
static __always_inline int find_tree_step_in(struct scratch *s, __u32 i)
{
	struct find *find = &s->find;
	struct find_level *level;
	__u32 depth = find->depth, at, slots;
	__u64 entry, pivot;

	walk_opaque(i);
	walk_opaque(depth);
	if (depth >= FIND_LEVELS)
		return 1;
	level = &find->levels[depth];
	at = level->at++;
	slots = level->kind == NODE_GAPS ? NODE_GAPS_SLOTS : NODE_RANGE_SLOTS;
	if (level->is_done || at >= slots) {
		find->depth--; /* from the root: beyond FIND_LEVELS */
		return 0;
	}
	walk_opaque(at);
	entry = level->words[(slots + at) & 31];
	pivot = find_pivot(level, at, slots);
	level->is_done = pivot >= level->max;
	if (level->kind == NODE_LEAF)
		return entry && WALK_CALL(find_vma_at, s, entry);
	depth++;
	walk_opaque(depth);
	if (depth >= FIND_LEVELS || find_load(&find->levels[depth], entry, pivot)) {
		find->failed = 1;
		return 1;
	}
	find->depth = depth;
	return 0;
}
WALK_LOOP(find_tree, FIND_STEPS_MAX)

/* Reads the writers' state: how many there have been, and whether one is active. */
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

/*
 * Reads the mappings. The results are in s->find, and the interpreter in s->found. False when they could not be read.
 */
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

/* Where a run of this many entries begins in the ring of found mappings. A run does not wrap around. */
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

/* Makes the result the entry of the process. */
static __always_inline void find_keep(struct scratch *s)
{
	struct found_process *found = &s->found;
	struct process_entry *entry = &found->entry;

	entry->valid_from = s->sample.time;
	if (entry->epoch != (__u32)s->find.hash || !entry->generation)
		entry->changed = s->sample.time;
	found->position = find_take_run(s->find.count);
	find_copy(s);
	/* Not one of user space's generations. */
	entry->generation = 1u << 31 | (__u32)found->position;
	entry->mapping_first = MAPPINGS_MAX + ((__u32)found->position & (FOUND_MAPPINGS - 1));
	entry->mapping_count = s->find.count;
	entry->epoch = (__u32)s->find.hash;
}

/*
 * Finds the mappings of the current process. 1: they are in s->found. 0: it is too early to read them again, or they
 * could not be read. Global, so that it is verified once.
 */
__noinline int find_mappings(scratch_ref scratch)
{
	struct scratch *s = SCRATCH_OF(scratch);
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

/* Puts what was found earlier about the process, or is found now, into s->found and s->process. */
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
	if (!(found->cookie && found->entry.generation && found_is_there(found)) && !find_mappings(SCRATCH_REF(s)))
		return false;
	s->process = s->found.entry;
	return true;
}

/*
 * Sends the keys of a process's files whose keys user space did not know when it told of the process. Without a key,
 * the next process that runs such a file cannot be found here and must wait for user space. False: not done, it is too
 * early.
 */
static __always_inline bool find_names(struct scratch *s, __u32 tgid)
{
	struct found_process *found = bpf_map_lookup_elem(&founds, &tgid);

	if (found && found->cookie == s->sample.cookie && found->looked_at >= s->process.valid_from)
		return true;
	s->found.cookie = 0;
	find_mappings(SCRATCH_REF(s));
	/* The walk goes by what user space has told. */
	s->find.busy = s->find.is_empty = 0;
	return s->found.cookie && s->found.looked_at == s->sample.time;
}

/*
 * To be called when a walk has failed. True: the mappings may have changed and were read again, so walk again. False:
 * s->find.sure says whether they are known to be unchanged.
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
	if (!find_mappings(SCRATCH_REF(s)))
		return false;
	s->find.sure = !found->unknown;
	/* What user space said earlier is no longer valid. */
	if (!mine)
		bpf_map_delete_elem(&processes, &tgid);
	s->process = found->entry;
	s->cache.process = CACHED_FOUND;
	return true;
}

#endif /* STRATA_BOUNDED_LOOPS */

#endif

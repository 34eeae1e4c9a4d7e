/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fake_kernel: bpf/find.h compiled for the host, over what a kernel keeps of an address space: records and nodes that
 * lie in a fake_memory, and the maps that it uses. A writer may come at any read.
 */
#ifndef STRATA_TESTS_FAKE_KERNEL_H
#define STRATA_TESTS_FAKE_KERNEL_H

#include <stddef.h>

#include <linux/bpf.h>

#include "abi/config.h"
#include "bpf/scratch.h"
#include "bpf/tables.h"
#include "fake_memory.h"

#define FAKE_KERNEL      0xffff888000000000ull
#define FAKE_KERNEL_SIZE 0x100000ull
#define FAKE_FILES       4
#define FAKE_EVENTS      256

/* The kernel's records, with what find.h reads of them. */
struct maple_tree {
	void *ma_root;
};
struct inode {
	char times[32]; /* struct inode___find */
	long i_size;
};
struct file {
	struct inode *f_inode;
};
struct vm_special_mapping {
	const char *name;
};
struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_flags;
	void *vm_mm;
	char others[FIND_VMA_BYTES - 32];
	unsigned long vm_pgoff;
	struct file *vm_file;
	void *vm_ops, *vm_private_data;
};

struct fake_kernel {
	struct fake_memory memory;
	struct scratch *s;
	__u64 next;            /* the next free address */
	__u64 mm;              /* address */
	__u64 writer_at;       /* at this read a writer comes; 0: none does */
	bool writer_stays;     /* and keeps the lock */
	bool has_split_ctime;  /* 6.11 and later */
	__u64 position, voids; /* the found words */
	struct mapping_entry *entries;
	struct found_process found; /* the element of `founds`, */
	bool is_found;              /* if there is one */
	struct file_key keys[FAKE_FILES];
	struct known_file known[FAKE_FILES];
	__u32 file_count;
	struct file_event events[FAKE_EVENTS];
	__u32 event_count;
};

static struct fake_kernel *fake_kernel; /* helpers have no context */

/* What find.h uses of the kernel, of bpf/send.h and of bpf/process_maps.h. */
#define STRATA_BPF_SEND_H
#define STRATA_BPF_PROCESS_MAPS_H
#define SEC(name)
#define __uint(name, number) int(*name)[number]
#define __type(name, type)   typeof(type) *name
#define BPF_CORE_READ(record, field)                                                                                   \
	({                                                                                                             \
		typeof(0 ? (record)->field : (record)->field) value_ = 0;                                              \
		bpf_probe_read_kernel(&value_, sizeof(value_), &(record)->field);                                      \
		value_;                                                                                                \
	})
#define bpf_core_field_offset(type, field) ((__u32)offsetof(type, field))
#define bpf_core_field_exists(type, field) (fake_kernel->has_split_ctime)

enum { COUNTER_STACK_DROPPED };

static int mappings, events, processes; /* maps */
static const struct sampler_config loaded = {.finds = 1};

static long bpf_probe_read_kernel(void *to, __u32 size, const void *from);
static void *bpf_map_lookup_elem(const void *map, const void *key);
static long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags);
static long bpf_map_delete_elem(const void *map, const void *key);
static long bpf_ringbuf_output(const void *ring, const void *event, __u64 size, __u64 flags);

static inline long bpf_probe_read_kernel_str(void *to, __u32 size, const void *from)
{
	return bpf_probe_read_kernel(to, size, from);
}

static inline bool is_sent(__u64 id)
{
	__u32 i;

	for (i = 0; i < fake_kernel->event_count; i++)
		if (fake_kernel->events[i].id == id)
			return true;
	return false;
}

static inline void mark_sent(__u64 id)
{
	(void)id;
}

static inline void count(__u32 which, __u64 by)
{
	(void)which, (void)by;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wattributes"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "bpf/find.h"
#pragma GCC diagnostic pop

static inline void fake_lock(struct fake_kernel *kernel, bool is_writer)
{
	fake_put64(&kernel->memory, kernel->mm + offsetof(struct mm_struct___find, mmap_lock), is_writer);
}

/* Somebody has written: the count has changed. */
static inline void fake_wrote(struct fake_kernel *kernel)
{
	++*fake_bytes(&kernel->memory, kernel->mm + offsetof(struct mm_struct___find, mm_lock_seq), 4);
}

static long bpf_probe_read_kernel(void *to, __u32 size, const void *from)
{
	if (fake_kernel->writer_at && fake_kernel->memory.reads + 1 == fake_kernel->writer_at) {
		if (fake_kernel->writer_stays)
			fake_lock(fake_kernel, true);
		else
			fake_wrote(fake_kernel);
	}
	return fake_read(&fake_kernel->memory, to, size, (__u64)from);
}

static void *bpf_map_lookup_elem(const void *map, const void *key)
{
	__u32 index = *(const __u32 *)key, i;

	if (map == &found_words)
		return index == FOUND_POSITION ? &fake_kernel->position : &fake_kernel->voids;
	if (map == &mappings)
		return index - MAPPINGS_MAX < FOUND_MAPPINGS ? &fake_kernel->entries[index - MAPPINGS_MAX] : NULL;
	if (map == &founds)
		return fake_kernel->is_found ? &fake_kernel->found : NULL;
	for (i = 0; map == &files && i < fake_kernel->file_count; i++)
		if (!memcmp(&fake_kernel->keys[i], key, sizeof(fake_kernel->keys[i])))
			return &fake_kernel->known[i];
	return NULL;
}

static long bpf_map_update_elem(const void *map, const void *key, const void *value, __u64 flags)
{
	(void)key, (void)flags;
	if (map != &founds)
		abort();
	fake_kernel->found = *(const struct found_process *)value;
	fake_kernel->is_found = true;
	return 0;
}

static long bpf_map_delete_elem(const void *map, const void *key)
{
	(void)map, (void)key;
	return 0;
}

static long bpf_ringbuf_output(const void *ring, const void *event, __u64 size, __u64 flags)
{
	(void)flags;
	if (ring != &events || size != sizeof(struct file_event) || fake_kernel->event_count == FAKE_EVENTS)
		return -1;
	memcpy(&fake_kernel->events[fake_kernel->event_count++], event, size);
	return 0;
}

static inline __u64 fake_kernel_alloc(struct fake_kernel *kernel, __u64 size)
{
	__u64 at = (kernel->next + 255) & ~255ull; /* nodes are aligned so */

	kernel->next = at + size;
	return at;
}

static inline void fake_kernel_create(struct fake_kernel *kernel)
{
	*kernel = (struct fake_kernel){.has_split_ctime = true, .next = FAKE_KERNEL};
	fake_map(&kernel->memory, FAKE_KERNEL, FAKE_KERNEL_SIZE);
	kernel->s = calloc(1, sizeof(*kernel->s));
	kernel->entries = calloc(FOUND_MAPPINGS, sizeof(*kernel->entries));
	if (!kernel->s || !kernel->entries)
		abort();
	kernel->mm = fake_kernel_alloc(kernel, 64);
	kernel->s->task.mm = kernel->mm;
	fake_kernel = kernel;
}

static inline void fake_kernel_destroy(struct fake_kernel *kernel)
{
	fake_memory_deinit(&kernel->memory);
	free(kernel->s);
	free(kernel->entries);
}

/* A file whose status changed at a time. */
static inline __u64 fake_file(struct fake_kernel *kernel, __u64 size, __u64 seconds, __u64 ns)
{
	__u64 file = fake_kernel_alloc(kernel, sizeof(struct file)), inode = fake_kernel_alloc(kernel, 64);
	bool split = kernel->has_split_ctime;

	fake_put64(&kernel->memory, file, inode);
	fake_put64(&kernel->memory, inode + offsetof(struct inode, i_size), size);
	fake_put64(&kernel->memory,
		   inode + (split ? offsetof(struct inode___find, i_ctime_sec)
				  : offsetof(struct inode___find, __i_ctime.tv_sec)),
		   seconds);
	fake_put(&kernel->memory,
		 inode + (split ? offsetof(struct inode___find, i_ctime_nsec)
				: offsetof(struct inode___find, __i_ctime.tv_nsec)),
		 ns, 4);
	return file;
}

static inline __u64 fake_vma(struct fake_kernel *kernel, __u64 start, __u64 end, __u64 flags, __u64 file, __u64 page)
{
	__u64 at = fake_kernel_alloc(kernel, sizeof(struct vm_area_struct));
	struct vm_area_struct vma = {.vm_start = start,
				     .vm_end = end,
				     .vm_flags = flags,
				     .vm_mm = (void *)kernel->mm,
				     .vm_pgoff = page,
				     .vm_file = (void *)file};

	memcpy(fake_bytes(&kernel->memory, at, sizeof(vma)), &vma, sizeof(vma));
	return at;
}

/* An empty node of the tree; what others call it. */
static inline __u64 fake_node(struct fake_kernel *kernel, __u32 kind)
{
	return fake_kernel_alloc(kernel, 256) | kind << 3;
}

/* Slot `at` of a node: what lies in it, and the last address that it covers; 0: up to the node's end. */
static inline void fake_slot(struct fake_kernel *kernel, __u64 node, __u32 at, __u64 content, __u64 last)
{
	__u32 slots = NODE_KIND(node) == NODE_GAPS ? NODE_GAPS_SLOTS : NODE_RANGE_SLOTS;

	if (at + 1 < slots)
		fake_put64(&kernel->memory, NODE_AT(node) + 8 * (1 + at), last);
	fake_put64(&kernel->memory, NODE_AT(node) + 8 * (slots + at), content);
}

static inline void fake_root_node(struct fake_kernel *kernel, __u64 node)
{
	fake_put64(&kernel->memory, kernel->mm + offsetof(struct mm_struct___find, mm_mt), node);
}

#endif

// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/core_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/limits.h"
#include "arch/arch.h"
#include "base/limits.h"
#include "kernel/kernel_btf.h"

#define FIND_ANY 4096
#define FIND_VMA (FIND_VMA_BYTES - 8)
#define COMM_BYTES 16 /* TASK_COMM_LEN: include/linux/sched.h */

/*
 * What src/bpf and src/lang/rt read of the kernel's records. libbpf compares kinds of types, and gives loads of numbers
 * their sizes.
 */
static const struct member {
	const char *record, *name;
	/* PREVIOUS: the record before this one, embedded; EARLIER: the one before that. */
	enum { LONG, INT, POINTER, PREVIOUS, EARLIER, BYTE_OR_INT, TEXT } kind;
	bool may_lack;      /* src/bpf asks whether it is there */
	uint16_t find_most; /* bpf/find.h needs it, at no higher byte than that; 0: it does not */
} members[] = {
	{"return_instance", "stack", LONG, true},
	{"return_instance", "orig_ret_vaddr", LONG, true},
	{"return_instance", "next", POINTER, true},
	{"uprobe_task", "return_instances", POINTER, true},
	{"uprobe_task", "vaddr", LONG, true},
	{"uprobe_task", "xol_vaddr", LONG, true},
	{"xol_area", "vaddr", LONG, true},
	{"mm_context_t", "ctx_id", LONG, true}, /* x86's */
	{"uprobes_state", "xol_area", POINTER, true},
	{"mm_struct", "context", EARLIER, true},
	{"mm_struct", "uprobes_state", PREVIOUS, true},
	{"mm_struct", "mm_mt", LONG, true, FIND_ANY},
	{"mm_struct", "mm_lock_seq", INT, true, FIND_ANY},
	{"mm_struct", "mmap_lock", LONG, true, FIND_ANY},
	{"mm_struct", "start_stack", LONG},
	{"mm_struct", "flags", LONG},
	{"sched_entity", "sum_exec_runtime", LONG},
	{"thread_struct", NULL, LONG}, /* the machine's: arch/arch.h, kernel_thread_pointer */
	{"task_struct", "se", EARLIER},
	{"task_struct", "thread", PREVIOUS},
	{"task_struct", "group_leader", POINTER},
	{"task_struct", "mm", POINTER},
	{"task_struct", "stack", POINTER},
	{"task_struct", "real_parent", POINTER},
	{"task_struct", "vfork_done", POINTER},
	{"task_struct", "utask", POINTER, true},
	{"task_struct", "task_works", POINTER, true},
	{"task_struct", "start_time", LONG},
	{"task_struct", "tgid", INT},
	{"task_struct", "pid", INT},
	{"task_struct", "flags", INT},
	{"task_struct", "ptrace", INT},
	{"task_struct", "__state", INT, true},
	{"task_struct", "state", LONG, true},
	{"task_struct", "on_cpu", BYTE_OR_INT}, /* a byte in 7.2 */
	{"task_struct", "nvcsw", LONG},
	{"task_struct", "nivcsw", LONG},
	{"task_struct", "comm", TEXT},
	{"bpf_iter__task", "task", POINTER, true},
	{"bpf_iter__task", "meta", POINTER, true},
	{"bpf_iter_meta", "seq", POINTER, true},
	{"maple_tree", "ma_root", POINTER, true, 64},
	{"vm_special_mapping", "name", POINTER, true, FIND_ANY},
	{"timespec64", "tv_sec", LONG, true},
	{"timespec64", "tv_nsec", LONG, true},
	{"inode", "__i_ctime", PREVIOUS, true},
	{"inode", "i_ctime_sec", LONG, true},
	{"inode", "i_ctime_nsec", INT, true},
	{"inode", "i_size", LONG, true, FIND_ANY},
	{"file", "f_inode", POINTER, true, FIND_ANY},
	{"vm_area_struct", "vm_start", LONG, true, FIND_VMA},
	{"vm_area_struct", "vm_end", LONG, true, FIND_VMA},
	{"vm_area_struct", "vm_mm", POINTER, true, FIND_VMA},
	{"vm_area_struct", "vm_flags", LONG, true, FIND_VMA},
	{"vm_area_struct", "vm_ops", POINTER, true, FIND_ANY},
	{"vm_area_struct", "vm_pgoff", LONG, true, FIND_ANY},
	{"vm_area_struct", "vm_file", POINTER, true, FIND_ANY},
	{"vm_area_struct", "vm_private_data", POINTER, true, FIND_ANY},
};

static int build(const struct kernel_btf *k, struct btf *btf)
{
	int types[] = {[LONG] = btf__add_int(btf, "unsigned long", 8, 0),
		       [INT] = btf__add_int(btf, "unsigned int", 4, 0),
		       [POINTER] = btf__add_ptr(btf, 0),
		       [PREVIOUS] = 0,
		       [EARLIER] = 0,
		       [BYTE_OR_INT] = 0,
		       [TEXT] = 0};
	int byte = btf__add_int(btf, "unsigned char", 1, 0);
	const struct btf_type *from = NULL;
	const char *name = "";
	int record = 0;
	size_t i;

	types[TEXT] = btf__add_array(btf, types[INT], byte, COMM_BYTES);
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *member = &members[i];
		const char *wanted = member->name ?: arch_here()->kernel_thread_pointer;
		int64_t at;

		if (strcmp(name, member->record)) {
			name = member->record;
			types[EARLIER] = types[PREVIOUS];
			types[PREVIOUS] = record;
			from = kernel_btf_record(k, name);
			record = from ? btf__add_struct(btf, name, from->size) : -ENOENT;
		}
		if (member->kind == BYTE_OR_INT)
			types[BYTE_OR_INT] = kernel_btf_integer(k, from, wanted) == 1 ? byte : types[INT];
		at = record < 0 || !wanted || types[member->kind] < 0 ? -ENOENT : kernel_btf_member(k, from, wanted);
		if (at < 0 && member->may_lack)
			continue;
		if (at < 0 || btf__add_field(btf, wanted, types[member->kind], (uint32_t)at, 0))
			return -ENOENT;
	}
	return 0;
}

static int write_file(const struct btf *btf)
{
	uint32_t size;
	const void *bytes = btf__raw_data(btf, &size);

	return bytes ? limits_memory_file("types", bytes, size) : -ENOMEM;
}

int core_types_write(const struct kernel_btf *k)
{
	struct btf *btf = btf__new_empty();
	int err = btf ? build(k, btf) : -ENOMEM;

	if (!err)
		err = write_file(btf);
	btf__free(btf);
	return err;
}

/* Where bpf/find.h takes things to be: bytes. */
static const struct {
	const char *record, *name;
	int64_t at;
} taken_for_granted[] = {
	{"maple_range_64", "slot", 128},
	{"maple_arange_64", "slot", 80},
	{"rw_semaphore", "count", 0},
};

bool core_types_can_find(const struct kernel_btf *k)
{
	const struct btf_type *from = NULL;
	const char *name = "";
	size_t i;

	for (i = 0; i < sizeof(taken_for_granted) / sizeof(taken_for_granted[0]); i++)
		if (kernel_btf_member(k, kernel_btf_record(k, taken_for_granted[i].record),
				      taken_for_granted[i].name) != taken_for_granted[i].at * 8)
			return false;
	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *member = &members[i];
		int64_t at;

		if (!member->find_most)
			continue;
		if (strcmp(name, member->record)) {
			name = member->record;
			from = kernel_btf_record(k, name);
		}
		at = kernel_btf_member(k, from, member->name);
		if (at < 0 || at > member->find_most * 8)
			return false;
	}
	from = kernel_btf_record(k, "inode");
	return kernel_btf_member(k, from, "i_ctime_sec") >= 0 || kernel_btf_member(k, from, "__i_ctime") >= 0;
}

int core_types_open(bool *can_find)
{
	struct kernel_btf k;
	int err = kernel_btf_open(&k);

	if (!err) {
		err = core_types_write(&k);
		*can_find = core_types_can_find(&k);
		kernel_btf_close(&k);
	}
	return err;
}

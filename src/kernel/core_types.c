// SPDX-License-Identifier: GPL-2.0-or-later
#include "kernel/core_types.h"

#include <bpf/btf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "abi/limits.h"
#include "kernel/kernel_btf.h"

/* What src/bpf reads of the kernel's records. libbpf compares kinds of types, and gives loads of numbers their sizes.
 */
static const struct member {
	const char *record, *name;
	enum { LONG, INT, POINTER, PREVIOUS } kind; /* PREVIOUS: the record before this one, embedded */
	bool may_lack;                              /* src/bpf asks whether it is there */
} members[] = {
	{"return_instance", "stack", LONG, true},
	{"return_instance", "orig_ret_vaddr", LONG, true},
	{"return_instance", "next", POINTER, true},
	{"uprobe_task", "return_instances", POINTER, true},
	{"uprobe_task", "vaddr", LONG, true},
	{"uprobe_task", "xol_vaddr", LONG, true},
	{"xol_area", "vaddr", LONG, true},
	{"uprobes_state", "xol_area", POINTER, true},
	{"mm_struct", "uprobes_state", PREVIOUS, true},
	{"mm_struct", "mm_mt", LONG, true},
	{"mm_struct", "mm_lock_seq", INT, true},
	{"mm_struct", "mmap_lock", LONG, true},
	{"mm_struct", "start_stack", LONG},
	{"mm_struct", "flags", LONG},
	{"thread_struct", "fsbase", LONG},
	{"task_struct", "thread", PREVIOUS},
	{"task_struct", "group_leader", POINTER},
	{"task_struct", "mm", POINTER},
	{"task_struct", "stack", POINTER},
	{"task_struct", "vfork_done", POINTER},
	{"task_struct", "utask", POINTER, true},
	{"task_struct", "task_works", POINTER, true},
	{"task_struct", "start_time", LONG},
	{"task_struct", "tgid", INT},
	{"task_struct", "pid", INT},
	{"task_struct", "flags", INT},
	{"task_struct", "ptrace", INT},
	/* For bpf/find.h, if all of it is there: see core_types_can_find(). */
	{"maple_tree", "ma_root", POINTER, true},
	{"vm_special_mapping", "name", POINTER, true},
	{"timespec64", "tv_sec", LONG, true},
	{"timespec64", "tv_nsec", LONG, true},
	{"inode", "__i_ctime", PREVIOUS, true},
	{"inode", "i_ctime_sec", LONG, true},
	{"inode", "i_ctime_nsec", INT, true},
	{"inode", "i_size", LONG, true},
	{"file", "f_inode", POINTER, true},
	{"vm_area_struct", "vm_start", LONG, true},
	{"vm_area_struct", "vm_end", LONG, true},
	{"vm_area_struct", "vm_mm", POINTER, true},
	{"vm_area_struct", "vm_flags", LONG, true},
	{"vm_area_struct", "vm_ops", POINTER, true},
	{"vm_area_struct", "vm_pgoff", LONG, true},
	{"vm_area_struct", "vm_file", POINTER, true},
	{"vm_area_struct", "vm_private_data", POINTER, true},
};

static int build(const struct kernel_btf *k, struct btf *btf)
{
	int types[] = {[LONG] = btf__add_int(btf, "unsigned long", 8, 0),
		       [INT] = btf__add_int(btf, "unsigned int", 4, 0),
		       [POINTER] = btf__add_ptr(btf, 0),
		       [PREVIOUS] = 0};
	const struct btf_type *from = NULL;
	const char *name = "";
	int record = 0;
	size_t i;

	for (i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *member = &members[i];
		int64_t at;

		if (strcmp(name, member->record)) {
			name = member->record;
			types[PREVIOUS] = record;
			from = kernel_btf_record(k, name);
			record = from ? btf__add_struct(btf, name, from->size) : -ENOENT;
		}
		at = record < 0 || (member->kind == PREVIOUS && types[PREVIOUS] < 0)
			     ? -ENOENT
			     : kernel_btf_member(k, from, member->name);
		if (at < 0 && member->may_lack)
			continue;
		if (at < 0 || btf__add_field(btf, member->name, types[member->kind], (uint32_t)at, 0))
			return -ENOENT;
	}
	return 0;
}

static int write_file(const struct btf *btf)
{
	const void *bytes;
	uint32_t size;
	int fd;

	bytes = btf__raw_data(btf, &size);
	if (!bytes)
		return -ENOMEM;
	fd = memfd_create("types", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (write(fd, bytes, size) == (ssize_t)size)
		return fd;
	close(fd);
	return -EIO;
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

/* What bpf/find.h takes for granted. */
static const struct {
	const char *record, *name;
	int64_t least, most; /* byte */
} found_by[] = {
	{"maple_range_64", "slot", 128, 128},
	{"maple_arange_64", "slot", 80, 80},
	{"maple_tree", "ma_root", 0, 64},
	{"rw_semaphore", "count", 0, 0},
	{"mm_struct", "mm_mt", 0, 4096},
	{"mm_struct", "mm_lock_seq", 0, 4096},
	{"vm_area_struct", "vm_start", 0, FIND_VMA_BYTES - 8},
	{"vm_area_struct", "vm_end", 0, FIND_VMA_BYTES - 8},
	{"vm_area_struct", "vm_mm", 0, FIND_VMA_BYTES - 8},
	{"vm_area_struct", "vm_flags", 0, FIND_VMA_BYTES - 8},
	{"vm_area_struct", "vm_ops", 0, 4096},
	{"vm_area_struct", "vm_pgoff", 0, 4096},
	{"vm_area_struct", "vm_file", 0, 4096},
	{"vm_area_struct", "vm_private_data", 0, 4096},
	{"vm_special_mapping", "name", 0, 4096},
	{"file", "f_inode", 0, 4096},
	{"inode", "i_size", 0, 4096},
};

bool core_types_can_find(const struct kernel_btf *k)
{
	const struct btf_type *from = NULL;
	const char *name = "";
	size_t i;

	for (i = 0; i < sizeof(found_by) / sizeof(found_by[0]); i++) {
		int64_t at;

		if (strcmp(name, found_by[i].record)) {
			name = found_by[i].record;
			from = kernel_btf_record(k, name);
		}
		at = kernel_btf_member(k, from, found_by[i].name);
		if (at < found_by[i].least * 8 || at > found_by[i].most * 8)
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

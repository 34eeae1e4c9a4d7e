// SPDX-License-Identifier: GPL-2.0-or-later
/* The offsets of core_types, and the functions of kernel_btf, are those that libbpf finds in the kernel's whole BTF. */
#include <bpf/btf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "kernel/core_types.h"
#include "kernel/kernel_btf.h"
#include "tap.h"

/* The bit of a member, or of one in a struct without a name; -1: there is none. */
static int64_t find_member(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *member = btf_members(type);
	uint32_t i;

	for (i = 0; i < btf_vlen(type); i++, member++) {
		const struct btf_type *inner = btf__type_by_id(btf, member->type);
		int64_t at = member->name_off || !btf_is_composite(inner) ? -1 : find_member(btf, inner, name);

		if (at >= 0)
			return at + btf_member_bit_offset(type, i);
		if (!strcmp(btf__name_by_offset(btf, member->name_off), name))
			return btf_member_bit_offset(type, i);
	}
	return -1;
}

/* The bytes of a member that is an integer; 0: it is none. */
static int64_t find_integer(const struct btf *btf, const struct btf_type *type, const char *name)
{
	const struct btf_member *member = btf_members(type);
	uint32_t i;

	for (i = 0; i < btf_vlen(type); i++, member++) {
		const struct btf_type *inner = btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, member->type));

		if (!strcmp(btf__name_by_offset(btf, member->name_off), name))
			return btf_is_int(inner) ? btf__resolve_size(btf, member->type) : 0;
	}
	return 0;
}

static void compare(const struct btf *ours, const struct btf *kernel, const struct btf_type *type)
{
	const char *record = btf__name_by_offset(ours, type->name_off);
	int number = btf__find_by_name_kind(kernel, record, BTF_KIND_STRUCT);
	const struct btf_type *other;
	uint32_t i;

	if (number < 0)
		number = btf__resolve_type(kernel,
					   (uint32_t)btf__find_by_name_kind(kernel, record, BTF_KIND_TYPEDEF));
	other = btf__type_by_id(kernel, (uint32_t)number);
	if (!ok(other && other->size == type->size, "%s has its size", record))
		return;
	for (i = 0; i < btf_vlen(type); i++) {
		const char *name = btf__name_by_offset(ours, btf_members(type)[i].name_off);

		int64_t bytes = find_integer(kernel, other, name);

		ok(find_member(kernel, other, name) == btf_member_bit_offset(type, i),
		   "%s.%s is where it is in the kernel", record, name);
		if (bytes)
			is_int(btf__resolve_size(ours, btf_members(type)[i].type), bytes, "%s.%s has its size", record,
			       name);
	}
}

static void find_functions(const struct btf *kernel)
{
	static const char *const names[] = {"bpf_iter_task",
					    "task_struct", /* no function */
					    "schedule",
					    "bpf_task_work_schedule_resume",
					    "bpf_task_work_schedule_resume_impl",
					    "no_such_function_of_any_kernel",
					    ""};
	struct kernel_btf k;
	size_t i;

	if (!ok(!kernel_btf_open(&k), "the kernel's types are read"))
		return;
	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		int32_t number = *names[i] ? btf__find_by_name_kind(kernel, names[i], BTF_KIND_FUNC) : 0;

		is_int(kernel_btf_function(&k, names[i]), number > 0 ? number : 0, "function \"%s\"", names[i]);
	}
	kernel_btf_close(&k);
}

int main(void)
{
	struct btf *kernel = btf__load_vmlinux_btf(), *ours;
	bool can_find = false;
	int fd = core_types_open(&can_find);
	uint32_t i, records = 0;
	char path[64];

	if (!kernel || fd < 0) {
		ok(!kernel, "types are found where the kernel has BTF");
		return tap_done();
	}
	find_functions(kernel);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ours = btf__parse(path, NULL);
	if (ok(ours != NULL, "libbpf reads it")) {
		for (i = 1; i < btf__type_cnt(ours); i++) {
			const struct btf_type *type = btf__type_by_id(ours, i);

			if (btf_kind(type) != BTF_KIND_STRUCT)
				continue;
			records++;
			compare(ours, kernel, type);
		}
	}
	is_int(records, 17, "seventeen structs");
	close(fd);
	btf__free(ours);
	btf__free(kernel);
	return tap_done();
}

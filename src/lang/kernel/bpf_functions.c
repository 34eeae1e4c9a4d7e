// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A program's func_info (struct bpf_func_info of uapi/linux/bpf.h) has a record for each of its functions, in the order
 * of their instructions: the number of its type in the program's own BTF. jited_ksyms has their addresses in the same
 * order. The kernel has checked both when the program was loaded; the numbers are checked here all the same, as its
 * answers may be of two moments.
 */
#include "lang/kernel/bpf_functions.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"

#define FUNCTIONS_MAX 1024 /* of one program: the kernel has 256 (BPF_MAX_SUBPROGS) */
#define RECORD_MAX    256

struct bpf_functions {
	VEC(struct bpf_function) all;
	VEC(struct held {
		uint32_t program;
		int fd;
	})
	held;
};

/* What the kernel tells of one program. */
struct told {
	struct bpf_prog_info info;
	uint8_t *records;
	uint64_t *addresses;
	struct btf *btf;
};

static void forget(struct told *told)
{
	free(told->records);
	free(told->addresses);
	btf__free(told->btf);
}

/* 0; -ENODATA when it has no BTF; or another negative errno. */
static int ask(int fd, struct told *ret)
{
	struct bpf_prog_info first = {};
	uint32_t size = sizeof(first);
	int err = bpf_obj_get_info_by_fd(fd, &first, &size);

	*ret = (struct told){};
	if (err)
		return err;
	if (!first.btf_id || !first.nr_func_info || first.nr_func_info > FUNCTIONS_MAX ||
	    first.func_info_rec_size < sizeof(struct bpf_func_info) || first.func_info_rec_size > RECORD_MAX)
		return -ENODATA;
	ret->records = calloc(first.nr_func_info, first.func_info_rec_size);
	ret->addresses = calloc(first.nr_func_info, sizeof(*ret->addresses));
	if (!ret->records || !ret->addresses)
		return -ENOMEM;
	ret->info.nr_func_info = first.nr_func_info;
	ret->info.func_info_rec_size = first.func_info_rec_size;
	ret->info.func_info = (uint64_t)(uintptr_t)ret->records;
	ret->info.nr_jited_ksyms = first.nr_func_info;
	ret->info.jited_ksyms = (uint64_t)(uintptr_t)ret->addresses;
	size = sizeof(ret->info);
	err = bpf_obj_get_info_by_fd(fd, &ret->info, &size);
	if (err)
		return err;
	if (ret->info.nr_func_info > first.nr_func_info)
		ret->info.nr_func_info = first.nr_func_info;
	ret->btf = btf__load_from_kernel_by_id(first.btf_id);
	return ret->btf ? 0 : -ENODATA;
}

static int add(struct bpf_functions *functions, const struct told *told, uint32_t index)
{
	const struct bpf_func_info *record =
		(const void *)(told->records + (size_t)index * told->info.func_info_rec_size);
	const struct btf_type *type = btf__type_by_id(told->btf, record->type_id), *prototype;
	struct bpf_function function = {.program = told->info.id,
					.address = told->addresses[index],
					.is_tracing = told->info.type == BPF_PROG_TYPE_TRACING ||
						      told->info.type == BPF_PROG_TYPE_EXT};
	const char *name;

	prototype = type && btf_is_func(type) ? btf__type_by_id(told->btf, type->type) : NULL;
	name = prototype && btf_is_func_proto(prototype) ? btf__name_by_offset(told->btf, type->name_off) : NULL;
	if (!name || !*name)
		return 0;
	function.parameter_count = btf_vlen(prototype);
	function.has_result = prototype->type != 0;
	function.name = strdup(name);
	if (function.name && !vec_push(&functions->all, function))
		return 0;
	free((char *)function.name);
	return -ENOMEM;
}

/* One that is gone by now, or that the kernel tells nothing of, has no functions. */
static int add_program(struct bpf_functions *functions, uint32_t id)
{
	int fd = bpf_prog_get_fd_by_id(id), err;
	struct told told;
	uint32_t i;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	err = ask(fd, &told);
	for (i = 0; !err && i < told.info.nr_func_info; i++)
		err = add(functions, &told, i);
	forget(&told);
	close(fd);
	return err == -ENOMEM ? err : 0;
}

int bpf_functions_create(struct bpf_functions **ret, struct diag *diag)
{
	struct bpf_functions *functions = calloc(1, sizeof(*functions));
	uint32_t id = 0;
	int err = functions ? 0 : -ENOMEM;

	while (!err && !(err = bpf_prog_get_next_id(id, &id)))
		err = add_program(functions, id);
	if (err == -ENOENT) { /* behind the last */
		*ret = functions;
		return 0;
	}
	bpf_functions_destroy(functions);
	return diag_fail(diag, -err, "programs.read", "the kernel's BPF programs cannot be read: %s%s", strerror(-err),
			 err == -EPERM ? "; run as root" : "");
}

void bpf_functions_destroy(struct bpf_functions *functions)
{
	size_t i;

	if (!functions)
		return;
	for (i = 0; i < functions->all.count; i++)
		free((char *)functions->all.at[i].name);
	for (i = 0; i < functions->held.count; i++)
		close(functions->held.at[i].fd);
	vec_free(&functions->all);
	vec_free(&functions->held);
	free(functions);
}

const struct bpf_function *bpf_functions_at(const struct bpf_functions *functions, uint32_t index)
{
	return index < functions->all.count ? &functions->all.at[index] : NULL;
}

int bpf_functions_hold(struct bpf_functions *functions, uint32_t program)
{
	struct held held = {.program = program};
	size_t i;

	for (i = 0; i < functions->held.count; i++)
		if (functions->held.at[i].program == program)
			return functions->held.at[i].fd;
	held.fd = bpf_prog_get_fd_by_id(program);
	if (held.fd >= 0 && vec_push(&functions->held, held)) {
		close(held.fd);
		return -ENOMEM;
	}
	return held.fd;
}

// SPDX-License-Identifier: GPL-2.0-or-later
#include "lang/builtin/task_lookup.h"

#include <bpf/bpf.h>
#include <unistd.h>

#include "lang/kernel/kernel_types.h"
#include "lang/provider/provider.h"

enum { UNKNOWN, ALLOWED, REFUSED };

static struct task_lookup *find_functions(struct compiler *c)
{
	const struct type *task = types_find(&c->types, "struct task_struct");
	struct task_lookup *ret = arena_new(c->arena, struct task_lookup);
	struct type_field comm;

	if (!ret || !task || !types_complete(&c->types, task) || !types_field(&c->types, task, "comm", &comm))
		return ret;
	ret->find = kernel_types_function_number(&c->types, "bpf_task_from_pid");
	ret->release = kernel_types_function_number(&c->types, "bpf_task_release");
	ret->comm = comm.offset;
	if (!ret->release)
		ret->find = 0;
	return ret;
}

/* By loading a program that does nothing else. Of tracing programs, which need something to trace, it is known. */
static bool is_allowed(const struct task_lookup *tasks, unsigned int type)
{
	const struct bpf_insn program[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 1, .imm = 1},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (int32_t)tasks->find},
		{.code = BPF_JMP | BPF_JEQ | BPF_K, .dst_reg = 0, .off = 2},
		{.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = 1, .src_reg = 0},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = (int32_t)tasks->release},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = 0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = type == BPF_PROG_TYPE_TRACING ? -1
					       : bpf_prog_load((enum bpf_prog_type)type, NULL, "GPL", program,
							       sizeof(program) / sizeof(program[0]), NULL);

	if (fd >= 0)
		close(fd);
	return fd >= 0 || type == BPF_PROG_TYPE_TRACING;
}

const struct task_lookup *task_lookup(struct compiler *c)
{
	unsigned int type = c->unit->provider->program_type;

	if (!c->tasks)
		c->tasks = find_functions(c);
	if (!c->tasks || !c->tasks->find || type >= sizeof(c->tasks->answers))
		return NULL;
	if (c->tasks->answers[type] == UNKNOWN)
		c->tasks->answers[type] = is_allowed(c->tasks, type) ? ALLOWED : REFUSED;
	return c->tasks->answers[type] == ALLOWED ? c->tasks : NULL;
}

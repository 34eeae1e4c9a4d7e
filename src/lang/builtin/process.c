// SPDX-License-Identifier: GPL-2.0-or-later
/* Who runs: process, thread, user, CPU, and what the kernel says of the task. */
#include <unistd.h>

#include "lang/builtin/builtin.h"
#include "lang/builtin/task_lookup.h"

static void gen_pid(struct gen *g, const struct node *call)
{
	gen_pid_tgid(g, call->flags);
	code_alu_imm(g->code, BPF_RSH, R0, 32);
}

static void gen_tid(struct gen *g, const struct node *call)
{
	gen_pid_tgid(g, call->flags);
	code_extend(g->code, R0, 4, false);
}

static void gen_uid(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_current_uid_gid);
	code_extend(g->code, R0, 4, false);
}

static void gen_gid(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_current_uid_gid);
	code_alu_imm(g->code, BPF_RSH, R0, 32);
}

static void place_user(struct gen *g, const struct node *call, uint32_t offset)
{
	gen_uid(g, call);
	gen_frame_store(g, 8, offset, R0);
}

static void gen_cpu(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_smp_processor_id);
}

static void gen_numa(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_numa_node_id);
}

static void gen_cgroup(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_current_cgroup_id);
}

static void gen_random(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_prandom_u32);
}

static void gen_ncpus(struct gen *g, const struct node *call)
{
	(void)call;
	code_imm(g->code, R0, sysconf(_SC_NPROCESSORS_CONF));
}

static void place_comm_of(struct gen *g, const struct node *call, uint32_t offset)
{
	const struct task_lookup *tasks = task_lookup(g->c);
	label none = code_label(g->code), end = code_label(g->code);

	gen_scalar(g, call->kids[0]);
	code_mov(g->code, R1, R0);
	code_call_kernel(g->code, tasks->find);
	code_jump_if(g->code, BPF_JEQ, R0, 0, none);
	code_store(g->code, 8, R10, SLOT_WORD, R0);
	code_mov(g->code, R3, R0);
	code_alu_imm(g->code, BPF_ADD, R3, (int32_t)tasks->comm);
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, COMM_SIZE);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
	code_load(g->code, 8, R1, R10, SLOT_WORD);
	code_call_kernel(g->code, tasks->release);
	code_jump(g->code, end);
	code_bind(g->code, none);
	gen_text(g, "N/A", offset, COMM_SIZE);
	code_bind(g->code, end);
}

static void place_comm(struct gen *g, const struct node *call, uint32_t offset)
{
	if (call->kid_count && call->type->kind == TYPE_STRING) {
		place_comm_of(g, call, offset);
		return;
	}
	if (call->kid_count) {
		gen_scalar(g, call->kids[0]);
		gen_frame_store(g, 8, offset, R0);
		return;
	}
	gen_frame_address(g, R1, offset);
	code_imm(g->code, R2, call->type->size);
	code_call(g->code, BPF_FUNC_get_current_comm);
}

static void gen_cpid(struct gen *g, const struct node *call)
{
	g->at = call->span;
	if (!g->c->options->pid)
		gen_warning(g, "cpid is 0: there is no child process. Ask has_cpid first, or start one with -c");
	code_imm(g->code, R0, g->c->options->pid);
}

static void gen_task(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_current_task);
}

static void gen_saved(struct gen *g, const struct node *call)
{
	uint32_t mark = g->used, at = gen_temporary(g, 8);

	gen_frame_store_imm(g, 8, at, 0);
	code_call(g->code, BPF_FUNC_get_current_task_btf);
	code_mov(g->code, R1, R0);
	code_call(g->code, BPF_FUNC_task_pt_regs);
	code_mov(g->code, R3, R0);
	code_alu_imm(g->code, BPF_ADD, R3, (int32_t)call->value);
	gen_frame_address(g, R1, at);
	code_imm(g->code, R2, 8);
	code_call(g->code, BPF_FUNC_probe_read_kernel);
	gen_frame_load(g, 8, R0, at);
	g->used = mark;
}

const struct builtin_code codes_process[] = {
	{CORE_PID, .scalar = gen_pid},        {CORE_TID, .scalar = gen_tid},
	{CORE_UID, .scalar = gen_uid},        {CORE_GID, .scalar = gen_gid},
	{CORE_USERNAME, .place = place_user}, {CORE_COMM, .place = place_comm},
	{CORE_CPU, .scalar = gen_cpu},        {CORE_NCPUS, .scalar = gen_ncpus},
	{CORE_NUMAID, .scalar = gen_numa},    {CORE_CGROUP, .scalar = gen_cgroup},
	{CORE_RAND, .scalar = gen_random},    {CORE_CPID, .scalar = gen_cpid},
	{CORE_CURTASK, .scalar = gen_task},   {CORE_SAVED, .scalar = gen_saved},
	{},
};

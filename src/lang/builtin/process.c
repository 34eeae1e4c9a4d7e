// SPDX-License-Identifier: GPL-2.0-or-later
/* Who runs: process, thread, user, CPU, and what the kernel says of the task. */
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "lang/builtin/builtin.h"
#include "lang/builtin/task_lookup.h"

static const struct type *is_uint64(struct compiler *c, struct node *call)
{
	(void)c;
	(void)call;
	return &type_uint64;
}

static const struct type *is_uint32(struct compiler *c, struct node *call)
{
	(void)c;
	(void)call;
	return &type_uint32;
}

static const struct type *is_user(struct compiler *c, struct node *call)
{
	(void)c;
	(void)call;
	return &type_user;
}

/* pid(curr_ns), pid(init): the namespace that is meant, with flags 1 for the initial one. */
static const struct type *check_pid(struct compiler *c, struct node *call)
{
	call->flags = 0;
	if (!call->kid_count)
		return &type_uint32;
	if (call->kids[0]->kind == NODE_NAME && !strcmp(call->kids[0]->text, "init")) {
		call->flags = 1;
		return &type_uint32;
	}
	if (call->kids[0]->kind == NODE_NAME && !strcmp(call->kids[0]->text, "curr_ns"))
		return &type_uint32;
	report_error(c->report, "call.namespace", call->kids[0]->span,
		     "Invalid PID namespace mode (expects: curr_ns or init)");
	return &type_uint32;
}

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

/* A folder's inode number is its cgroup's id (kernfs_id() of include/linux/kernfs.h). */
static const struct type *check_cgroup_id(struct compiler *c, struct node *call)
{
	const char *path = check_literal_text(c, call->kids[0], "the folder of the cgroup");
	struct statfs system;
	struct stat folder = {};

	if (path && (statfs(path, &system) || system.f_type != CGROUP2_SUPER_MAGIC || stat(path, &folder))) {
		report_error(c->report, "call.cgroup", call->kids[0]->span, "%s is no cgroup", path);
		report_hint(c->report, "expected is a folder of cgroup v2, like /sys/fs/cgroup/system.slice");
	}
	call->kind = NODE_INT;
	call->value = folder.st_ino;
	call->kid_count = 0;
	return &type_uint64;
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

/*
 * That of another process is a string where programs of this type may call bpf_task_from_pid() (Linux 6.2). Elsewhere
 * it is found when it is printed. The kernel's function takes numbers of the initial pid namespace.
 */
static const struct type *check_comm(struct compiler *c, struct node *call)
{
	if (!call->kid_count)
		return type_string(c->arena, COMM_SIZE);
	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	return !c->options->namespace_inode && task_lookup(c) ? type_string(c->arena, COMM_SIZE) : &type_comm;
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

static const struct type *check_has_cpid(struct compiler *c, struct node *call)
{
	call->kind = NODE_BOOL;
	call->value = c->options->pid != 0;
	return &type_bool;
}

static const struct type *check_task(struct compiler *c, struct node *call)
{
	const struct type *task = types_find(&c->types, "struct task_struct");

	(void)call;
	return task ? type_pointer(c->arena, task) : &type_uint64;
}

static void gen_task(struct gen *g, const struct node *call)
{
	(void)call;
	code_call(g->code, BPF_FUNC_get_current_task);
}

/* A path through the task's structures, whose offsets are this kernel's: "real_parent.tgid". */
static const struct task_path {
	const char *name, *path;
} task_paths[] = {
	{"ppid", "real_parent.tgid"},
	{"pcomm", "real_parent.comm"},
	{"leader_tid", "group_leader.pid"},
	{"leader_comm", "group_leader.comm"},
};

/* Builds curtask.real_parent.tgid and has that checked and generated like any other expression. */
static const struct type *check_task_path(struct compiler *c, struct node *call)
{
	struct node *node;
	char *path, *field;
	size_t i;

	for (i = 0; strcmp(task_paths[i].name, call->text); i++)
		;
	if (call->kid_count) {
		node = call->kids[0];
	} else {
		node = node_create(c->arena, NODE_NAME, call->span, 0);
		node->text = "curtask";
	}
	path = arena_strdup(c->arena, task_paths[i].path, strlen(task_paths[i].path));
	while (path && (field = strsep(&path, "."))) {
		struct node *outer = node_create(c->arena, NODE_FIELD, call->span, 1);

		outer->kids[0] = node;
		outer->text = field;
		node = outer;
	}
	*call = *node;
	return check_value(c, call);
}

const struct builtin builtins_process[] = {
	{"pid", 0, 1, BUILTIN_BARE, check_pid, gen_pid, NULL, "pid"},
	{"tid", 0, 1, BUILTIN_BARE, check_pid, gen_tid, NULL, "tid"},
	{"uid", 0, 0, BUILTIN_BARE, is_uint32, gen_uid, NULL, "uid"},
	{"gid", 0, 0, BUILTIN_BARE, is_uint32, gen_gid, NULL, "gid"},
	{"username", 0, 0, BUILTIN_BARE, is_user, NULL, place_user, "username"},
	{"comm", 0, 1, BUILTIN_BARE, check_comm, NULL, place_comm, "comm [(PID)]"},
	{"cpu", 0, 0, BUILTIN_BARE, is_uint32, gen_cpu, NULL, "cpu"},
	{"ncpus", 0, 0, BUILTIN_BARE, is_uint64, gen_ncpus, NULL, "ncpus"},
	{"numaid", 0, 0, BUILTIN_BARE, is_uint32, gen_numa, NULL, "numaid"},
	{"cgroup", 0, 0, BUILTIN_BARE, is_uint64, gen_cgroup, NULL, "cgroup"},
	{"cgroupid", 1, 1, 0, check_cgroup_id, NULL, NULL, "cgroupid(PATH)"},
	{"rand", 0, 0, BUILTIN_BARE, is_uint32, gen_random, NULL, "rand"},
	{"cpid", 0, 0, BUILTIN_BARE, is_uint32, gen_cpid, NULL, "cpid"},
	{"has_cpid", 0, 0, BUILTIN_BARE, check_has_cpid, NULL, NULL, "has_cpid"},
	{"curtask", 0, 0, BUILTIN_BARE, check_task, gen_task, NULL, "curtask"},
	{"ppid", 0, 1, BUILTIN_BARE, check_task_path, NULL, NULL, "ppid [(task)]"},
	{"pcomm", 0, 1, BUILTIN_BARE, check_task_path, NULL, NULL, "pcomm [(task)]"},
	{"leader_tid", 0, 1, BUILTIN_BARE, check_task_path, NULL, NULL, "leader_tid [(task)]"},
	{"leader_comm", 0, 1, BUILTIN_BARE, check_task_path, NULL, NULL, "leader_comm [(task)]"},
	{},
};

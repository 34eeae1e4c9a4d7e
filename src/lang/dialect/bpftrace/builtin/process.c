// SPDX-License-Identifier: GPL-2.0-or-later
/* Who runs: process, thread, user, CPU, and what the kernel says of the task. */
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "lang/builtin/task_lookup.h"
#include "lang/dialect/bpftrace/builtin/builtin.h"

static const struct type *is_uint64(struct compiler *c, struct ast *call)
{
	(void)c;
	(void)call;
	return &type_uint64;
}

static const struct type *is_uint32(struct compiler *c, struct ast *call)
{
	(void)c;
	(void)call;
	return &type_uint32;
}

static const struct type *is_user(struct compiler *c, struct ast *call)
{
	(void)c;
	(void)call;
	return &type_user;
}

/* pid(curr_ns), pid(init): the namespace that is meant, with flags 1 for the initial one. */
static const struct type *check_pid(struct compiler *c, struct ast *call)
{
	call->flags = 0;
	if (!call->kid_count)
		return &type_uint32;
	if (call->kids[0]->kind == AST_NAME && !strcmp(call->kids[0]->text, "init")) {
		call->flags = 1;
		return &type_uint32;
	}
	if (call->kids[0]->kind == AST_NAME && !strcmp(call->kids[0]->text, "curr_ns"))
		return &type_uint32;
	report_error(c->report, "call.namespace", call->kids[0]->span,
		     "Invalid PID namespace mode (expects: curr_ns or init)");
	return &type_uint32;
}

/* A folder's inode number is its cgroup's id (kernfs_id() of include/linux/kernfs.h). */
static const struct type *check_cgroup_id(struct compiler *c, struct ast *call)
{
	const char *path = check_literal_text(c, call->kids[0], "the folder of the cgroup");
	struct statfs system;
	struct stat folder = {};

	if (path && (statfs(path, &system) || system.f_type != CGROUP2_SUPER_MAGIC || stat(path, &folder))) {
		report_error(c->report, "call.cgroup", call->kids[0]->span, "%s is no cgroup", path);
		report_hint(c->report, "expected is a folder of cgroup v2, like /sys/fs/cgroup/system.slice");
	}
	call->kind = AST_INT;
	call->value = folder.st_ino;
	call->kid_count = 0;
	return &type_uint64;
}

/*
 * That of another process is a string where programs of this type may call bpf_task_from_pid() (Linux 6.2). Elsewhere
 * it is found when it is printed. The kernel's function takes numbers of the initial pid namespace.
 */
static const struct type *check_comm(struct compiler *c, struct ast *call)
{
	if (!call->kid_count)
		return type_string(c->arena, COMM_SIZE);
	check_value(c, call->kids[0]);
	check_number(c, call->kids[0]);
	return !c->options->namespace_inode && task_lookup(c) ? type_string(c->arena, COMM_SIZE) : &type_comm;
}

static const struct type *check_has_cpid(struct compiler *c, struct ast *call)
{
	call->kind = AST_BOOL;
	call->value = c->options->pid != 0;
	return &type_bool;
}

static const struct type *check_task(struct compiler *c, struct ast *call)
{
	const struct type *task = types_find(&c->types, "struct task_struct");

	(void)call;
	return task ? type_pointer(c->arena, task) : &type_uint64;
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
static const struct type *check_task_path(struct compiler *c, struct ast *call)
{
	struct ast *node;
	char *path, *field;
	size_t i;

	for (i = 0; strcmp(task_paths[i].name, call->text); i++)
		;
	if (call->kid_count) {
		node = call->kids[0];
	} else {
		node = ast_create(c->arena, AST_NAME, call->span, 0);
		node->text = "curtask";
	}
	path = arena_strdup(c->arena, task_paths[i].path, strlen(task_paths[i].path));
	while (path && (field = strsep(&path, "."))) {
		struct ast *outer = ast_create(c->arena, AST_FIELD, call->span, 1);

		outer->kids[0] = node;
		outer->text = field;
		node = outer;
	}
	*call = *node;
	return check_value(c, call);
}

const struct builtin builtins_process[] = {
	{"pid", 0, 1, BUILTIN_BARE, check_pid, CORE_PID, OPERANDS_NONE, "pid"},
	{"tid", 0, 1, BUILTIN_BARE, check_pid, CORE_TID, OPERANDS_NONE, "tid"},
	{"uid", 0, 0, BUILTIN_BARE, is_uint32, CORE_UID, 0, "uid"},
	{"gid", 0, 0, BUILTIN_BARE, is_uint32, CORE_GID, 0, "gid"},
	{"username", 0, 0, BUILTIN_BARE, is_user, CORE_USERNAME, 0, "username"},
	{"comm", 0, 1, BUILTIN_BARE, check_comm, CORE_COMM, 0, "comm [(PID)]"},
	{"cpu", 0, 0, BUILTIN_BARE, is_uint32, CORE_CPU, 0, "cpu"},
	{"ncpus", 0, 0, BUILTIN_BARE, is_uint64, CORE_NCPUS, 0, "ncpus"},
	{"numaid", 0, 0, BUILTIN_BARE, is_uint32, CORE_NUMAID, 0, "numaid"},
	{"cgroup", 0, 0, BUILTIN_BARE, is_uint64, CORE_CGROUP, 0, "cgroup"},
	{"cgroupid", 1, 1, 0, check_cgroup_id, CORE_NONE, 0, "cgroupid(PATH)"},
	{"rand", 0, 0, BUILTIN_BARE, is_uint32, CORE_RAND, 0, "rand"},
	{"cpid", 0, 0, BUILTIN_BARE, is_uint32, CORE_CPID, 0, "cpid"},
	{"has_cpid", 0, 0, BUILTIN_BARE, check_has_cpid, CORE_NONE, 0, "has_cpid"},
	{"curtask", 0, 0, BUILTIN_BARE, check_task, CORE_CURTASK, 0, "curtask"},
	{"ppid", 0, 1, BUILTIN_BARE, check_task_path, CORE_NONE, 0, "ppid [(task)]"},
	{"pcomm", 0, 1, BUILTIN_BARE, check_task_path, CORE_NONE, 0, "pcomm [(task)]"},
	{"leader_tid", 0, 1, BUILTIN_BARE, check_task_path, CORE_NONE, 0, "leader_tid [(task)]"},
	{"leader_comm", 0, 1, BUILTIN_BARE, check_task_path, CORE_NONE, 0, "leader_comm [(task)]"},
	{},
};
